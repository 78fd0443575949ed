import type { YAMLParseError } from "yaml";

/** Explains in plain words the errors at which YAML's parser gives up. */

/** Fault of the syntax: where it begins, and how its author fixes it. */
export interface SyntaxFault {
  readonly offset: number;
  readonly message: string;
}

type ParseError = Pick<YAMLParseError, "code" | "message" | "pos">;

/** Length of the longest line that is searched: the patterns below take more than linear time. */
const maximumLine = 400;

const lineAround = (text: string, offset: number): string => {
  const start = offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
  const [line = ""] = text.slice(start, start + maximumLine).split("\n", 1);
  return line;
};

/** Matches a plain text after a key that has a colon and a space in it, or ends with a colon. */
const valueWithColon = /^\s*(?:- )*(?:[\w-]+:\s+)([^\s"'[{|>#&*!][^#]*?:(?:\s.*)?)$/;

/** Matches the same inside braces, where the text ends before a comma or the brace. */
const flowValueWithColon = /[{,]\s*[\w-]+:\s+([^\s"'[{,}][^,}]*?:\s[^,}]*?)\s*[,}]/;

/** Matches a line that may hold a secret and so is not quoted. */
const secretLine = /(?:key|secret|token|password|authorization|cookie)["']?\s*:/i;

/** Returns the part of a line that a sentence may quote. */
const repeat = (line: string, value: string): string => (secretLine.test(line) ? "…" : value);

const quote = (value: string): string => {
  const text = value.trim();
  return text.length > 60 ? `"${text.slice(0, 57)}…"` : `"${text}"`;
};

/** Explains that a text with a colon needs quotes; returns null if the line has no such text. */
const explainColon = (line: string): string | null => {
  const value = valueWithColon.exec(line)?.[1] ?? flowValueWithColon.exec(line)?.[1];
  return value === undefined
    ? null
    : `quote the text: it contains a colon; write ${quote(repeat(line, value))}`;
};

/** Explains that a colon needs a space after it; returns null if the line has no such colon. */
const explainMissingSpace = (line: string): string | null => {
  const [, key, value] = /^\s*(?:- )?([A-Za-z_][\w-]*):([^\s/].*)$/.exec(line) ?? [];
  return key === undefined ? null : `put a space after the colon: ${key}: ${repeat(line, value ?? "")}`;
};

/** Matches the dash of an item without a space after it. */
const bareDash = /^-(?=[A-Za-z_"'$])/;

/** Matches what word processors write in the place of an item's dash. */
const longDash = /^[–—•]\s*/;

/**
 * Explains that a text or key that begins like an item of a list was meant as one; returns undefined if it does
 * not.
 */
export const explainDash = (text: string): string | undefined => {
  if (longDash.test(text))
    return `begin each item with a plain dash: - ${text.replace(longDash, "").slice(0, 30)}`;
  return bareDash.test(text) ? `put a space after the dash of each item: - ${text.slice(1, 30)}` : undefined;
};

/** Matches a character that looks like a blank or like nothing, and that YAML takes for a letter. */
const invisible = /[\u00a0\u00ad\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]/;

/** Explains that a text has a character that nobody sees; returns undefined if it has none. */
export const explainInvisible = (text: string): string | undefined => {
  const [found] = invisible.exec(text) ?? [];
  if (found === undefined) return undefined;
  const number = found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return `an invisible character (U+${number}) stands here: type a blank in its place, or remove it`;
};

const tabSentence = "there is a tab in the indentation; indent with spaces";

/** Finds a tab in the indentation of a line, or a character that nobody sees before its texts in quotes. */
const findInvisible = (text: string, at: number): SyntaxFault | null => {
  const start = at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
  const [code = ""] = /^[^"'#]*/.exec(lineAround(text, start)) ?? [];
  if (/^ *\t/.test(code)) return { offset: start + code.indexOf("\t"), message: tabSentence };
  const message = explainInvisible(code);
  return message === undefined ? null : { offset: start + code.search(invisible), message };
};

/** Finds an item without a space after its dash in the line of a place, or in the line above. */
const findBareDash = (text: string, at: number): SyntaxFault | null => {
  const start = at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
  const above = start < 2 ? start : text.lastIndexOf("\n", start - 2) + 1;
  for (const offset of [start, above]) {
    const line = lineAround(text, offset);
    const item = line.trimStart();
    const message = explainDash(item.trimEnd());
    if (message !== undefined) return { offset: offset + line.length - item.length, message };
  }
  return null;
};

/** Matches the end of a line whose text stands in the lines below. */
const blockStart = /:\s+[|>][+\-\d]*\s*(?:#.*)?$/;

/** Number of lines below a text that are searched for a key. */
const mostLines = 100;

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** Finds a key that is indented too deep, so that the parser took it for more of the text at a place above it. */
const findDeepKey = (text: string, at: number): SyntaxFault | null => {
  const [, dashes = "", above = ""] = /^\s*((?:- )*)([\w-]+):\s/.exec(lineAround(text, at)) ?? [];
  if (above === "") return null;
  const column = indentOf(lineAround(text, at)) + dashes.length;
  let end = text.indexOf("\n", at);
  for (let count = 0; end !== -1 && count < mostLines; count += 1) {
    const line = lineAround(text, end + 1);
    const [, key] = /^\s*([A-Za-z_][\w-]*):(?:\s|$)/.exec(line) ?? [];
    if (key !== undefined && indentOf(line) > column)
      return {
        offset: end + 1 + indentOf(line),
        message: `the key ${key} is indented too deep: begin it in the same column as ${above}`,
      };
    if (line.trim() !== "" && indentOf(line) <= column) return null;
    end = text.indexOf("\n", end + 1);
  }
  return null;
};

/** Column in which keys or dashes of the lines so far begin. */
interface Level {
  readonly column: number;
  /** Last key that begins there; null for the dashes of a list. */
  readonly key: string | null;
}

/** Finds a line that is not indented below a key whose text it belongs to. */
const findFlatText = (text: string, at: number): SyntaxFault | null => {
  const start = at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
  const above = text.slice(0, start).trimEnd();
  if (!blockStart.test(lineAround(above, above.length))) return null;
  const offset = start + indentOf(lineAround(text, start));
  return { offset, message: "the lines of a text after | or > begin deeper than its key: indent them" };
};

/** Returns the columns in which a line begins its items and its key; none for a comment or a line of a text. */
const levelsOf = (line: string): readonly Level[] => {
  const [, blank = "", dashes = "", key] =
    /^( *)((?:- +)*)(?:["']?([A-Za-z_][\w-]*)["']?:(?:\s|$))?/.exec(line) ?? [];
  const items = Array.from(dashes.matchAll(/-/g), ({ index }) => ({
    column: blank.length + index,
    key: null,
  }));
  return key === undefined ? items : [...items, { column: blank.length + dashes.length, key }];
};

/** Reads the columns that are open behind some lines, the deepest last. */
const readLevels = (lines: readonly string[]): readonly Level[] => {
  let open: readonly Level[] = [];
  let blockColumn = Infinity;
  for (const line of lines) {
    if (line.trim() === "" || indentOf(line) > blockColumn) continue;
    const [first, ...rest] = levelsOf(line);
    blockColumn = blockStart.test(line) ? ([first, ...rest].at(-1)?.column ?? 0) : Infinity;
    if (first !== undefined) open = [...open.filter(({ column }) => column < first.column), first, ...rest];
  }
  return open;
};

/** Finds a key or a dash that begins in no column of those above; returns null if the columns do not tell. */
const findOutOfLine = (text: string, at: number): SyntaxFault | null => {
  const start = at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
  const [own] = levelsOf(lineAround(text, start));
  if (own === undefined) return null;
  const open = readLevels(text.slice(0, start).split("\n").slice(-mostLines));
  const isAlike = ({ key }: Level): boolean => (key === null) === (own.key === null);
  if (open.some((level) => level.column === own.column && isAlike(level))) return null;
  const shallower = open.findLast(({ column }) => column < own.column);
  const deeper = open.find(({ column }) => column > own.column);
  const fitting = [shallower, deeper].filter((level) => level !== undefined).filter(isAlike);
  if (fitting.length === 0) return null;
  const places = fitting.map(({ column, key }) => `column ${column + 1}, like ${key ?? "the dash above"}`);
  const what = own.key === null ? "this dash" : `the key ${own.key}`;
  return {
    offset: start + own.column,
    message: `${what} is not in line with those above: begin it in ${places.join(", or in ")}`,
  };
};

/** Explains that the text at a place, which begins with the sign of an alias or an anchor, needs quotes. */
export const explainSign = (text: string, at: number): string => {
  const [value = "", sign = ""] =
    /^([*&])(?:\{[^}\n]*\}|[^,\]{}#:\n]|:(?!\s))*/.exec(text.slice(at, at + maximumLine)) ?? [];
  return `a text cannot begin with ${sign}; quote it: ${quote(repeat(lineAround(text, at), value))}`;
};

/** Explains that the alias at a place is undefined. */
export const explainAlias = (text: string, at: number, name: string): string =>
  `the anchor &${repeat(lineAround(text, at), name)} is not defined before this place`;

/** Finds the star with which the text before a place begins; returns -1 if it begins otherwise. */
const findStar = (text: string, at: number): number => {
  const begun = text.slice(Math.max(0, text.lastIndexOf("\n", at - 1) + 1, at - maximumLine), at);
  const [star] = /(?<=^|[\s[{,])\*[^"']*$/.exec(begun) ?? [];
  return star === undefined ? -1 : at - star.length;
};

const indentation =
  "the indentation does not fit: keys of one map begin in the same column, and so do the items of a list";

/** The parser's messages, each with its explanation; the first match counts. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [/^Tabs are not allowed/, tabSentence],
  [
    /must be sufficiently indented and end with a ([\]}])/,
    "an earlier bracket is not closed; close it with $1",
  ],
  [/cannot start with \S.*?(\S)$/, "a text cannot begin with $1; quote it"],
  [/^Implicit map keys need/, 'a key and its value are expected here, like "name: value"'],
  [
    /^Implicit keys need/,
    "this line is neither a key with a value nor part of the text before; quote a text of several lines, or indent it",
  ],
  [
    /^(Block scalar header|Not a YAML token)/,
    "a text that begins with | or > continues in the lines below, indented",
  ],
  [
    /^Invalid escape sequence/,
    "a backslash in double quotes begins an escape; use single quotes, or write it twice",
  ],
  [/^Comments must be separated/, "put a space before the #"],
  [/^Unexpected (block-seq-ind|seq-item-ind)/, "a list begins in the line below its key, not after it"],
  [
    /^Unexpected scalar at node end/,
    "text follows where the value has ended; quote all of it, and write '' for a ' in single quotes",
  ],
  [
    /^(Sequence item without|All (mapping|sequence|collection) items|A block sequence|Nested mappings)/,
    indentation,
  ],
  [/^Unexpected flow-\w+-start at node end/, 'quote a text that has braces or brackets in it: "${NAME}"'],
  [/^Block collections are not allowed/, "a text in brackets that contains a colon needs quotes"],
];

/** Finds the quote that is still open at the end of the file. */
const findOpenQuote = (text: string, lexemes: readonly string[], end: number): number => {
  const open = lexemes.findLast((lexeme) => /^["']/.test(lexeme));
  return open === undefined ? end : text.lastIndexOf(open);
};

/** Explains what the lines of a place show, if the parser only reports a wrong structure. */
const explainLines = (message: string, text: string, at: number): SyntaxFault | null => {
  const star = message.startsWith("Unexpected") ? findStar(text, at) : -1;
  if (star >= 0) return { offset: star, message: explainSign(text, star) };
  const line = lineAround(text, at);
  const flat = message.startsWith("Implicit map keys") ? findFlatText(text, at) : null;
  if (flat !== null) return flat;
  const isOfColons = /^(Nested mappings|Block collections|Implicit)/.test(message);
  const ofColons = isOfColons ? (explainColon(line) ?? explainMissingSpace(line)) : null;
  if (ofColons !== null) return { offset: at, message: ofColons };
  if (!/^(?:Nested|Implicit|All|A block)/.test(message)) return null;
  return findBareDash(text, at) ?? (message.startsWith("Nested") ? findDeepKey(text, at) : null);
};

/** Explains an error of the parser; `lexemes` is the output of its lexer. */
export const explainSyntax = (
  { message, pos }: ParseError,
  text: string,
  lexemes: readonly string[],
): SyntaxFault => {
  const [at] = pos;
  if (/^Missing closing ["']/.test(message)) {
    const offset = findOpenQuote(text, lexemes, at);
    return { offset, message: "a quote is opened here and never closed" };
  }
  const known = explainLines(message, text, at) ?? findInvisible(text, at);
  if (known !== null) return known;
  const [pattern, sentence] = sentences.find(([known]) => known.test(message)) ?? [];
  if (pattern === undefined || sentence === undefined)
    return { offset: at, message: `this is not YAML: ${message}` };
  const outOfLine = sentence === indentation ? findOutOfLine(text, at) : null;
  if (outOfLine !== null) return outOfLine;
  const [, word = ""] = pattern.exec(message) ?? [];
  return { offset: at, message: sentence.replace("$1", word) };
};
