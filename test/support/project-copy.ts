import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { root } from "./dev-server.ts";

const leftOut = /^(node_modules|\.git|\.limpet|\.wrangler|\.dev\.vars.*|coverage|dist)$/;

export interface ProjectCopy {
  readonly folder: string;
  readonly remove: () => void;
}

/** A clean copy of the project in a folder of its own, as a fresh clone; with its packages only if asked for. */
export const copyProject = ({ packages }: { readonly packages: boolean }): ProjectCopy => {
  const folder = mkdtempSync(join(tmpdir(), "limpet-copy-"));
  cpSync(root, folder, { recursive: true, filter: (path) => path === root || !leftOut.test(basename(path)) });
  if (packages) symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
};
