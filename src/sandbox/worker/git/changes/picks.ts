import type { ExecResult } from "#git";
import { fail } from "../line/answers.ts";
import { checkOut } from "../checkouts.ts";
import { takeOptions } from "../line/flags.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { revList } from "../shown/plumbing.ts";
import type { WorkTree } from "../tracked-files.ts";

/** Commits that are picked, taken back or merged: several at a time, and with one side of conflicts. */

/** Returns the commits that arguments name, those of a range one by one in the order in which they are to be used. */
async function spread(
  repository: WorkTree,
  command: GitCommand,
  names: readonly string[],
): Promise<readonly string[] | ExecResult> {
  const isPick = command.args[0] === "cherry-pick";
  const commits: string[] = [];
  for (const name of names) {
    if (!name.includes("..")) commits.push(name);
    else {
      const listed = await revList(repository, {
        ...command,
        args: ["rev-list", ...(isPick ? ["--reverse"] : []), name],
      });
      if (listed.exitCode !== 0) return listed;
      commits.push(...listed.stdout.split("\n").filter((hash) => hash !== ""));
    }
  }
  return commits;
}

/** Picks or takes back commits, one after the other. */
export async function runPicks(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { args } = command;
  const isName = (arg: string, at: number): boolean =>
    at > 0 && !arg.startsWith("-") && args[at - 1] !== "-m";
  const names = args.filter(isName);
  const isSingle = names.length < 2 && !names.some((name) => name.includes(".."));
  // A revert may name a commit that a later one of its own would move.
  const commits = isSingle ? names : await spread(repository, command, names);
  if (!("length" in commits)) return commits;
  if (isSingle || commits.length === 0) return checkOut(repository, command);
  const options = args.filter((arg, at) => !isName(arg, at));
  const hashes: string[] = [];
  for (const commit of commits) {
    const found = await run({ ...command, args: ["rev-parse", commit] });
    if (found.exitCode !== 0) return fail(`fatal: bad revision '${commit}'\n`, 128);
    hashes.push(found.stdout.trim());
  }
  let stdout = "";
  for (const [at, hash] of hashes.entries()) {
    const result = await checkOut(repository, { ...command, args: [...options, hash] });
    stdout += result.stdout;
    if (result.exitCode === 0) continue;
    const rest = hashes.slice(at + 1).map((each) => each.slice(0, 7));
    const hint = rest.length === 0 ? "" : `hint: then go on with "git ${args[0]} ${rest.join(" ")}"\n`;
    return { ...result, stdout, stderr: result.stderr + hint };
  }
  return { stdout, stderr: "", exitCode: 0 };
}

/** Undoes the commit of a merge, and leaves the merge to be committed. */
async function uncommit(repository: WorkTree, command: GitCommand, result: ExecResult): Promise<ExecResult> {
  const parents = await run({ ...command, args: ["rev-parse", "HEAD^1", "HEAD^2"] });
  const [own = "", other = ""] = parents.stdout.trim().split("\n");
  if (parents.exitCode !== 0) return result;
  const { stdout: message } = await run({ ...command, args: ["log", "-n1", "--format=%B"] });
  await run({ ...command, args: ["reset", "--soft", own] });
  await repository.fs.writeFile(`${repository.gitDir}/MERGE_HEAD`, `${other}\n`);
  await repository.fs.writeFile(`${repository.gitDir}/MERGE_MSG`, message);
  const note = "Automatic merge went well; stopped before committing as requested\n";
  return { ...result, stdout: "", stderr: note };
}

/** Runs `git merge`. */
export async function runMerge(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(given.args, ["--no-commit"]);
  const before = await run({ ...given, args: ["rev-parse", "HEAD"] });
  const result = await checkOut(repository, { ...given, args });
  if (!options.has("--no-commit") || result.exitCode !== 0) return result;
  const parent = await run({ ...given, args: ["rev-parse", "HEAD^1"] });
  return parent.stdout === before.stdout ? uncommit(repository, given, result) : result;
}
