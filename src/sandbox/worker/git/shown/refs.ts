import type { ExecResult } from "#git";
import { decode, fail, fine, refuse } from "../line/answers.ts";
import { createGlobMatcher } from "../../../glob.ts";
import { plainIn, takeOptions } from "../line/flags.ts";
import { resolveObject } from "../line/revisions.ts";
import { listHistory } from "../merge-base.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";
import { formatRef, subjectOf, unknownField } from "./ref-formats.ts";
import type { ListedRef } from "./ref-formats.ts";

/** Lists of branches and tags: `git branch`, `git tag` and `git for-each-ref`. */

const shortName = (name: string): string => name.replace(/^refs\/(?:heads|tags|remotes)\//, "");

async function readRefs(repository: WorkTree, prefix: string): Promise<readonly ListedRef[]> {
  const refs = await repository.refStore.listRefs(prefix);
  return Promise.all(
    refs.map(async ({ name, hash }) => {
      const { type, content } = await repository.objectStore.read(hash);
      const text = decode(content);
      const commit = type === "tag" ? (/^object (\S+)/.exec(text)?.[1] ?? hash) : hash;
      return { name, hash, short: shortName(name), type, text, commit };
    }),
  );
}

/** Returns the full name of the current branch; null if HEAD is detached. */
async function currentBranch({ refStore }: WorkTree): Promise<string | null> {
  const head = await refStore.readRef("HEAD");
  return head?.type === "symbolic" ? head.target : null;
}

type Order = (one: ListedRef, other: ListedRef) => number;

const timeOf = ({ text }: ListedRef): number =>
  Number(/^(?:committer|tagger) .*> (\d+)/m.exec(text)?.[1] ?? 0);

const byName: Order = (one, other) => (one.name < other.name ? -1 : 1);
const byTime: Order = (one, other) => timeOf(one) - timeOf(other);
const byVersion: Order = (one, other) =>
  one.short.localeCompare(other.short, "en", { numeric: true, sensitivity: "variant" });

function orderOf(sort: string): Order {
  const order = sort.endsWith("date") ? byTime : /^-?(?:v|version):/.test(sort) ? byVersion : byName;
  return sort.startsWith("-") ? (one, other) => order(other, one) || byName(one, other) : order;
}

/** Returns the refs that the options let through: those that contain a commit, are contained in one, or are one. */
async function keep(
  repository: WorkTree,
  { context }: GitCommand,
  refs: readonly ListedRef[],
  options: ReadonlyMap<string, string>,
): Promise<readonly ListedRef[] | ExecResult> {
  let kept = refs;
  const tests: readonly (readonly [string, boolean, (from: string, to: string) => Promise<boolean>])[] = [
    ["--contains", true, async (ref, commit) => (await listHistory(repository, ref)).has(commit)],
    ["--no-contains", false, async (ref, commit) => (await listHistory(repository, ref)).has(commit)],
    ["--merged", true, async (ref, commit) => (await listHistory(repository, commit)).has(ref)],
    ["--no-merged", false, async (ref, commit) => (await listHistory(repository, commit)).has(ref)],
    ["--points-at", true, async (ref, commit) => ref === commit],
  ];
  for (const [option, wanted, test] of tests) {
    const name = options.get(option);
    if (name === undefined) continue;
    const commit = await resolveObject(repository, context, `${name || "HEAD"}^{commit}`);
    if (commit === null) return fail(`error: malformed object name ${name}\n`, 129);
    const passed: ListedRef[] = [];
    for (const ref of kept) if ((await test(ref.commit, commit)) === wanted) passed.push(ref);
    kept = passed;
  }
  return kept;
}

const matching = (patterns: readonly string[], refs: readonly ListedRef[]): readonly ListedRef[] => {
  const tests = patterns.map((pattern) => createGlobMatcher(pattern, { segments: false }));
  return tests.length === 0 ? refs : refs.filter(({ short }) => tests.some((test) => test(short)));
};

const choices = ["--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
const listOptions = [...choices, ...choices.map((option) => `${option}=`), "--format=", "--sort="];

/** Joins an option and the name after it, where it may have one. */
const joinNames = (args: readonly string[]): readonly string[] =>
  args.flatMap((arg, at) => {
    if (choices.includes(args[at - 1] ?? "") && !arg.startsWith("-")) return [];
    const next = args[at + 1];
    return choices.includes(arg) && next !== undefined && !next.startsWith("-") ? [`${arg}=${next}`] : [arg];
  });

async function list(
  repository: WorkTree,
  command: GitCommand,
  options: ReadonlyMap<string, string>,
  found: readonly ListedRef[],
  line: (ref: ListedRef, head: string | null) => string,
): Promise<ExecResult> {
  const kept = await keep(repository, command, found, options);
  if (!("length" in kept)) return kept;
  const head = await currentBranch(repository);
  const form = options.get("--format");
  const unknown = unknownField(form ?? "");
  if (unknown !== undefined)
    return refuse("--format", `%(${unknown})`, "git branch -vv and git log --format show more");
  const sorted = [...kept].sort(orderOf(options.get("--sort") ?? "refname"));
  return fine(
    sorted.map((ref) => `${form === undefined ? line(ref, head) : formatRef(ref, form, head)}\n`).join(""),
  );
}

/** Lists branches, or does with them what the package does. */
export async function runBranch(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(joinNames(given.args), [...listOptions, "-l", "-f"]);
  const names = plainIn(args);
  if (options.has("-f") && names.length > 0) return forceBranch(repository, { ...given, args });
  const deletion = args.find((arg) => /^(?:-[dD]|--delete)$/.test(arg));
  if (deletion !== undefined && names.length > 1) return deleteBranches(given, args, names);
  const isPlain = options.size === 0 || args.includes("-v") || args.includes("--show-current");
  if (isPlain) return run({ ...given, args });
  const prefixes = args.includes("-a")
    ? ["refs/heads", "refs/remotes"]
    : [args.includes("-r") ? "refs/remotes" : "refs/heads"];
  const refs = (await Promise.all(prefixes.map((prefix) => readRefs(repository, prefix)))).flat();
  const line = ({ name, short }: ListedRef, head: string | null): string =>
    `${name === head ? "* " : "  "}${args.includes("-a") && name.startsWith("refs/remotes/") ? name.slice("refs/".length) : short}`;
  return list(repository, given, options, matching(names, refs), line);
}

/** Deletes branches one by one, which is how the package can. */
async function deleteBranches(
  command: GitCommand,
  args: readonly string[],
  names: readonly string[],
): Promise<ExecResult> {
  const options = args.filter((arg) => !names.includes(arg));
  const results: ExecResult[] = [];
  for (const name of names) results.push(await run({ ...command, args: [...options, name] }));
  return {
    stdout: results.map(({ stdout }) => stdout).join(""),
    stderr: results.map(({ stderr }) => stderr).join(""),
    exitCode: Math.max(...results.map(({ exitCode }) => exitCode)),
  };
}

async function forceBranch(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const [name = "", start = "HEAD"] = plainIn(command.args);
  const commit = await resolveObject(repository, command.context, `${start}^{commit}`);
  if (commit === null) return fail(`fatal: not a valid object name: '${start}'\n`, 128);
  if ((await currentBranch(repository)) === `refs/heads/${name}`)
    return fail(`fatal: cannot force update the branch '${name}' checked out here\n`, 128);
  const exists = (await repository.refStore.readRef(`refs/heads/${name}`)) !== null;
  if (!exists) return run({ ...command, args: ["branch", name, commit] });
  await repository.refStore.writeRef(`refs/heads/${name}`, commit);
  return fine();
}

/** Lists tags, or does with them what the package does. */
export async function runTag(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(joinNames(given.args), [...listOptions, "-n*", "-l", "--list"]);
  const names = plainIn(args);
  const isList = options.size > 0 || args.length === 1;
  if (!isList) return run({ ...given, args });
  const isNoted = options.has("-n");
  const line = (ref: ListedRef): string =>
    isNoted ? `${ref.short.padEnd(15)} ${subjectOf(ref)}` : ref.short;
  return list(repository, given, options, matching(names, await readRefs(repository, "refs/tags")), line);
}

/** Lists refs in a format. */
export async function forEachRef(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(joinNames(given.args), [...listOptions, "--count="]);
  const prefixes = plainIn(args);
  const refs = await readRefs(repository, "refs");
  const kept = refs.filter(
    ({ name }) =>
      prefixes.length === 0 ||
      prefixes.some((prefix) => `${name}/`.startsWith(`${prefix.replace(/\/$/, "")}/`)),
  );
  const line = ({ hash, type, name }: ListedRef): string => `${hash} ${type}\t${name}`;
  const result = await list(repository, given, options, kept, line);
  const count = Number(options.get("--count") ?? Infinity);
  const lines = result.stdout.split(/(?<=\n)/).slice(0, count);
  return { ...result, stdout: lines.join("") };
}
