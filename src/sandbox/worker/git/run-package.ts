import type { ExecResult, GitOptions } from "#git";
import { createGit } from "#git";
import type { Command } from "just-bash/browser";
import type { WorkTree } from "./tracked-files.ts";

/** Runs the package whose commands the embedded git completes. */

/** Author of commits unless the environment or the repository names another. */
const identity = { name: "Limpet", email: "agent@localhost" };

/** Options of git: local repositories only, without hooks and without the network. */
const options: GitOptions = { network: false, identity };

export type Context = Parameters<Command["execute"]>[1];

export interface GitCommand {
  readonly args: readonly string[];
  readonly context: Context;
  /** Git's `core.quotePath`. */
  readonly asciiOnly: boolean;
}

/**
 * Returns the files as the package should see them: a link has its own text, and exists even if its target does
 * not.
 */
function filesFor(fs: Context["fs"], written: Set<string>): Context["fs"] {
  const own: Partial<Context["fs"]> = {
    exists: (path) =>
      fs.lstat(path).then(
        () => true,
        () => false,
      ),
    readFileBuffer: async (path) =>
      (await fs.lstat(path)).isSymbolicLink
        ? new TextEncoder().encode(await fs.readlink(path))
        : fs.readFileBuffer(path),
    stat: (path) => fs.stat(path).catch(() => fs.lstat(path)),
    writeFile: (...args) => {
      written.add(args[0]);
      return fs.writeFile(...args);
    },
  };
  return new Proxy(fs, {
    get: (target, key) => {
      const value: unknown = Reflect.get(own, key) ?? Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Runs a command of the package unchanged; adds the paths of files that it writes to `written`. */
export const run = (
  { args, context }: Pick<GitCommand, "args" | "context">,
  more: GitOptions = {},
  written = new Set<string>(),
): Promise<ExecResult> =>
  createGit({ ...options, ...more }).execute([...args], { ...context, fs: filesFor(context.fs, written) });

export async function findWorkTree({ fs, cwd }: Context): Promise<WorkTree | null> {
  const found = await createGit(options).findRepo({ fs, cwd });
  return found === null || found.workTree === null ? null : { ...found, fs, workTree: found.workTree };
}
