import type { ExecResult } from "#git";
import { refuse } from "../line/answers.ts";
import { checkOut } from "../checkouts.ts";
import { takeOptions } from "../line/flags.ts";
import { readParents } from "../merge-base.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { showDiff } from "../shown/show-diff.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git stash`, with what is staged. */

/** Returns the commit of the newest stash, or of the one that is named, that of its index, and the one before. */
async function readStash(
  repository: WorkTree,
  { args }: GitCommand,
): Promise<{ readonly hash: string; readonly head: string; readonly index: string } | null> {
  const name = args.find((arg) => /^(?:stash@\{\d+\}|\d+)$/.test(arg)) ?? "0";
  const hash = await findStash(repository, Number(/\d+/.exec(name)?.[0] ?? "0"));
  const [head, index] = hash === null ? [] : await readParents(repository, hash);
  return hash === null || head === undefined || index === undefined ? null : { hash, head, index };
}

/** Returns the commit of a stash, of which the newest has the number 0; null if there is none. */
export async function findStash({ fs, gitDir }: WorkTree, number: number): Promise<string | null> {
  const log = await fs.readFile(`${gitDir}/logs/refs/stash`).catch(() => "");
  const entry = log
    .trimEnd()
    .split("\n")
    .at(-1 - number);
  return entry?.split(" ")[1] ?? null;
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
  const { options, args } = takeOptions(given.args, ["--keep-index", "--no-keep-index"]);
  const path = args.find((arg, at) => at > 1 && !/^-./.test(arg) && args[at - 1] !== "-m");
  if (path !== undefined || args.includes("--"))
    return refuse(
      "git stash",
      "paths",
      "git diff HEAD -- <path> > ../part.patch and git checkout HEAD -- <path> put them aside, git apply ../part.patch brings them back",
    );
  const command = { ...given, args };
  return options.has("--keep-index") ? stashKeeping(repository, command) : checkOut(repository, command);
}
