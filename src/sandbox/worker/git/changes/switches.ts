import { resolveObject } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { readIndex } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git checkout`: what the package does not know of its arguments. */

/** Options whose value is the next argument. */
const valued = new Set(["-b", "-B", "-c", "-C"]);

/** Returns the places of the arguments that are no options. */
function plainPlaces(args: readonly string[]): readonly number[] {
  return args.flatMap((arg, at) =>
    at === 0 || arg.startsWith("-") || valued.has(args[at - 1] ?? "") ? [] : [at],
  );
}

/** Returns whether a path is in the index, or is a folder of it. */
async function isTracked(repository: WorkTree, { context }: GitCommand, path: string): Promise<boolean> {
  const full = context.fs.resolvePath(context.cwd, path);
  if (full === repository.workTree) return true;
  const name = full.slice(repository.workTree.length + 1);
  const { files, unmerged } = await readIndex(repository);
  return [...files.keys(), ...unmerged].some((each) => each === name || each.startsWith(`${name}/`));
}

/** Puts `--` before the paths that a checkout names. */
export async function separateCheckout(repository: WorkTree, command: GitCommand): Promise<GitCommand> {
  const { args, context } = command;
  const [first, second] = plainPlaces(args);
  const name = first === undefined ? undefined : args[first];
  if (args.includes("--") || first === undefined || name === undefined) return command;
  const isName = /^\.{1,2}(?:\/|$)|\/$/.test(name) || name === "-";
  const isRevision = name === "-" || (!isName && (await resolveObject(repository, context, name)) !== null);
  const isPath = !isRevision && (await isTracked(repository, command, name));
  if (isPath) return { ...command, args: args.toSpliced(first, 0, "--") };
  if (second === undefined || args.some((arg) => valued.has(arg))) return command;
  return { ...command, args: args.toSpliced(second, 0, "--") };
}
