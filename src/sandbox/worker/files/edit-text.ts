import { fail } from "../errors.ts";

/** Number of places that are looked for. */
const mostPlaces = 100;

/** Returns the line numbers (from 1) at which `needle` begins in `text`; overlapping matches count separately. */
function places(text: string, needle: string): number[] {
  const found: number[] = [];
  let line = 1;
  let counted = 0;
  for (
    let at = text.indexOf(needle);
    at >= 0 && found.length < mostPlaces;
    at = text.indexOf(needle, at + 1)
  ) {
    for (; counted < at; counted++) if (text[counted] === "\n") line++;
    found.push(line);
  }
  return found;
}

/** Returns the similarity of two lines: the share of `wanted`'s characters in common prefix and suffix. */
function likeness(line: string, wanted: string): number {
  let head = 0;
  while (head < line.length && head < wanted.length && line[head] === wanted[head]) head++;
  let tail = 0;
  const room = Math.min(line.length, wanted.length) - head;
  while (tail < room && line[line.length - 1 - tail] === wanted[wanted.length - 1 - tail]) tail++;
  return (head + tail) / Math.max(line.length, wanted.length, 1);
}

/** Quotes the file near the expected text: five lines around the closest line, or the first twenty. */
export function surroundings(text: string, oldText: string): string {
  const lines = text.split(/\r?\n/);
  const wanted =
    oldText
      .split(/\r?\n/)
      .map((line) => line.trim())
      .find((line) => line !== "") ?? "";
  let best = { at: -1, score: 0.5 };
  lines.forEach((line, at) => {
    const score = likeness(line.trim(), wanted);
    if (score > best.score) best = { at, score };
  });
  const start = best.at < 0 ? 0 : Math.max(best.at - 5, 0);
  const shown = best.at < 0 ? lines.slice(0, 20) : lines.slice(start, best.at + 6);
  const numbered = shown.map((line, index) => `${start + index + 1}: ${line.slice(0, 200)}`);
  const title = best.at < 0 ? "The file begins" : `The closest line is ${best.at + 1}`;
  return `${title}:\n${numbered.join("\n")}`;
}

/** Returns whether every line of a text ends with CRLF. */
const isCrlf = (text: string): boolean => text.includes("\r\n") && !/[^\r]\n/.test(text);

const withLineEnds = (text: string, crlf: boolean): string =>
  crlf ? text.replaceAll(/\r?\n/g, "\r\n") : text;

const withPlainEnds = (text: string): string => text.replaceAll("\r\n", "\n");

/** Returns variants of a text that occur in the file, which may differ in line ends: the only one, or two of them. */
function looseMatches(text: string, wanted: string): ReadonlySet<string> {
  const [plain, sought] = [withPlainEnds(text), withPlainEnds(wanted)];
  const found = new Set<string>();
  let [passed, read] = [0, 0];
  /** Returns the place in the text of one in the plain text, from the last one on. */
  const placeOf = (at: number): number => {
    for (; passed < at; passed++) read += text.startsWith("\r\n", read) ? 2 : 1;
    return read;
  };
  for (let at = plain.indexOf(sought); at >= 0 && found.size < 2; at = plain.indexOf(sought, passed)) {
    const start = placeOf(at);
    found.add(text.slice(start, placeOf(at + sought.length)));
  }
  return found;
}

/** Returns the text with the file's line ends; null if it does not occur. */
function asItStands(text: string, oldText: string): string | null {
  const wanted = withLineEnds(oldText, isCrlf(text));
  if (text.includes(wanted)) return wanted;
  const [only = null, ...more] = looseMatches(text, oldText);
  return more.length === 0 ? only : null;
}

/** Replaces the only occurrence of `oldText`; keeps the file's line ends. */
export function editText(path: string, text: string, oldText: string, newText: string): string {
  if (oldText === newText)
    fail("invalid_request", "old_text and new_text are the same: nothing would change");
  const wanted = asItStands(text, oldText);
  if (wanted === null)
    return fail("no_match", `old_text does not occur in ${path}. ${surroundings(text, oldText)}`);
  const found = places(text, wanted);
  if (found.length > 1) {
    const listed = found.slice(0, 20).join(", ");
    return fail(
      "not_unique",
      `old_text occurs ${found.length < mostPlaces ? "" : "at least "}${found.length} times in ${path}, at lines ${listed}; add lines around it`,
    );
  }
  const at = text.indexOf(wanted);
  const isReturned = wanted === oldText ? isCrlf(text) : wanted.includes("\r\n");
  const isBare = wanted !== oldText && wanted.includes("\n") && !isReturned;
  const next = isBare ? newText.replaceAll("\r\n", "\n") : withLineEnds(newText, isReturned);
  return text.slice(0, at) + next + text.slice(at + wanted.length);
}

/** Decodes a file's content as text; refuses bytes that are not UTF-8, so that no edit can damage them. */
export function textOf(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return fail("invalid_request", `${path} is not UTF-8 text; it can only be written whole`);
  }
}
