/** Reads the markdown that models write into plain values; each line is looked at a bounded number of times. */

export type MarkdownBlock =
  | { readonly kind: "paragraph"; readonly raw: string; readonly text: string }
  | { readonly kind: "heading"; readonly raw: string; readonly level: number; readonly text: string }
  | { readonly kind: "code"; readonly raw: string; readonly language: string; readonly text: string }
  | { readonly kind: "quote"; readonly raw: string; readonly blocks: readonly MarkdownBlock[] }
  | {
      readonly kind: "list";
      readonly raw: string;
      /** The first number; null where items have no numbers. */
      readonly start: number | null;
      readonly items: readonly ListItem[];
    }
  | {
      readonly kind: "table";
      readonly raw: string;
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: "rule"; readonly raw: string };

export interface ListItem {
  /** Whether a task is done; null where the item is no task. */
  readonly done: boolean | null;
  readonly blocks: readonly MarkdownBlock[];
}

/** Blocks inside of blocks are read to this depth; deeper ones are text. */
const deepest = 12;

// Of two repeats that follow each other, no character may be taken by both: such a pattern tries each way to share a line.
const fencePattern = /^ {0,3}(`{3,}|~{3,}(?!~))([^`]*)$/;
const headingPattern = /^ {0,3}(#{1,6})(?!\S)/;
const rulePattern = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const quotePattern = /^ {0,3}> ?/;
const itemPattern = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
const dividerPattern = /^:?-+:?$/;
const taskPattern = /^\[([ xX])\] +/;

const isBlank = (line: string): boolean => line.trim() === "";

/** What a reader took: the block, and the line after it. */
interface Taken {
  readonly block: MarkdownBlock;
  readonly next: number;
}

type Reader = (lines: readonly string[], at: number, depth: number) => Taken | null;

const rawOf = (lines: readonly string[], from: number, to: number): string =>
  lines.slice(from, to).join("\n");

/** A fence that is not closed yet goes on to the end. */
const readFence: Reader = (lines, at) => {
  const [, mark = "", language = ""] = fencePattern.exec(lines[at] ?? "") ?? [];
  if (mark === "") return null;
  const close = new RegExp(`^ {0,3}\\${mark[0] ?? ""}{${mark.length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !close.test(lines[end] ?? "")) end += 1;
  const text = rawOf(lines, at + 1, end);
  const next = Math.min(lines.length, end + 1);
  return { block: { kind: "code", raw: rawOf(lines, at, next), language: language.trim(), text }, next };
};

const readHeading: Reader = (lines, at) => {
  const raw = lines[at] ?? "";
  const found = headingPattern.exec(raw);
  if (found === null) return null;
  const [before, marks = ""] = found;
  const text = raw
    .slice(before.length)
    .trim()
    .replace(/(?<!\S)#+$/, "")
    .trimEnd();
  return { block: { kind: "heading", raw, level: marks.length, text }, next: at + 1 };
};

const readRule: Reader = (lines, at) => {
  const raw = lines[at] ?? "";
  return rulePattern.test(raw) ? { block: { kind: "rule", raw }, next: at + 1 } : null;
};

const readQuote: Reader = (lines, at, depth) => {
  let next = at;
  while (next < lines.length && quotePattern.test(lines[next] ?? "")) next += 1;
  if (next === at || depth >= deepest) return null;
  const inner = lines.slice(at, next).map((line) => line.replace(quotePattern, ""));
  return { block: { kind: "quote", raw: rawOf(lines, at, next), blocks: readLines(inner, depth + 1) }, next };
};

interface ItemMark {
  /** Where the marker stands, and where the text behind it does. */
  readonly column: number;
  readonly content: number;
  readonly number: number | null;
}

const readMark = (line: string): ItemMark | null => {
  const found = itemPattern.exec(line);
  if (found === null || rulePattern.test(line)) return null;
  const [, indent = "", mark = "", space = ""] = found;
  const number = /^\d/.test(mark) ? Number.parseInt(mark, 10) : null;
  const width = indent.length + mark.length;
  return { column: indent.length, content: width + (space.length > 4 ? 1 : space.length || 1), number };
};

const indentOf = (line: string): number => line.length - line.trimStart().length;

const makeItem = (lines: readonly string[], depth: number): ListItem => {
  const [first = "", ...rest] = lines;
  const task = taskPattern.exec(first);
  if (task === null) return { done: null, blocks: readLines(lines, depth + 1) };
  return { done: task[1] !== " ", blocks: readLines([first.slice(task[0].length), ...rest], depth + 1) };
};

/** A line belongs to an item if it is indented, or goes on a paragraph that nothing else interrupts. */
const belongsTo = (line: string, mark: ItemMark, before: string): boolean => {
  if (isBlank(line)) return true;
  if (indentOf(line) >= mark.content) return true;
  return !isBlank(before) && readMark(line) === null && !startsBlock(line);
};

const startsBlock = (line: string): boolean =>
  fencePattern.test(line) || headingPattern.test(line) || quotePattern.test(line) || rulePattern.test(line);

/** Takes the lines of one item, without its marker and its indentation. */
const takeItem = (
  lines: readonly string[],
  at: number,
  mark: ItemMark,
): { readonly own: readonly string[]; readonly next: number } => {
  const own = [(lines[at] ?? "").slice(mark.content)];
  let next = at + 1;
  while (next < lines.length && belongsTo(lines[next] ?? "", mark, lines[next - 1] ?? "")) {
    const line = lines[next] ?? "";
    own.push(line.slice(Math.min(indentOf(line), mark.content)));
    next += 1;
  }
  while (own.length > 1 && isBlank(own.at(-1) ?? "")) {
    own.pop();
    next -= 1;
  }
  return { own, next };
};

const skipBlank = (lines: readonly string[], at: number): number => {
  let next = at;
  while (next < lines.length && isBlank(lines[next] ?? "")) next += 1;
  return next;
};

const readList: Reader = (lines, at, depth) => {
  const first = readMark(lines[at] ?? "");
  if (first === null || first.column > 3 || depth >= deepest) return null;
  const items: ListItem[] = [];
  let end = at;
  for (let next = at; next < lines.length; next = skipBlank(lines, end)) {
    const mark = readMark(lines[next] ?? "");
    if (mark === null || mark.column > 3 || (mark.number === null) !== (first.number === null)) break;
    const taken = takeItem(lines, next, mark);
    items.push(makeItem(taken.own, depth));
    end = taken.next;
  }
  return { block: { kind: "list", raw: rawOf(lines, at, end), start: first.number, items }, next: end };
};

const cellsOf = (line: string): readonly string[] =>
  line
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));

const readTable: Reader = (lines, at) => {
  const head = lines[at] ?? "";
  const divider = lines[at + 1] ?? "";
  if (!head.includes("|") || !divider.includes("-")) return null;
  const dividers = cellsOf(divider);
  if (cellsOf(head).length !== dividers.length || !dividers.every((cell) => dividerPattern.test(cell)))
    return null;
  let next = at + 2;
  while (next < lines.length && (lines[next] ?? "").includes("|")) next += 1;
  const rows = lines.slice(at + 2, next).map(cellsOf);
  return { block: { kind: "table", raw: rawOf(lines, at, next), head: cellsOf(head), rows }, next };
};

const readers: readonly Reader[] = [readFence, readHeading, readRule, readQuote, readList, readTable];

const endsParagraph = (lines: readonly string[], at: number): boolean => {
  const line = lines[at] ?? "";
  if (isBlank(line) || startsBlock(line)) return true;
  const mark = readMark(line);
  // A number in running text begins no list, unless it is the first one.
  return mark !== null && mark.column <= 3 && (mark.number === null || mark.number === 1);
};

const readParagraph = (lines: readonly string[], at: number): Taken => {
  let next = at + 1;
  while (next < lines.length && !endsParagraph(lines, next)) next += 1;
  const raw = rawOf(lines, at, next);
  return { block: { kind: "paragraph", raw, text: raw.trim() }, next };
};

const readLines = (lines: readonly string[], depth: number): readonly MarkdownBlock[] => {
  const blocks: MarkdownBlock[] = [];
  for (let at = skipBlank(lines, 0); at < lines.length;) {
    let taken: Taken | null = null;
    for (const read of readers) {
      taken = read(lines, at, depth);
      if (taken !== null) break;
    }
    const { block, next } = taken ?? readParagraph(lines, at);
    blocks.push(block);
    at = skipBlank(lines, next);
  }
  return blocks;
};

/** Reads a text into its blocks. */
export const readBlocks = (text: string): readonly MarkdownBlock[] =>
  readLines(text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n"), 0);
