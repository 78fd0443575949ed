import { compareLines, type Edit, writeUnified } from "../../files/unified-diff.ts";
import type { CommandContext, CustomCommand } from "../custom-command.ts";
import { isFolder, statOf } from "./file-facts.ts";
import { nameOf } from "./links.ts";
import { bytes, Failure, linesOf, type Options, program, readInput, readOptions } from "./program.ts";

const names = {
  flags: "urqNwbiasEt",
  valued: "UxL",
  long: "unified:U recursive:r brief:q new-file:N ignore-all-space:w ignore-space-change:b ignore-case:i report-identical-files:s label:L exclude:x color: text: normal: strip-trailing-cr:E",
};

const range = (start: number, count: number): string =>
  count === 0 ? String(start) : count === 1 ? String(start + 1) : `${start + 1},${start + count}`;

const marked = (mark: string, lines: readonly Edit[]): string =>
  lines
    .map(({ line }) => `${mark} ${line}${line.endsWith("\n") ? "" : "\n\\ No newline at end of file\n"}`)
    .join("");

/** Returns changes as `diff` without options shows it: `2c2`, `< old`, `---`, `> new`. */
function normalDiff(edits: readonly Edit[]): string {
  let old = 0;
  let now = 0;
  let text = "";
  for (let at = 0; at < edits.length;) {
    let end = at;
    while (edits[end] !== undefined && edits[end]?.kind !== "same") end += 1;
    const removed = edits.slice(at, end).filter(({ kind }) => kind === "removed");
    const added = edits.slice(at, end).filter(({ kind }) => kind === "added");
    if (end > at) {
      const kind = removed.length === 0 ? "a" : added.length === 0 ? "d" : "c";
      text += `${range(old, removed.length)}${kind}${range(now, added.length)}\n${marked("<", removed)}`;
      text += `${kind === "c" ? "---\n" : ""}${marked(">", added)}`;
    }
    old += removed.length + 1;
    now += added.length + 1;
    at = end + 1;
  }
  return text;
}

/** Returns a text without the parts that are not compared. */
function compared(text: string, { has }: Options): string {
  let shown = text;
  if (has("E")) shown = shown.replaceAll("\r\n", "\n");
  if (has("i")) shown = shown.toLowerCase();
  if (has("w")) shown = shown.replace(/[ \t\r]+/g, "");
  return has("b") ? shown.replace(/[ \t\r]+/g, " ").replace(/ $/gm, "") : shown;
}

const stamp = async (context: CommandContext, path: string): Promise<string> => {
  const found = await statOf(context, path, "", true).catch(() => null);
  const time = found?.mtime ?? new Date();
  return `${path}\t${time.toISOString().replace("T", " ").replace("Z", "")}000000 +0000`;
};

/** Returns the edits between two texts, whose lines are compared without the parts that do not count. */
function compareTexts(before: string, after: string, options: Options): readonly Edit[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let [left, right] = [0, 0];
  return compareLines(linesOf(compared(before, options)), linesOf(compared(after, options))).map(
    ({ kind }) => {
      const line = (kind === "added" ? now[right] : old[left]) ?? "";
      if (kind !== "added") left += 1;
      if (kind !== "removed") right += 1;
      return { kind, line };
    },
  );
}

/** Returns how many lines of a unified diff stand around each change. */
function linesAround({ value }: Options): number {
  const lines = Number(value("U") ?? 3);
  if (Number.isInteger(lines) && lines >= 0) return lines;
  throw new Failure(`invalid context length '${value("U")}'`, 2);
}

/** Returns the differences of two files as they are printed; empty if there are none. */
async function compareFiles(
  context: CommandContext,
  a: string,
  b: string,
  options: Options,
): Promise<string> {
  const { has, values } = options;
  const [before, after] = [await readIfAny(context, a, options), await readIfAny(context, b, options)];
  const isSame = compared(before, options) === compared(after, options);
  if (isSame) return has("s") ? `Files ${a} and ${b} are identical\n` : "";
  if (has("q")) return `Files ${a} and ${b} differ\n`;
  if (before.includes("\0") || after.includes("\0")) return `Binary files ${a} and ${b} differ\n`;
  const edits = compareTexts(before, after, options);
  if (!has("u") && !has("U")) return normalDiff(edits);
  const [left = await stamp(context, a), right = await stamp(context, b)] = values("L");
  return writeUnified(left, right, edits, linesAround(options));
}

const readIfAny = (context: CommandContext, path: string, { has }: Options): Promise<string> =>
  readInput(path, context).catch((error: unknown) => {
    if (has("N")) return "";
    throw error instanceof Failure ? new Failure(error.message, 2) : error;
  });

/** Compares the entries of one name in two folders. */
async function comparePair(context: CommandContext, a: string, b: string, options: Options): Promise<string> {
  if ((await isFolder(context, a)) && (await isFolder(context, b)))
    return options.has("r")
      ? compareFolders(context, a, b, options)
      : `Common subdirectories: ${a} and ${b}\n`;
  const found = await compareFiles(context, a, b, options);
  const isWhole = options.has("q") || found === "" || found.startsWith("Binary");
  return isWhole ? found : `diff ${options.words.join(" ")} ${a} ${b}\n${found}`;
}

async function compareFolders(
  context: CommandContext,
  a: string,
  b: string,
  options: Options,
): Promise<string> {
  const { fs, cwd } = context;
  const left = await fs.readdir(fs.resolvePath(cwd, a));
  const right = await fs.readdir(fs.resolvePath(cwd, b));
  let text = "";
  for (const name of [...new Set([...left, ...right])].sort()) {
    if (options.values("x").includes(name)) continue;
    const isAlone = !(left.includes(name) && right.includes(name)) && !options.has("N");
    text += isAlone
      ? `Only in ${left.includes(name) ? a : b}: ${name}\n`
      : await comparePair(context, `${a}/${name}`, `${b}/${name}`, options);
  }
  return text;
}

/** Compares two files or folders. */
export const diff: CustomCommand = program("diff", async (args, context) => {
  const options = readOptions(
    args.map((arg) => (arg === "--unified" ? "-u" : arg)),
    names,
  );
  if (options.values("x").some((name) => /[*?[]/.test(name)))
    throw new Failure("-x takes names here, not patterns", 2);
  const [a, b] = options.operands;
  if (a === undefined || b === undefined) throw new Failure("missing operand", 2);
  const [isLeft, isRight] = [await isFolder(context, a), await isFolder(context, b)];
  const text =
    isLeft && isRight
      ? await compareFolders(context, a.replace(/\/$/, ""), b.replace(/\/$/, ""), options)
      : await compareFiles(
          context,
          isLeft ? `${a}/${nameOf(b)}` : a,
          isRight ? `${b}/${nameOf(a)}` : b,
          options,
        );
  return bytes(text, "", text === "" || (options.has("s") && text.endsWith("are identical\n")) ? 0 : 1);
});

/** Compares two files byte by byte. */
export const cmp: CustomCommand = program("cmp", async (args, context) => {
  const { has, operands } = readOptions(args, { flags: "sl", long: "silent:s quiet:s" });
  const [a = "-", b = "-"] = operands;
  const [before, after] = [await readInput(a, context), await readInput(b, context)];
  if (before === after) return bytes("");
  if (has("s")) return bytes("", "", 1);
  let at = 0;
  while (at < before.length && at < after.length && before[at] === after[at]) at += 1;
  const line = linesOf(before.slice(0, at + 1)).length;
  const shorter = before.length < after.length ? a : b;
  if (at === Math.min(before.length, after.length))
    return bytes("", `cmp: EOF on ${shorter} after byte ${at}, in line ${line}\n`, 1);
  return bytes(`${a} ${b} differ: byte ${at + 1}, line ${line}\n`, "", 1);
});
