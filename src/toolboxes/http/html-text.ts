import { Parser } from "htmlparser2";

/** Converts a web page to text for a model, and lists its links. */

interface Link {
  readonly text: string;
  readonly url: string;
}

interface ReadablePage {
  readonly text: string;
  /** First links to other pages, with absolute addresses. */
  readonly links: readonly Link[];
  /** Whether the page nests too deeply to be read to its end. */
  readonly cut: boolean;
}

/** Elements whose content is not text; of a head only the title counts. */
const hiddenElements = new Set(["script", "style", "svg", "noscript", "template", "iframe", "title"]);

/** Elements with an empty line before and after them. */
const blocks = new Set(
  "article aside blockquote dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table ul".split(
    " ",
  ),
);

/** Elements on lines of their own. */
const lines = new Set(
  "address body br caption dd details div dt figcaption legend li option summary tr".split(" "),
);

const marks: Readonly<Record<string, string>> = {
  li: "- ",
  h1: "# ",
  h2: "## ",
  h3: "### ",
  h4: "#### ",
  h5: "##### ",
  h6: "###### ",
};

/** Separators between two pieces of text, from the narrowest to the widest. */
const gaps = ["", " ", " | ", "\n", "\n\n"] as const;
const [none, space, cell, line, block] = [0, 1, 2, 3, 4] as const;
type Gap = 0 | 1 | 2 | 3 | 4;

const gapAround = (name: string): Gap => {
  if (blocks.has(name)) return block;
  if (lines.has(name)) return line;
  return name === "td" || name === "th" ? cell : none;
};

/** Creates a collector of text: of the separators between two pieces the widest counts. */
const createWriter = () => {
  let text = "";
  let gap: Gap = none;
  let mark = "";
  const widen = (more: Gap): void => {
    if (more > gap) gap = more;
  };
  const append = (piece: string): void => {
    if (piece === "") return;
    text += (text === "" ? "" : gaps[gap]) + mark + piece;
    gap = none;
    mark = "";
  };
  return {
    text: () => text,
    widen,
    /** Begins the next piece with a mark. */
    mark: (next: string) => void (mark = next),
    /** Appends text as it is written. */
    append,
    /** Appends text whose white space only separates words. */
    appendWords: (piece: string): void => {
      const words = piece.replace(/\s+/g, " ");
      if (words.startsWith(" ")) widen(space);
      append(words.trim());
      if (words.endsWith(" ")) widen(space);
    },
  };
};

const mostLinks = 100;
const longestLabel = 200;

/** Creates a collector of links, each address once. */
const createLinks = (page: string) => {
  let base = page;
  let open: { readonly address: string; text: string } | null = null;
  const found = new Map<string, string>();
  /** Addresses as written, which pages repeat: resolving one takes longer than all other work on it. */
  const seen = new Set<string>();
  const resolve = (address: string): URL | null => {
    const url = URL.parse(address.trim(), base);
    return url !== null && /^https?:$/.test(url.protocol) ? url : null;
  };
  const add = (address: string, text: string): void => {
    seen.add(address);
    const url = resolve(address);
    if (url === null) return;
    url.hash = "";
    if (url.href !== page && !found.has(url.href)) found.set(url.href, text);
  };
  return {
    setBase: (address: string | undefined) =>
      void (base = (address === undefined ? null : resolve(address))?.href ?? base),
    open: (address: string | undefined): void => {
      const isNew = address !== undefined && found.size < mostLinks && !seen.has(address);
      open = isNew ? { address, text: "" } : null;
    },
    addText: (piece: string): void => {
      if (open !== null && open.text.length < longestLabel) open.text += piece.slice(0, longestLabel);
    },
    close: (): void => {
      const text = open?.text.replace(/\s+/g, " ").trim().slice(0, longestLabel) ?? "";
      if (open !== null && text !== "") add(open.address, text);
      open = null;
    },
    all: (): readonly Link[] => [...found].map(([url, text]) => ({ text, url })),
  };
};

/** Deepest nesting of elements, since the parser searches all open elements at each tag. */
const deepest = 500;
const pieceLength = 16_384;

/** Returns the readable text of an HTML page at this address. */
export const readHtml = (html: string, address: string): ReadablePage => {
  const writer = createWriter();
  const links = createLinks(address);
  let depth = 0;
  let hidden = 0;
  let preformatted = 0;
  let pending = "";
  /** Writes the text since the last tag: texts arrive in pieces as small as a character. */
  const flush = (): void => {
    const text = hidden === 0 ? pending : "";
    links.addText(text);
    if (preformatted > 0) writer.append(text);
    else writer.appendWords(text);
    pending = "";
  };
  const parser = new Parser({
    onopentag: (name, { href }) => {
      flush();
      depth += 1;
      if (hiddenElements.has(name)) hidden += 1;
      if (name === "pre") preformatted += 1;
      if (name === "base") links.setBase(href);
      if (hidden > 0) return;
      if (name === "a") links.open(href);
      writer.widen(gapAround(name));
      const mark = marks[name];
      if (mark !== undefined) writer.mark(mark);
    },
    ontext: (piece) => {
      pending += piece;
    },
    onclosetag: (name) => {
      flush();
      depth -= 1;
      if (hiddenElements.has(name)) hidden -= 1;
      if (name === "pre") preformatted -= 1;
      if (hidden > 0) return;
      if (name === "a") links.close();
      writer.widen(gapAround(name));
      if (marks[name] !== undefined) writer.mark("");
    },
  });
  const isTooDeep = (): boolean => depth >= deepest;
  let at = 0;
  for (; at < html.length && !isTooDeep(); at += pieceLength) parser.write(html.slice(at, at + pieceLength));
  parser.end();
  flush();
  return { text: writer.text().trim(), links: links.all(), cut: at < html.length };
};
