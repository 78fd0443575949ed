/** Reads the text of a block: code, emphasis, links, line breaks. */

export type Inline =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "break" }
  | { readonly kind: "strong" | "em" | "del"; readonly inner: readonly Inline[] }
  | { readonly kind: "link"; readonly href: string; readonly inner: readonly Inline[] };

/** Emphasis inside of emphasis is read to this depth; deeper marks are text. */
const deepest = 8;

const entities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  nbsp: "\u00a0",
  "#39": "'",
};

/** What an inline reader took, and the place after it. */
interface Taken {
  readonly inline: Inline;
  readonly next: number;
}

/** `unclosed` are the marks that nothing closes in the rest of the text, so that it is searched but once for each. */
type Reader = (text: string, at: number, depth: number, unclosed: Set<string>) => Taken | null;

const readEscape: Reader = (text, at) => {
  const next = text[at + 1] ?? "";
  if (next === "\n") return { inline: { kind: "break" }, next: at + 2 };
  return /[!-/:-@[-`{-~]/.test(next) ? { inline: { kind: "text", text: next }, next: at + 2 } : null;
};

const readCode: Reader = (text, at) => {
  const mark = /^`+/.exec(text.slice(at, at + 16))?.[0] ?? "`";
  const end = text.indexOf(mark, at + mark.length);
  if (end === -1) return null;
  const inner = text.slice(at + mark.length, end).replaceAll("\n", " ");
  const padded = inner.startsWith(" ") && inner.endsWith(" ") && inner.trim() !== "";
  return { inline: { kind: "code", text: padded ? inner.slice(1, -1) : inner }, next: end + mark.length };
};

const kinds = { "**": "strong", __: "strong", "*": "em", _: "em", "~~": "del" } as const;

const isWord = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}]/u.test(character);

const isSpace = (character: string | undefined): boolean => character === undefined || /\s/.test(character);

/** Finds where a mark closes: not behind a space, and `_` not inside of a word. */
const findClose = (text: string, from: number, mark: string): number => {
  for (let at = text.indexOf(mark, from); at !== -1; at = text.indexOf(mark, at + 1)) {
    const isLonger = text[at + mark.length] === mark[0] || (mark.length === 1 && text[at - 1] === mark);
    const isInWord = mark.startsWith("_") && isWord(text[at + mark.length]);
    if (at > from && !isLonger && !isInWord && !isSpace(text[at - 1]) && text[at - 1] !== "\\") return at;
  }
  return -1;
};

const readEmphasis: Reader = (text, at, depth, unclosed) => {
  const character = text[at] ?? "";
  const isDouble = text[at + 1] === character;
  const mark = isDouble ? character + character : character;
  if (!Object.hasOwn(kinds, mark) || isSpace(text[at + mark.length]) || depth >= deepest) return null;
  if (unclosed.has(mark) || (character === "_" && isWord(text[at - 1]))) return null;
  const end = findClose(text, at + mark.length, mark);
  if (end === -1) {
    unclosed.add(mark);
    return null;
  }
  const inner = readFrom(text.slice(at + mark.length, end), depth + 1);
  return { inline: { kind: kinds[mark as keyof typeof kinds], inner }, next: end + mark.length };
};

/** Longer link texts and addresses are text. */
const linkPattern =
  /^!?\[((?:[^[\]\\]|\\.|\[[^[\]]{0,200}\]){0,1000})\]\(\s*(?!\s)<?([^\s<>()]{0,2000}(?:\([^\s<>()]{0,500}\)[^\s<>()]{0,500})?)>?(?:\s+"[^"]{0,500}")?\s*\)/;

const readLink: Reader = (text, at, depth) => {
  const found = linkPattern.exec(text.slice(at, at + 5_000));
  if (found === null || depth >= deepest) return null;
  const [all, label = "", href = ""] = found;
  const inner = readFrom(label === "" ? href : label, depth + 1);
  return { inline: { kind: "link", href, inner }, next: at + all.length };
};

const readAngle: Reader = (text, at) => {
  const href = /^<(https?:\/\/[^\s<>]{1,2000})>/.exec(text.slice(at, at + 2_100))?.[1];
  if (href === undefined) return null;
  return {
    inline: { kind: "link", href, inner: [{ kind: "text", text: href }] },
    next: at + href.length + 2,
  };
};

const readAddress: Reader = (text, at) => {
  if (isWord(text[at - 1])) return null;
  const found = /^https?:\/\/[^\s<>"`]{1,2000}/
    .exec(text.slice(at, at + 2_100))?.[0]
    .replace(/(?<![.,;:!?'")*_~])[.,;:!?'")*_~]+$/, "");
  if (found === undefined || found.length < 10) return null;
  return {
    inline: { kind: "link", href: found, inner: [{ kind: "text", text: found }] },
    next: at + found.length,
  };
};

const readEntity: Reader = (text, at) => {
  const name = /^&([a-z]{2,4}|#39);/.exec(text.slice(at, at + 8))?.[1] ?? "";
  const character = Object.hasOwn(entities, name) ? entities[name] : undefined;
  return character === undefined
    ? null
    : { inline: { kind: "text", text: character }, next: at + name.length + 2 };
};

const readBreak: Reader = (text, at) =>
  text.slice(at, at + 3) === "  \n" ? { inline: { kind: "break" }, next: at + 3 } : null;

const readers: Readonly<Record<string, Reader>> = {
  "\\": readEscape,
  "`": readCode,
  "*": readEmphasis,
  _: readEmphasis,
  "~": readEmphasis,
  "[": readLink,
  "!": readLink,
  "<": readAngle,
  h: readAddress,
  "&": readEntity,
  " ": readBreak,
};

const special = /[\\`*_~[!<&h ]/g;

const readFrom = (text: string, depth: number): readonly Inline[] => {
  const inlines: Inline[] = [];
  const unclosed = new Set<string>();
  let from = 0;
  const close = (to: number): void => {
    if (to > from) inlines.push({ kind: "text", text: text.slice(from, to) });
  };
  special.lastIndex = 0;
  for (let at = nextSpecial(text, 0); at !== -1;) {
    const taken = readers[text[at] ?? ""]?.(text, at, depth, unclosed) ?? null;
    if (taken !== null) {
      close(at);
      inlines.push(taken.inline);
      from = taken.next;
    }
    at = nextSpecial(text, taken?.next ?? at + 1);
  }
  close(text.length);
  return inlines;
};

const nextSpecial = (text: string, from: number): number => {
  special.lastIndex = from;
  return special.exec(text)?.index ?? -1;
};

/** Reads a text; with `breaks` every line break of it is one. */
export const readInlines = (text: string, breaks = false): readonly Inline[] =>
  readFrom(breaks ? text.replaceAll("\n", "  \n") : text, 0);
