import type { YAMLParseError } from "yaml";

/** This file says in plain words what is wrong where YAML's parser gives up. */

/** Defines a fault of the syntax: where it begins, and what its author does about it. */
export interface SyntaxFault {
  readonly offset: number;
  readonly message: string;
}

type ParseError = Pick<YAMLParseError, "code" | "message" | "pos">;

/** The longest line that is looked at: the patterns below take more than linear time. */
const maximumLine = 400;

const lineAround = (text: string, offset: number): string => {
  const start = offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
  const [line = ""] = text.slice(start, start + maximumLine).split("\n", 1);
  return line;
};

/** Matches a plain text behind a key that has a colon and a blank in it, or ends with a colon. */
const valueWithColon = /^\s*(?:- )*(?:[\w-]+:\s+)([^\s"'[{|>#&*!][^#]*?:(?:\s.*)?)$/;

/** The same inside of braces, where the text ends before a comma or the brace. */
const flowValueWithColon = /[{,]\s*[\w-]+:\s+([^\s"'[{,}][^,}]*?:\s[^,}]*?)\s*[,}]/;

/** Matches a line that may hold a secret, of which nothing is repeated. */
const secretLine = /(?:key|secret|token|password|authorization|cookie)["']?\s*:/i;

/** What a sentence repeats of a text of a line. */
const repeat = (line: string, value: string): string => (secretLine.test(line) ? "…" : value);

const quote = (value: string): string => {
  const text = value.trim();
  return text.length > 60 ? `"${text.slice(0, 57)}…"` : `"${text}"`;
};

/** Says that a text with a colon needs quotes; null if the line has no such text. */
const explainColon = (line: string): string | null => {
  const value = valueWithColon.exec(line)?.[1] ?? flowValueWithColon.exec(line)?.[1];
  return value === undefined
    ? null
    : `quote the text: it contains a colon; write ${quote(repeat(line, value))}`;
};

/** Says that a colon needs a blank behind it; null if the line has none without. */
const explainMissingSpace = (line: string): string | null => {
  const [, key, value] = /^\s*(?:- )?([A-Za-z_][\w-]*):([^\s/].*)$/.exec(line) ?? [];
  return key === undefined ? null : `put a space behind the colon: ${key}: ${repeat(line, value ?? "")}`;
};

/** The sign of an item, without the blank behind it. */
const bareDash = /^-(?=[A-Za-z_"'$])/;

/** Says that a text or a key which begins like an item of a list was meant as one; undefined if it does not. */
export const explainDash = (text: string): string | undefined =>
  bareDash.test(text) ? `put a space behind the dash of each item: - ${text.slice(1, 30)}` : undefined;

/** Finds an item without a blank behind its dash in the line of a place, or in the line above. */
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

/** Says that the text at a place, which begins with the sign of an alias or an anchor, needs quotes. */
export const explainSign = (text: string, at: number): string => {
  const [value = "", sign = ""] =
    /^([*&])(?:\{[^}\n]*\}|[^,\]{}#:\n]|:(?!\s))*/.exec(text.slice(at, at + maximumLine)) ?? [];
  return `a text cannot begin with ${sign}; quote it: ${quote(repeat(lineAround(text, at), value))}`;
};

/** Says that the alias at a place stands for nothing. */
export const explainAlias = (text: string, at: number, name: string): string =>
  `the anchor &${repeat(lineAround(text, at), name)} is not defined before this place`;

/** Finds the star with which the text before a place begins; -1 if it begins otherwise. */
const findStar = (text: string, at: number): number => {
  const begun = text.slice(Math.max(0, text.lastIndexOf("\n", at - 1) + 1, at - maximumLine), at);
  const [star] = /(?<=^|[\s[{,])\*[^"']*$/.exec(begun) ?? [];
  return star === undefined ? -1 : at - star.length;
};

const indentation =
  "the indentation does not fit: keys of one map begin in the same column, and so do the items of a list";

/** Lists what the parser says, and what its reader is told; the first that fits counts. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [/^Tabs are not allowed/, "a tab stands in the indentation; indent with spaces"],
  [
    /must be sufficiently indented and end with a ([\]}])/,
    "a bracket that is opened before is not closed; close it with $1",
  ],
  [/cannot start with \S.*?(\S)$/, "a text cannot begin with $1; quote it"],
  [/^Implicit map keys need/, 'a key and its value are expected here, like "name: value"'],
  [
    /^Implicit keys need/,
    "this line is neither a key with a value nor part of the text before; quote a text of several lines, or indent it",
  ],
  [
    /^(Block scalar header|Not a YAML token)/,
    "a text that begins with | or > stands in the lines below, indented",
  ],
  [
    /^Invalid escape sequence/,
    "a backslash in double quotes begins an escape; use single quotes, or write it twice",
  ],
  [/^Comments must be separated/, "put a space before the #"],
  [/^Unexpected (block-seq-ind|seq-item-ind)/, "a list begins in the line below its key, not behind it"],
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

/** Finds where the quote is opened that is not closed when the file ends. */
const findOpenQuote = (text: string, lexemes: readonly string[], end: number): number => {
  const open = lexemes.findLast((lexeme) => /^["']/.test(lexeme));
  return open === undefined ? end : text.lastIndexOf(open);
};

/** Explains what the lines of a place show, where the parser only says that the structure is wrong. */
const explainLines = (message: string, text: string, at: number): SyntaxFault | null => {
  const star = message.startsWith("Unexpected") ? findStar(text, at) : -1;
  if (star >= 0) return { offset: star, message: explainSign(text, star) };
  const line = lineAround(text, at);
  const isOfColons = /^(Nested mappings|Block collections|Implicit)/.test(message);
  const ofColons = isOfColons ? (explainColon(line) ?? explainMissingSpace(line)) : null;
  if (ofColons !== null) return { offset: at, message: ofColons };
  return /^(?:Nested|Implicit|All|A block)/.test(message) ? findBareDash(text, at) : null;
};

/** Explains an error of the parser; `lexemes` is what its lexer read. */
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
  const known = explainLines(message, text, at);
  if (known !== null) return known;
  const [pattern, sentence] = sentences.find(([known]) => known.test(message)) ?? [];
  if (pattern === undefined || sentence === undefined)
    return { offset: at, message: `this is no YAML: ${message}` };
  const [, word = ""] = pattern.exec(message) ?? [];
  return { offset: at, message: sentence.replace("$1", word) };
};
