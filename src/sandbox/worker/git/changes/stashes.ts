import type { ExecResult } from "#git";
import { refuse } from "../line/answers.ts";
import { checkOut } from "../checkouts.ts";
import { readParents } from "../merge-base.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { showDiff } from "../shown/show-diff.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git stash`. */

/** Returns the commit of the newest stash, or of the one that is named, and the one before. */
async function readStash(
  repository: WorkTree,
  { args }: GitCommand,
): Promise<{ readonly hash: string; readonly head: string } | null> {
  const name = args.find((arg) => /^(?:stash@\{\d+\}|\d+)$/.test(arg)) ?? "0";
  const hash = await findStash(repository, Number(/\d+/.exec(name)?.[0] ?? "0"));
  const [head] = hash === null ? [] : await readParents(repository, hash);
  return hash === null || head === undefined ? null : { hash, head };
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

async function showStash(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const stash = await readStash(repository, command);
  if (stash === null) return run(command);
  const forms = command.args.slice(2).filter((arg) => arg.startsWith("-"));
  const shown = forms.length === 0 ? ["--stat"] : forms.map((arg) => arg.replace(/^-p$/, "--patch"));
  return showDiff(repository, { ...command, args: ["diff", ...shown, stash.head, stash.hash] });
}

/** Runs `git stash`. */
export async function runStash(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { args } = command;
  const sub = args[1] ?? "push";
  if (sub === "show") return showStash(repository, command);
  const isPush = sub === "push" || sub.startsWith("-");
  const isPath = (arg: string, at: number): boolean => at > 1 && !/^-./.test(arg) && args[at - 1] !== "-m";
  if (!isPush || !(args.some(isPath) || args.includes("--"))) return checkOut(repository, command);
  return refuse(
    "git stash",
    "paths",
    "git diff HEAD -- <path> > ../part.patch and git checkout HEAD -- <path> put them aside, git apply ../part.patch brings them back",
  );
}
