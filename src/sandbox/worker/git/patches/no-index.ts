import type { ExecResult } from "#git";
import { createGit, MemoryFileSystem } from "#git";
import { fail, refuse } from "../line/answers.ts";
import { takeOptions } from "../line/flags.ts";
import type { Context, GitCommand } from "../run-package.ts";

/** `git diff --no-index`: files or folders that are in no repository, compared in one of their own. */

/** Two files to compare, by their names; null is no file. */
interface Pair {
  readonly names: readonly [string | null, string | null];
}

const nothing = "/dev/null";

/** Lists the files of a folder, by their paths from there. */
async function listFiles(fs: Context["fs"], folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of (await fs.readdir(folder)).sort()) {
    const path = `${folder}/${name}`;
    if ((await fs.lstat(path)).isDirectory)
      found.push(...(await listFiles(fs, path)).map((each) => `${name}/${each}`));
    else found.push(name);
  }
  return found;
}

/** Returns the files to compare: two files, or those of two folders that have the same names. */
async function pairsOf(
  context: Context,
  names: readonly [string, string],
): Promise<readonly Pair[] | ExecResult> {
  const { fs, cwd } = context;
  const full = (name: string): string => fs.resolvePath(cwd, name);
  const kindOf = async (name: string): Promise<"file" | "folder" | null> => {
    if (name === nothing) return "file";
    const stat = await fs.stat(full(name)).catch(() => null);
    return stat === null ? null : stat.isDirectory ? "folder" : "file";
  };
  const [one, other] = [await kindOf(names[0]), await kindOf(names[1])];
  const missing = names.find((_, side) => [one, other][side] === null);
  if (missing !== undefined) return fail(`error: Could not access '${missing}'\n`, 1);
  const [first, second] = [names[0].replace(/\/$/, ""), names[1].replace(/\/$/, "")];
  const own = (name: string): string | null => (name === nothing ? null : name);
  if (one === "file" && other === "file") return [{ names: [own(first), own(second)] }];
  if (one !== other) {
    const file = one === "file" ? first : second;
    const base = file.replace(/^.*\//, "");
    return [{ names: one === "file" ? [first, `${second}/${base}`] : [`${first}/${base}`, second] }];
  }
  const [before, after] = [await listFiles(fs, full(first)), await listFiles(fs, full(second))];
  return [...new Set([...before, ...after])].sort().map((path) => ({
    names: [
      before.includes(path) ? `${first}/${path}` : null,
      after.includes(path) ? `${second}/${path}` : null,
    ],
  }));
}

/** The name of the file in the repository of a pair. */
const held = "file";

/** Compares a pair in a repository of its own, in a form of the package. */
async function comparePair(context: Context, { names }: Pair, options: readonly string[]): Promise<string> {
  const read = async (name: string | null): Promise<Uint8Array | null> =>
    name === null ? null : context.fs.readFileBuffer(context.fs.resolvePath(context.cwd, name));
  const [before, after] = [await read(names[0]), await read(names[1])];
  const isSame =
    before?.length === after?.length && before?.every((byte, at) => byte === after?.[at]) === true;
  if (isSame) return "";
  const fs = new MemoryFileSystem();
  const git = createGit({ network: false, identity: { name: "x", email: "x" } });
  const run = async (...args: readonly string[]): Promise<string> =>
    (await git.execute([...args], { fs, cwd: "/r", env: new Map(), stdin: "" })).stdout;
  await fs.mkdir("/r");
  await run("init");
  const put = async (content: Uint8Array | null): Promise<void> => {
    if (content === null) await fs.rm(`/r/${held}`, { force: true });
    else await fs.writeFile(`/r/${held}`, content);
    await run("add", "-A");
  };
  await put(before);
  await run("commit", "-m", "x");
  await put(after);
  return run("diff", "--cached", ...options);
}

/** Writes the names of a pair in place of that of its file. */
function rename(text: string, { names }: Pair): string {
  const [one, other] = [names[0] ?? names[1] ?? "", names[1] ?? names[0] ?? ""];
  return text
    .replace(`diff --git a/${held} b/${held}\n`, () => `diff --git a/${one} b/${other}\n`)
    .replace(/^index (\w+\.\.\w+)$/m, (line) =>
      /^(?:new|deleted) file/m.test(text) ? line : `${line} 100644`,
    )
    .replace(`--- a/${held}\n`, () => `--- a/${one}\n`)
    .replace(`+++ b/${held}\n`, () => `+++ b/${other}\n`)
    .replace(`Binary files a/${held} and b/${held}`, () => `Binary files a/${one} and b/${other}`);
}

const ownOptions = ["--no-index", "--quiet", "--exit-code", "--name-only", "--patch", "-U ", "--unified="];

/** Compares pairs one by one; all that is to be shown of them. */
async function comparePairs(
  context: Context,
  pairs: readonly Pair[],
  options: ReadonlyMap<string, string>,
): Promise<string> {
  const lines = options.get("-U") ?? options.get("--unified");
  const forms = lines === undefined ? [] : [`--unified=${lines}`];
  let shown = "";
  for (const pair of pairs) {
    const text = await comparePair(context, pair, forms);
    const name = pair.names[1] ?? pair.names[0] ?? "";
    if (text !== "") shown += options.has("--name-only") ? `${name}\n` : rename(text, pair);
  }
  return shown;
}

/** Compares two files or folders; fails with 1 if they differ. */
export async function compareFiles(command: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(command.args, ownOptions);
  const [one, other, ...more] = args.slice(1).filter((arg) => arg !== "--");
  const lack = args.slice(1).find((arg) => /^-[^-]|^--./.test(arg));
  if (lack !== undefined)
    return refuse("git diff --no-index", lack, "it shows patches, or names with --name-only");
  if (one === undefined || other === undefined || more.length > 0)
    return fail("usage: git diff --no-index [<options>] <path> <path>\n", 129);
  const pairs = await pairsOf(command.context, [one, other]);
  if (!("length" in pairs)) return pairs;
  const shown = await comparePairs(command.context, pairs, options);
  return { stdout: options.has("--quiet") ? "" : shown, stderr: "", exitCode: shown === "" ? 0 : 1 };
}
