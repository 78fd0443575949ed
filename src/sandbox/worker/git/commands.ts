import type { ExecResult } from "#git";
import { checkOut, isCheckout } from "./checkouts.ts";
import { limitedTo } from "./diff.ts";
import { commit } from "./changes/commits.ts";
import { runMerge, runPicks } from "./changes/picks.ts";
import { findStash, runStash } from "./changes/stashes.ts";
import { clean, moveFiles, showReflog } from "./changes/moves.ts";
import { runConfig } from "./changes/settings.ts";
import { blame } from "./shown/blame.ts";
import { search } from "./shown/search.ts";
import { listFiles } from "./shown/list-files.ts";
import { revParse } from "./shown/rev-parse.ts";
import { separateCheckout } from "./changes/switches.ts";
import { applyPatches } from "./patches/apply.ts";
import type { GitCommand } from "./run-package.ts";
import { findWorkTree, run } from "./run-package.ts";
import { plainIn } from "./line/flags.ts";
import { limitOf, literalPaths } from "./line/revisions.ts";
import { checkIgnore } from "./shown/check-ignore.ts";
import { diffFiles, lsTree, mergeBase, revList } from "./shown/plumbing.ts";
import { forEachRef, runBranch, runTag } from "./shown/refs.ts";
import { showDiff } from "./shown/show-diff.ts";
import { showLog } from "./shown/show-log.ts";
import { showObjects } from "./shown/show-objects.ts";
import { showStatus } from "./shown/show-status.ts";
import { editIndex, readIndex, submoduleType, typeOfMode } from "./tracked-files.ts";
import type { WorkTree } from "./tracked-files.ts";

/** The commands of the embedded git, completed where the package leaves out what git does: modes, names and titles. */

/** Stages files; first removes from the index the files that are folders now, which the package cannot do. */
async function stage(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { args, context } = command;
  const { files } = await readIndex(repository);
  const paths = plainIn(args);
  const isIn = limitedTo(paths.map((path) => limitOf(repository, context, path)));
  const replaced = new Map<string, null>();
  for (const [path, { mode }] of files) {
    if (typeOfMode(mode) === submoduleType || !isIn(path)) continue;
    const stat = await repository.fs.lstat(`${repository.workTree}/${path}`).catch(() => null);
    if (stat?.isDirectory === true) replaced.set(path, null);
  }
  if (replaced.size === 0) return run(command);
  const restore = await editIndex(repository, replaced);
  const result = await run(command);
  if (result.exitCode !== 0) await restore();
  return result;
}

/** Stages files. */
async function add(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  // With paths, the package would add all files all the same; it takes deleted ones along without being told.
  const args =
    plainIn(given.args).length > 0 ? given.args.filter((arg) => arg !== "-A" && arg !== "--all") : given.args;
  // The package does not look at what comes after `--`.
  return stage(repository, { ...given, args: args.filter((arg) => arg !== "--") });
}

/** Checks out a branch, a commit or files. */
const switchTo = async (repository: WorkTree, given: GitCommand): Promise<ExecResult> =>
  checkOut(repository, await separateCheckout(repository, given));

type Run = (repository: WorkTree, command: GitCommand) => Promise<ExecResult>;

/** The commands that are completed here, by their names. */
const completed: Readonly<Record<string, Run>> = {
  status: showStatus,
  diff: showDiff,
  log: showLog,
  show: showObjects,
  add,
  commit,
  stash: runStash,
  "cherry-pick": runPicks,
  revert: runPicks,
  merge: runMerge,
  "rev-parse": revParse,
  "ls-files": listFiles,
  reflog: showReflog,
  grep: search,
  blame,
  clean,
  mv: moveFiles,
  branch: runBranch,
  tag: runTag,
  "for-each-ref": forEachRef,
  "ls-tree": lsTree,
  "rev-list": revList,
  "check-ignore": checkIgnore,
  "diff-index": diffFiles,
  "diff-files": diffFiles,
  "merge-base": mergeBase,
  checkout: switchTo,
};

const stashName = /^(?:refs\/)?stash@\{(\d+)\}/;

/** Replaces the names of stashes by their hashes, since the package knows them only after `git stash`. */
async function nameStashes(repository: WorkTree, args: readonly string[]): Promise<readonly string[]> {
  if (args[0] === "stash" || !args.some((arg) => stashName.test(arg))) return args;
  return Promise.all(
    args.map(async (arg) => {
      const [name, number] = stashName.exec(arg) ?? [];
      const hash = number === undefined ? null : await findStash(repository, Number(number));
      return hash === null ? arg : hash + arg.slice(name?.length);
    }),
  );
}

/** Runs a command of git. */
export async function runGitCommand(given: GitCommand): Promise<ExecResult> {
  const name = given.args[0] ?? "";
  const repository = await findWorkTree(given.context);
  const hasPatterns = /^(?:add|rm|restore|reset)$/.test(name);
  const named = repository === null ? given.args : await nameStashes(repository, given.args);
  const args = hasPatterns ? await literalPaths(given.context, named) : named;
  const command = { ...given, args };
  if (name === "config") return runConfig(repository, command);
  if (name === "apply") return applyPatches(repository, command);
  const complete = completed[name];
  if (repository !== null && complete !== undefined) return complete(repository, command);
  return isCheckout(command.args) ? checkOut(repository, command) : run(command);
}
