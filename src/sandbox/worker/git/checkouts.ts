import type { ExecResult } from "#git";
import { findMergeBase, readParents } from "./merge-base.ts";
import type { Context, GitCommand } from "./run-package.ts";
import { findWorkTree, run } from "./run-package.ts";
import { editIndex, readHead, readIndex, readModes, readTree, regularMode } from "./tracked-files.ts";
import type { TrackedFiles, WorkTree } from "./tracked-files.ts";

/**
 * Runs commands that check out files of a repository into its work tree, with their modes, which the package
 * ignores.
 */

const checkouts = [
  "checkout",
  "switch",
  "merge",
  "pull",
  "rebase",
  "cherry-pick",
  "revert",
  "stash",
  "clone",
];

/** Returns whether a command checks out files of the repository into the work tree. */
export function isCheckout([name = "", ...args]: readonly string[]): boolean {
  if (name === "reset") return args.includes("--hard");
  if (name === "restore") return !args.includes("--staged") || args.includes("--worktree");
  return checkouts.includes(name);
}

/** Returns the work tree that a command has written to: that of its folder, or the one that it created. */
function findWritten({ args, context }: GitCommand, written: ReadonlySet<string>): Promise<WorkTree | null> {
  const index = args[0] === "clone" ? [...written].find((path) => path.endsWith("/.git/index")) : undefined;
  return findWorkTree({ ...context, cwd: index?.slice(0, -"/.git/index".length) ?? context.cwd });
}

/** Commit of HEAD, its files, and those of the index. */
interface Standing {
  readonly commit: string | null;
  readonly head: TrackedFiles;
  readonly index: TrackedFiles;
}

async function readStanding(repository: WorkTree): Promise<Standing> {
  const commit = await readHead(repository);
  const { files: index } = await readIndex(repository);
  return { commit, head: await readTree(repository, commit), index };
}

/** Sets the modes of the new commit in the index: the package ignores those of files with unchanged content. */
async function followHead(repository: WorkTree, before: Standing, isHard: boolean): Promise<void> {
  const { head, index } = await readStanding(repository);
  const modes = new Map<string, number>();
  for (const [path, { hash, mode }] of head) {
    const isStaged = before.index.get(path)?.mode !== before.head.get(path)?.mode;
    const known = index.get(path);
    if (known?.hash === hash && known.mode !== mode && (isHard || !isStaged)) modes.set(path, mode);
  }
  if (modes.size > 0) await editIndex(repository, modes);
}

/** Adds the modes that the other side of a merge has changed to its commit: the package merges only contents. */
async function mergeModes(repository: WorkTree, before: Standing, context: Context): Promise<void> {
  const { commit: merged, head } = await readStanding(repository);
  const [own, other] = merged === null ? [] : await readParents(repository, merged);
  if (other === undefined || own !== before.commit) return;
  const base = await readTree(repository, await findMergeBase(repository, own, other));
  const modes = new Map<string, number>();
  for (const [path, { mode }] of await readTree(repository, other)) {
    const [now, first] = [head.get(path)?.mode, base.get(path)?.mode];
    if (now !== undefined && first !== undefined && now === first && mode !== now) modes.set(path, mode);
  }
  if (modes.size === 0) return;
  await editIndex(repository, modes);
  await run({ args: ["commit", "--amend", "--no-edit"], context });
}

/** Sets the modes that the package has ignored in the index and in the commit of a merge. */
async function completeIndex(
  repository: WorkTree,
  before: Standing,
  { args, context }: GitCommand,
): Promise<void> {
  const [name] = args;
  await followHead(repository, before, name === "reset");
  if (name === "merge" || name === "pull") await mergeModes(repository, before, context);
}

/** Returns the permissions of a file after a switch to the other of git's two modes. */
const turn = (mode: number): number => (mode === regularMode ? 0o755 : 0o644);

/**
 * Runs a command that writes files, and sets their modes from the index, which the package ignores. Earlier changes
 * of modes stay, unless the command wrote the file; a stash keeps no modes, so these stay, too.
 */
export async function checkOut(repository: WorkTree | null, command: GitCommand): Promise<ExecResult> {
  const [name] = command.args;
  const isNew = repository === null || name === "clone";
  const before = isNew ? null : await readModes(repository);
  const standing = isNew || name === "stash" ? null : await readStanding(repository);
  const written = new Set<string>();
  const result = await run(command, {}, written);
  const now = await findWritten(command, written);
  if (now === null) return result;
  if (standing !== null) await completeIndex(now, standing, command);
  const isReset = (file: string): boolean => name === "reset" || (name !== "stash" && written.has(file));
  for (const [path, mode] of await readModes(now)) {
    const file = `${now.workTree}/${path}`;
    if (before?.has(path) !== true || isReset(file)) await now.fs.chmod(file, turn(mode));
  }
  return result;
}
