import type { ExecResult } from "#git";
import { checkOut, isCheckout } from "./checkouts.ts";
import { limitedTo } from "./diff.ts";
import { commit } from "./changes/commits.ts";
import { runMerge, runPicks, runRebase } from "./changes/picks.ts";
import { runStash } from "./changes/stashes.ts";
import { moveFiles, removeFiles, showReflog } from "./changes/moves.ts";
import { runConfig } from "./changes/settings.ts";
import { search } from "./shown/search.ts";
import { listFiles } from "./shown/list-files.ts";
import { revParse } from "./shown/rev-parse.ts";
import { prepareSwitch } from "./changes/switches.ts";
import { compareFiles } from "./patches/no-index.ts";
import { applyPatches } from "./patches/apply.ts";
import type { GitSettings } from "./line/call.ts";
import type { GitCommand } from "./run-package.ts";
import { findWorkTree, run } from "./run-package.ts";
import { takeOptions } from "./line/flags.ts";
import { limitOf } from "./line/revisions.ts";
import {
  catFile,
  checkIgnore,
  diffFiles,
  diffTree,
  hashObject,
  lsTree,
  mergeBase,
  revList,
  updateIndex,
} from "./shown/plumbing.ts";
import { forEachRef, runBranch, runTag, showRefs, symbolicRef, updateRef } from "./shown/refs.ts";
import { showDiff } from "./shown/show-diff.ts";
import { showLog } from "./shown/show-log.ts";
import { showObjects } from "./shown/show-objects.ts";
import { showStatus } from "./shown/show-status.ts";
import { editIndex, readIndex, submoduleType, typeOfMode } from "./tracked-files.ts";
import type { WorkTree } from "./tracked-files.ts";

/** The commands of the embedded git, completed where the package leaves out what git does: modes, names and titles. */

/** Stages files; the package must be told first that a folder stands where the index has a file. */
async function stage(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { args, context } = command;
  const { files } = await readIndex(repository);
  const paths = args.slice(1).filter((arg) => !arg.startsWith("-"));
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

/** A setting of the repository that lets names of files be shown as they are. */
const plainNames = /^\s*quotepath\s*=\s*(?:false|off|no|0)\s*$/im;

/** Returns whether git shows names in ASCII only: its `core.quotePath`. */
async function isAsciiOnly({ fs, gitDir }: WorkTree, settings: GitSettings): Promise<boolean> {
  const setting = settings["core.quotepath"];
  if (setting !== undefined) return !/^(?:false|off|no|0)$/i.test(setting);
  const config = await fs.readFile(`${gitDir}/config`).catch(() => "");
  return !plainNames.test(config);
}

/** Options of `git add` that the package does not know, with what to do without them. */
const missingOfAdd: Readonly<Record<string, string>> = {
  "-N": "git diff --no-index /dev/null <file> shows a file that is not tracked",
  "--intent-to-add": "git diff --no-index /dev/null <file> shows a file that is not tracked",
  "-p": "edit a patch of git diff and give it to git apply --cached",
  "--patch": "edit a patch of git diff and give it to git apply --cached",
  "-i": "name the files to add",
  "-e": "edit a patch of git diff and give it to git apply --cached",
};

/** Stages files, and says which if it is told to. */
async function add(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args: all } = takeOptions(given.args, ["-v", "--verbose"]);
  const lack = all.find((arg) => missingOfAdd[arg] !== undefined);
  if (lack !== undefined)
    return {
      stdout: "",
      stderr: `error: git add has no ${lack} here; ${missingOfAdd[lack]}\n`,
      exitCode: 129,
    };
  // With paths, the package would add all files all the same; it takes deleted ones along without being told.
  const hasPaths = all.slice(1).some((arg) => !arg.startsWith("-"));
  const args = hasPaths ? all.filter((arg) => arg !== "-A" && arg !== "--all") : all;
  const end = args.indexOf("--");
  // The package does not look at what comes after `--`.
  const command = { ...given, args: end < 0 ? args : args.toSpliced(end, 1) };
  const told =
    options.size > 0 ? await run({ ...command, args: [...args.slice(0, 1), "-n", ...args.slice(1)] }) : null;
  const result = await stage(repository, command);
  return told === null || result.exitCode !== 0 ? result : { ...result, stdout: told.stdout };
}

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
  rebase: runRebase,
  "rev-parse": revParse,
  "ls-files": listFiles,
  reflog: showReflog,
  grep: search,
  mv: moveFiles,
  rm: removeFiles,
  branch: runBranch,
  tag: runTag,
  "show-ref": showRefs,
  "for-each-ref": forEachRef,
  "symbolic-ref": symbolicRef,
  "update-ref": updateRef,
  "cat-file": catFile,
  "ls-tree": lsTree,
  "hash-object": hashObject,
  "rev-list": revList,
  "check-ignore": checkIgnore,
  "diff-tree": diffTree,
  "diff-index": diffFiles,
  "diff-files": diffFiles,
  "merge-base": mergeBase,
  "update-index": updateIndex,
};

/** Commands whose arguments are written anew for the package, or refused. */
const preparations: Readonly<
  Record<string, (repository: WorkTree, command: GitCommand) => Promise<GitCommand | ExecResult>>
> = { checkout: prepareSwitch, switch: prepareSwitch };

const prepare = async (repository: WorkTree | null, command: GitCommand): Promise<GitCommand | ExecResult> =>
  repository === null
    ? command
    : ((await preparations[command.args[0] ?? ""]?.(repository, command)) ?? command);

/** Runs a command of git. */
export async function runGitCommand(given: Omit<GitCommand, "asciiOnly">): Promise<ExecResult> {
  const name = given.args[0] ?? "";
  const repository = await findWorkTree(given.context);
  const asciiOnly = repository === null || (await isAsciiOnly(repository, given.settings ?? {}));
  const prepared = await prepare(repository, { ...given, asciiOnly });
  if ("exitCode" in prepared) return prepared;
  const command = prepared;
  if (name === "diff" && command.args.includes("--no-index")) return compareFiles(command);
  if (name === "config") return runConfig(repository, command);
  if (name === "apply") return applyPatches(repository, command);
  const complete = completed[name];
  if (repository !== null && complete !== undefined) return complete(repository, command);
  return isCheckout(command.args) ? checkOut(repository, command) : run(command);
}
