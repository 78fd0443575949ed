import type { ExecResult } from "#git";
import { refuse } from "../line/answers.ts";
import { checkOut } from "../checkouts.ts";
import { partAtEnd, takeOptions } from "../line/flags.ts";
import { readParents } from "../merge-base.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { showDiff } from "../shown/show-diff.ts";
import type { WorkTree } from "../tracked-files.ts";
import { stashPaths } from "./stash-paths.ts";

/** `git stash`: of some files, and with what is staged. */

/** Returns the commit of the newest stash, or of the one that is named, and that of its index. */
async function readStash(
  repository: WorkTree,
  { args, context }: GitCommand,
): Promise<{ readonly hash: string; readonly head: string; readonly index: string } | null> {
  const name = args.find((arg) => /^(?:stash@\{\d+\}|\d+)$/.test(arg)) ?? "0";
  const number = /\d+/.exec(name)?.[0] ?? "0";
  const ref = number === "0" ? await repository.refStore.readRef("refs/stash") : null;
  const found = await run({ args: ["rev-parse", `stash@{${number}}`], context });
  const hash = ref?.type === "direct" ? ref.hash : found.stdout.trim();
  const [head, index] = hash === "" ? [] : await readParents(repository, hash);
  return head === undefined || index === undefined ? null : { hash, head, index };
}

/** Restores what was staged from the commit of an index. */
const restoreIndex = (command: GitCommand, index: string, where: readonly string[]): Promise<ExecResult> =>
  run({ ...command, args: ["restore", `--source=${index}`, ...where, "."] });

/** Stashes, and leaves what is staged where it is. */
async function stashKeeping(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const result = await checkOut(repository, command);
  const top = { ...command, args: ["stash"], context: { ...command.context, cwd: repository.workTree } };
  const stash = result.exitCode === 0 ? await readStash(repository, top) : null;
  if (stash !== null) await restoreIndex(top, stash.index, ["--staged", "--worktree"]);
  return result;
}

/** Applies a stash, and stages again what was staged. */
async function applyStaged(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const stash = await readStash(repository, command);
  const result = await checkOut(repository, command);
  const top = { ...command, context: { ...command.context, cwd: repository.workTree } };
  if (stash !== null && result.exitCode === 0) await restoreIndex(top, stash.index, ["--staged"]);
  return result;
}

/** Shows what a stash changes. */
async function showStash(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const stash = await readStash(repository, command);
  if (stash === null) return run(command);
  const forms = command.args.slice(2).filter((arg) => arg.startsWith("-"));
  const shown = forms.length === 0 ? ["--stat"] : forms.map((arg) => arg.replace(/^-p$/, "--patch"));
  return showDiff(repository, { ...command, args: ["diff", ...shown, stash.head, stash.hash] });
}

/** Returns the paths among the arguments of a stash, and the arguments without them. */
function splitPaths(args: readonly string[]): {
  readonly own: readonly string[];
  readonly paths: readonly string[];
} {
  const [before, after] = partAtEnd(args);
  const isPath = (arg: string, at: number): boolean =>
    at > 1 && !arg.startsWith("-") && before[at - 1] !== "-m" && before[1] === "push";
  return {
    own: before.filter((arg, at) => !isPath(arg, at)),
    paths: [...before.filter(isPath), ...after],
  };
}

/** Runs `git stash`. */
export async function runStash(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const sub = given.args[1] ?? "push";
  const isPush = sub === "push" || sub.startsWith("-");
  if (!isPush) {
    const { options, args } = takeOptions(given.args, ["--index"]);
    const command = { ...given, args };
    if (sub === "show") return showStash(repository, command);
    if (sub !== "pop" && sub !== "apply") return checkOut(repository, command);
    return options.size > 0 ? applyStaged(repository, command) : checkOut(repository, command);
  }
  const { own, paths } = splitPaths(given.args);
  const { options, args } = takeOptions(own, ["--keep-index", "--no-keep-index"]);
  const command = { ...given, args };
  if (paths.length === 0)
    return options.has("--keep-index") ? stashKeeping(repository, command) : checkOut(repository, command);
  if (options.has("--keep-index"))
    return refuse("git stash", "--keep-index with paths", "commit what is staged before git stash");
  if (args.includes("--include-untracked"))
    return refuse("git stash", "-u with paths", "git add the new files, then stash them by name");
  return stashPaths(repository, command, paths);
}
