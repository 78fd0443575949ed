import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleShared, sharedBundles } from "./built-team.ts";

/** Bundles once for all files that start servers what does not depend on their teams. */
export const setup = async (): Promise<() => void> => {
  const folder = mkdtempSync(join(tmpdir(), "limpet-bundles-"));
  await bundleShared(folder);
  process.env[sharedBundles] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
};
