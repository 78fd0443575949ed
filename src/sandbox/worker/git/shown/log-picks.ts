import { decode } from "../line/answers.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { readParents } from "../merge-base.ts";
import type { WorkTree } from "../tracked-files.ts";

/** Which commits of a history a log shows, where the package cannot tell. */

/** Returns whether a commit is one of those to show. */
type Test = (hash: string) => Promise<boolean>;

const show = async (command: GitCommand, form: string, hash: string): Promise<string> =>
  (await run({ ...command, args: ["show", "--format=", form, hash] })).stdout;

const linesOf = (patch: string, mark: string): string[] =>
  patch.split("\n").filter((line) => line.startsWith(mark) && !line.startsWith(mark.repeat(3)));

const timesIn = (lines: readonly string[], text: string): number => lines.join("\n").split(text).length - 1;

async function readMessage({ objectStore }: WorkTree, hash: string): Promise<string> {
  const text = decode((await objectStore.read(hash)).content);
  return text.slice(text.indexOf("\n\n") + 2);
}

const expressionOf = (pattern: string, flags: string): RegExp => {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return new RegExp(pattern.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`), flags);
  }
};

/** Returns the tests that options ask for; none if the package knows them all. */
export function testsOf(
  repository: WorkTree,
  command: GitCommand,
  options: ReadonlyMap<string, string>,
): readonly Test[] {
  const tests: Test[] = [];
  const isMerge: Test = async (hash) => (await readParents(repository, hash)).length > 1;
  const [text, change, pattern, filter] = ["-S", "-G", "--grep", "--diff-filter"].map((name) =>
    options.get(name),
  );
  if (options.has("--merges")) tests.push(isMerge);
  if (options.has("--no-merges")) tests.push(async (hash) => !(await isMerge(hash)));
  if (pattern !== undefined) {
    const expression = expressionOf(pattern, options.has("--regexp-ignore-case") ? "im" : "m");
    const isWanted = !options.has("--invert-grep");
    tests.push(async (hash) => expression.test(await readMessage(repository, hash)) === isWanted);
  }
  if (text !== undefined)
    tests.push(async (hash) => {
      const patch = await show(command, "--patch", hash);
      return timesIn(linesOf(patch, "+"), text) !== timesIn(linesOf(patch, "-"), text);
    });
  if (change !== undefined) {
    const expression = expressionOf(change, "m");
    tests.push(async (hash) => {
      const patch = await show(command, "--patch", hash);
      return [...linesOf(patch, "+"), ...linesOf(patch, "-")].some((line) => expression.test(line.slice(1)));
    });
  }
  if (filter !== undefined) tests.push(async (hash) => (await filterNames(command, hash, filter)).length > 0);
  return tests;
}

/** Returns the paths that a commit changes in one of the ways whose letters are named. */
export async function filterNames(command: GitCommand, hash: string, letters: string): Promise<string[]> {
  const lines = (await show(command, "--name-status", hash)).split("\n");
  return lines.flatMap((line) => {
    const [letter = "", ...names] = line.split("\t");
    return letter !== "" && letters.includes(letter.charAt(0)) ? names.slice(-1) : [];
  });
}

/** Lists the commits of a file, beyond the name that it has now. */
export async function followFile(
  command: GitCommand,
  list: (start: string | null, path: string) => Promise<readonly string[]>,
  path: string,
): Promise<readonly string[]> {
  const found: string[] = [];
  let name = path;
  for (let start: string | null = null; ;) {
    const hashes = await list(start, name);
    found.push(...hashes);
    const last = hashes.at(-1);
    if (last === undefined) return found;
    const names = (await show(command, "--name-status", last)).split("\n").map((line) => line.split("\t"));
    const renamed = names.find(([letter = "", , to]) => /^[RC]/.test(letter) && to === name);
    if (renamed?.[1] === undefined) return found;
    name = renamed[1];
    start = `${last}~1`;
  }
}
