import type { ExecResult, ObjectStore } from "#git";
import { encode, fail, fine, refuse } from "../line/answers.ts";
import { completePatches } from "../diff.ts";
import { takeOptions } from "../line/flags.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";
import { formatDate } from "./commit-dates.ts";
import type { ShownCommit } from "./commit-object.ts";
import { readCommit } from "./commit-object.ts";
import { isLong, writeCommit } from "./commit-text.ts";
import { readLogCall } from "./log-call.ts";
import type { LogCall } from "./log-call.ts";
import { filterNames, followFile, testsOf } from "./log-picks.ts";

/** `git log` in all its forms: the package finds the commits, and what each of them changes. */

const linesOf = ({ stdout }: ExecResult): string[] => stdout.split("\n").filter((line) => line !== "");

/** Lists the commits that the revisions and paths of a log choose; or what is wrong with them. */
async function listCommits(
  command: GitCommand,
  { picks, chosen, paths }: LogCall,
  counts: readonly string[],
): Promise<readonly string[] | ExecResult> {
  const list = (revisions: readonly string[], limits: readonly string[]): Promise<ExecResult> => {
    const limited = limits.length === 0 ? [] : ["--", ...limits];
    return run({ ...command, args: ["log", "--format=%H", ...counts, ...revisions, ...limited] });
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
  if (call.picks.size === 0) return listCommits(command, call, call.counts);
  const grep = takeOptions(call.chosen, ["--grep="]);
  const picks = new Map([...call.picks, ...grep.options]);
  const hashes = await listCommits(command, { ...call, chosen: grep.args }, []);
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

/** Returns what a commit changes, in the forms that are asked for; a merge shows nothing. */
async function showBelow(
  repository: WorkTree,
  command: GitCommand,
  call: LogCall,
  { hash, parents }: ShownCommit,
): Promise<string> {
  if (call.below.length === 0 || parents.length > 1) return "";
  const filter = call.picks.get("--diff-filter");
  const limits = filter === undefined ? call.paths : await filterNames(command, hash, filter);
  const limited = limits.length === 0 || call.picks.has("--follow") ? [] : ["--", ...limits];
  const show = async (forms: readonly string[]): Promise<string> =>
    (
      await run({ ...command, args: ["log", "--max-count=1", "--format=", ...forms, hash, ...limited] })
    ).stdout.replace(/^\n+/, "");
  const counts = call.below.filter((form) => form !== "--patch");
  const counted = counts.length === 0 ? "" : await show(counts);
  if (counts.length === call.below.length) return counted;
  const request = {
    isStaged: false,
    commits: [parents[0] ?? null, hash],
    limits: limited.slice(1),
  };
  const patch = await completePatches(repository, (await show(["--patch"])).replace(/\n+$/, "\n"), request);
  return counted === "" || patch === "" ? counted + patch : `${counted}\n${patch}`;
}

/** Puts what a commit changes below its text, as its format does. */
function joinBelow({ style: { format }, isSeparated }: LogCall, text: string, below: string): string {
  if (format === "") return below;
  const head = isSeparated || isLong(format) ? text : `${text}\n`;
  return head + (below === "" || format === "oneline" ? "" : "\n") + below;
}

/** Shows commits one by one, and joins them as a log does. */
export async function showEach(
  repository: WorkTree,
  command: GitCommand,
  call: LogCall,
  hashes: readonly string[],
): Promise<string> {
  const { style, isSeparated } = call;
  const texts: string[] = [];
  for (const hash of hashes) {
    const commit = await readCommit(repository, hash);
    texts.push(
      joinBelow(call, writeCommit(commit, style), await showBelow(repository, command, call, commit)),
    );
  }
  return texts.join(isLong(style.format) || (isSeparated && style.format !== "") ? "\n" : "");
}

/** Shows a graph, which the package draws beside the message of each commit: what is to be shown takes its place. */
async function showGraph(repository: WorkTree, command: GitCommand, call: LogCall): Promise<ExecResult> {
  const { style, below, counts, chosen, paths } = call;
  const { objectStore } = repository;
  const read: ObjectStore["read"] = async (hash) => {
    const object = await objectStore.read(hash);
    if (object.type !== "commit") return object;
    const commit = await readCommit(repository, hash);
    return { ...object, content: encode(`${commit.header}\n\n${writeCommit(commit, style)}\n`) };
  };
  const store = new Proxy(objectStore, {
    get: (target, key) => (key === "read" ? read : Reflect.get(target, key)),
  });
  const limited = paths.length === 0 ? [] : ["--", ...paths];
  const args = ["log", "--graph", "--format=%B", ...below, ...counts, ...chosen, ...limited];
  const result = await run({ ...command, args }, { objectStore: store });
  return { ...result, stdout: result.stdout.replace(/\n[ ]*\n$/, "\n") };
}

/** Shows a log. */
export async function showLog(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const call = await readLogCall(repository, given);
  const { format, date } = call.style;
  const excluded = call.chosen.find((arg) => arg.startsWith("^") || arg === "--not");
  if (excluded !== undefined) return refuse("git log", excluded, "use <without>..<with>");
  if (/%(?:[<>f])/.test(format.replaceAll("%%", "")))
    return refuse("git log --format", "%<(n), %>(n) and %f", "use %x09 and column -t");
  if (formatDate("0 +0000", date) === undefined) return fail(`fatal: unknown date format ${date}\n`);
  const command = { ...given, context: { ...given.context, cwd: repository.workTree } };
  if (call.hasGraph && call.picks.size === 0) return showGraph(repository, command, call);
  const hashes = await pickCommits(repository, command, call);
  return "length" in hashes ? fine(await showEach(repository, command, call, hashes)) : hashes;
}
