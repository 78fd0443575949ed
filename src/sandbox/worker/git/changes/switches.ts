import type { ExecResult } from "#git";
import { fine } from "../line/answers.ts";
import { takeOptions } from "../line/flags.ts";
import { resolveObject } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { readIndex } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git checkout` and `git switch`: what the package does not know of their arguments. */

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
async function separate(repository: WorkTree, command: GitCommand): Promise<GitCommand> {
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

/** Returns whether a checkout will succeed: its commit or branch exists, and the branch to create does not. */
async function canSwitch(repository: WorkTree, { args, context }: GitCommand): Promise<boolean> {
  const { refStore } = repository;
  const [at] = plainPlaces(args);
  const name = at === undefined ? "HEAD" : (args[at] ?? "");
  const created = args[args.findIndex((arg) => arg === "-b" || arg === "-c") + 1] ?? "";
  if (created !== args[0] && (await refStore.readRef(`refs/heads/${created}`)) !== null) return false;
  if (name === "-" || (await resolveObject(repository, context, `${name}^{commit}`)) !== null) return true;
  return (await refStore.listRefs("refs/remotes")).some((ref) => ref.name.endsWith(`/${name}`));
}

/** Discards all changes before a forced checkout; returns the answer if there is no more to run. */
async function force(repository: WorkTree, command: GitCommand): Promise<ExecResult | null> {
  // A checkout that will fail must not discard changes.
  if (command.args.includes("--") || !(await canSwitch(repository, command))) return null;
  const reset = await run({ ...command, args: ["reset", "--hard"] });
  if (reset.exitCode !== 0) return reset;
  return command.args.length === 1 ? fine() : null;
}

/** Names the branch that a remote one is to become: the package tracks a remote branch of the same name by itself. */
function withOwnName({ args, ...command }: GitCommand): GitCommand {
  const [at] = plainPlaces(args);
  const isNew = at === undefined || args.some((arg) => valued.has(arg));
  const own = isNew ? args : args.with(at, (args[at] ?? "").replace(/^[^/]+\//, ""));
  return { ...command, args: own };
}

/** Rewrites a checkout for the package; returns an answer if there is no more to run. */
export async function prepareSwitch(
  repository: WorkTree,
  given: GitCommand,
): Promise<GitCommand | ExecResult> {
  const names = ["-f", "--discard-changes", "--track", "--track="];
  const { options, args } = takeOptions(given.args, names);
  const bare = { ...given, args };
  const command = args[0] === "checkout" ? await separate(repository, bare) : bare;
  const isForced = options.has("-f") || options.has("--discard-changes");
  const done = isForced ? await force(repository, command) : null;
  return done ?? (options.has("--track") ? withOwnName(command) : command);
}
