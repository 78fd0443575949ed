import { decode } from "./line/answers.ts";
/**
 * Formats names of files as git prints them: in double quotes, with escapes, if a line cannot show their
 * characters.
 */

const escapes: Readonly<Record<string, string>> = {
  "\x07": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  '"': '"',
  "\\": "\\",
};
const characters = Object.fromEntries(
  Object.entries(escapes).map(([character, letter]) => [letter, character]),
);

const octal = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");

const escapeCharacter = (character: string): string => {
  const letter = escapes[character];
  return letter === undefined ? octal(new TextEncoder().encode(character)) : `\\${letter}`;
};

// oxlint-disable-next-line no-control-regex -- These are the characters that git escapes.
const special = /[\x00-\x1f\x7f"\\]/g;

/** Quotes a name as git does if a line cannot show it. */
export function quoteName(name: string): string {
  const escaped = name.replace(special, escapeCharacter);
  return escaped === name ? name : `"${escaped}"`;
}

function unquoteName(text: string): string {
  if (!/^".*"$/s.test(text)) return text;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const [unit, digits, letter] of text.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/gs)) {
    if (digits !== undefined) bytes.push(Number.parseInt(digits, 8));
    else bytes.push(...encoder.encode(letter === undefined ? unit : (characters[letter] ?? letter)));
  }
  return decode(Uint8Array.from(bytes));
}

const oneOrTwoNames = /^("(?:[^"\\]|\\.)*"|.+?)(?: -> ("(?:[^"\\]|\\.)*"|.+))?$/s;

/** Reads the names of an entry of a status: of a file, or the old and the new one of a renamed file (`a -> b`). */
export const readNames = (text: string): string[] =>
  (oneOrTwoNames.exec(text)?.slice(1) ?? []).flatMap((name: string | undefined) =>
    name === undefined ? [] : [unquoteName(name)],
  );

/** Returns the path of a file or folder (`a/`) relative to a folder; both paths have the same root. */
export function relativeName(folder: string, path: string): string {
  const steps = folder === "" ? [] : folder.split("/");
  const parts = path.split("/");
  let shared = 0;
  while (shared < steps.length && shared < parts.length - 1 && steps[shared] === parts[shared]) shared += 1;
  const name = "../".repeat(steps.length - shared) + parts.slice(shared).join("/");
  return name === "" ? "./" : name;
}
