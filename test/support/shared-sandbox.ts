import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleSandbox, sharedSandbox } from "./built-team.ts";

/** Bundles the sandbox once for all files that start servers. */
export const setup = async (): Promise<() => void> => {
  const folder = mkdtempSync(join(tmpdir(), "limpet-sandbox-"));
  await bundleSandbox(folder);
  process.env[sharedSandbox] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
};
