import type { ExecResult } from "#git";
import { fine, refuse } from "../line/answers.ts";
import { completeHistory, hasPatches } from "../history.ts";
import { takeOptions } from "../line/flags.ts";
import { limitsIn } from "../line/revisions.ts";
import { shapeMessages } from "../messages.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";
import { readLogCall } from "./log-call.ts";
import type { LogCall } from "./log-call.ts";
import { hasColumns } from "./log-fields.ts";
import { filterNames, followFile, testsOf } from "./log-picks.ts";

/** `git log` in all its forms. */

/** Shows a log or commits in a form of the package, completed. */
async function showWhole(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { args, context, asciiOnly } = command;
  const { store, complete } = shapeMessages(repository.objectStore, args);
  const result = await run(command, { objectStore: store });
  const stdout = complete(result.stdout);
  if (result.exitCode !== 0 || !hasPatches(args)) return { ...result, stdout };
  const request = { limits: limitsIn(repository, args, context), asciiOnly };
  return { ...result, stdout: await completeHistory(repository, stdout, request) };
}

const linesOf = ({ stdout }: ExecResult): string[] => stdout.split("\n").filter((line) => line !== "");

/** Lists the commits that the revisions and paths of a log choose; or what is wrong with them. */
async function listCommits(
  command: GitCommand,
  { picks, chosen, paths }: LogCall,
): Promise<readonly string[] | ExecResult> {
  const list = (revisions: readonly string[], limits: readonly string[]): Promise<ExecResult> => {
    const limited = limits.length === 0 ? [] : ["--", ...limits];
    return run({ ...command, args: ["log", "--format=%H", ...revisions, ...limited] });
  };
  const [path] = paths;
  if (!picks.has("--follow") || path === undefined) {
    const result = await list(chosen, paths);
    return result.exitCode === 0 ? linesOf(result) : result;
  }
  return followFile(
    command,
    async (start, name) => linesOf(await list(start === null ? chosen : [start], [name])),
    path,
  );
}

/** Picks those of the commits of a log that pass its tests, as many as it shows. */
async function pickCommits(
  repository: WorkTree,
  command: GitCommand,
  call: LogCall,
): Promise<readonly string[] | ExecResult> {
  const grep = takeOptions(call.chosen, ["--grep="]);
  const picks = new Map([...call.picks, ...grep.options]);
  const hashes = await listCommits(command, { ...call, chosen: grep.args });
  if (!("length" in hashes)) return hashes;
  const counts = takeOptions(call.counts, ["--reverse", "--skip=", "--max-count="]).options;
  const skipped = Number(counts.get("--skip") ?? 0);
  const most = skipped + Number(counts.get("--max-count") ?? Infinity);
  const tests = testsOf(repository, command, picks);
  const found: string[] = [];
  for (const hash of hashes) {
    if (found.length >= most) break;
    let passes = true;
    for (const test of tests) passes = passes && (await test(hash));
    if (passes) found.push(hash);
  }
  const kept = found.slice(skipped);
  return counts.has("--reverse") ? kept.reverse() : kept;
}

const isBelow = (arg: string): boolean => /^--(?:patch|(?:short|num)?stat|name-)/.test(arg);

/** Shows commits one by one, and joins them as a log does. */
export async function showEach(
  repository: WorkTree,
  command: GitCommand,
  call: LogCall,
  hashes: readonly string[],
): Promise<ExecResult> {
  const { form, shown, picks, paths } = call;
  const filter = picks.get("--diff-filter");
  const isBare = /^--format=(?:format:)?$/.test(form.format);
  const texts: string[] = [];
  for (const hash of hashes) {
    const limits = filter === undefined ? paths : await filterNames(command, hash, filter);
    const limited = limits.length === 0 || picks.has("--follow") ? [] : ["--", ...limits];
    const options = [form.format, ...shown].filter((arg) => arg !== "" && arg !== "--graph");
    const args = ["log", "--max-count=1", ...options, hash, ...limited];
    const { stdout } = await showWhole(repository, { ...command, args });
    texts.push(isBare ? stdout.replace(/^\n+/, "") : stdout);
  }
  const hasLines = form.isSeparated && shown.some(isBelow);
  const text = texts.join(form.isSpaced || hasLines ? "\n" : "");
  return fine(form.complete(text));
}

const shorten = (output: string): string => output.replace(/^(commit [0-9a-f]{7})[0-9a-f]{33}/gm, "$1");

/** Shows the commits of a log. */
async function showChosen(repository: WorkTree, command: GitCommand, call: LogCall): Promise<ExecResult> {
  const { form, shown, picks, counts, chosen, paths } = call;
  const isBare = /^--format=(?:format:)?$/.test(form.format) && shown.some(isBelow);
  if (picks.size > 0 || isBare) {
    const picked = await pickCommits(repository, command, call);
    return "length" in picked ? showEach(repository, command, call, picked) : picked;
  }
  const limited = paths.length === 0 ? [] : ["--", ...paths];
  const options = [form.format, ...shown, ...counts].filter((arg) => arg !== "");
  const result = await showWhole(repository, {
    ...command,
    args: ["log", ...options, ...chosen, ...limited],
  });
  return { ...result, stdout: form.complete(result.stdout) };
}

/** Shows a log. */
export async function showLog(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const call = await readLogCall(repository, given);
  if (hasColumns(call.form.format))
    return refuse("git log --format", "%<(n), %>(n) and %f", "use %x09 and column -t");
  const context = { ...given.context, cwd: repository.workTree };
  const { stdout, ...result } = await showChosen(repository, { ...given, context }, call);
  const isOpen = call.form.isSeparated && !call.shown.some(isBelow);
  const ended = isOpen ? stdout.replace(/\n$/, "") : stdout;
  return { ...result, stdout: call.isShort ? shorten(ended) : ended };
}
