import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { root } from "./dev-server.ts";

const leftOut = /^(node_modules|\.git|\.limpet|\.wrangler|\.dev\.vars.*|coverage|dist)$/;

export interface ProjectCopy {
  readonly folder: string;
  readonly remove: () => void;
}

interface CopyOptions {
  /** Whether its packages are installed. */
  readonly packages: boolean;
  /** Whether what all teams share is built, which takes a fresh clone seconds at its first start. */
  readonly console?: boolean;
}

/** A clean copy of the project in a folder of its own, as a fresh clone. */
export const copyProject = ({ packages, console = false }: CopyOptions): ProjectCopy => {
  const folder = mkdtempSync(join(tmpdir(), "limpet-copy-"));
  cpSync(root, folder, { recursive: true, filter: (path) => path === root || !leftOut.test(basename(path)) });
  if (packages) symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  if (console)
    for (const name of ["public", "console.sha256", "documents.sha256", "shell.js", "git.js"])
      cpSync(join(root, ".limpet", name), join(folder, ".limpet", name), { recursive: true });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
};
