import { Failure } from "../program.ts";
import { bracketSource, escapeInBrackets, hasBackReference, plainBoundaries } from "./patterns.ts";

/** Patterns and replacements of sed, which changes case with `\U`, `\L`, `\u`, `\l` and `\E`. */

/** Characters for private use, which stand for the changes until sed has put the text together. */
const marks = { U: "\uf6f0", L: "\uf6f1", u: "\uf6f2", l: "\uf6f3", E: "\uf6f4" } as const;

/** Stands for a backslash in the text of `a`, `i` and `c`, where sed would take it and what follows for one character. */
const backslash = "\uf6f5";

const isChange = (letter: string): letter is keyof typeof marks => Object.hasOwn(marks, letter);

/** Returns where a part of `s/…/…/` or `y/…/…/` ends, from its first character on. */
function endOfPart(script: string, start: number, delimiter: string, isPattern: boolean): number {
  const brackets = new RegExp(bracketSource, "y");
  for (let at = start; at < script.length; at += 1) {
    const character = script.charAt(at);
    brackets.lastIndex = at;
    if (character === "\\") at += 1;
    else if (character === delimiter) return at;
    else if (isPattern && brackets.test(script)) at = brackets.lastIndex - 1;
  }
  return script.length;
}

/** Marks changes of case, and doubles `\\`, of which the shell's sed leaves one that escapes what follows. */
const mark = (replacement: string): string => {
  const marked = replacement.replace(/\\([^])/g, (found, letter: string) => {
    if (letter === "\\") return found + found;
    return isChange(letter) ? marks[letter] : found;
  });
  return /[\uf6f0-\uf6f4]/.test(marked) ? `${marked}${marks.E}` : marked;
};

/** Where a command begins: at the start, after another one or `{`, after its addresses. */
const place = (() => {
  const address = String.raw`(?:\d+(?:~\d+)?|\$|\+\d+|\/(?:[^/\\\n]|\\[^])*\/I?)`;
  const both = String.raw`${address}(?:[ \t]*,[ \t]*${address})?[ \t]*(?:![ \t]*)?`;
  return String.raw`(?:^|[\n;{}])[ \t]*(?:${both})?`;
})();

/** Matches up to what belongs to a command: the parts of `s` and `y`, the text of `a`, `i` and `c`, a comment. */
const commands = new RegExp(String.raw`${place}(?:([sy])([^A-Za-z0-9\s\\;{}])|[aic]|(#))`, "g");

/** What belongs to a command, mended, and where it ends. */
interface Argument {
  readonly text: string;
  readonly end: number;
}

const refuseReplacement = (pattern: string, rest: string): void => {
  if (/^[gpiImMe\d]*w/.test(rest))
    throw new Failure("the flag w of s is not supported here; use sed -n 's/a/b/p' and > file");
  if (hasBackReference(pattern))
    throw new Failure("\\1 in a pattern is not supported here; write out what repeats");
};

function mendParts(script: string, start: number, kind: string, delimiter: string): Argument {
  const middle = endOfPart(script, start, delimiter, kind === "s") + 1;
  const end = endOfPart(script, middle, delimiter, false);
  if (kind === "y") return { text: script.slice(start, end + 1), end: end + 1 };
  const pattern = escapeInBrackets(script.slice(start, middle), delimiter);
  refuseReplacement(pattern, script.slice(end + 1, end + 20));
  const text = plainBoundaries(pattern) + mark(script.slice(middle, end)) + script.slice(end, end + 1);
  return { text, end: end + 1 };
}

const escapes: Readonly<Record<string, string>> = {
  t: "\t",
  n: "\\\n",
  "\n": "\\\n",
  "\\": backslash,
};

/** Writes `a\text` as the two lines that the shell's sed knows, and the text without its backslashes. */
function mendText(script: string, start: number): Argument {
  const [text = ""] = /^(?:\\[^]|[^\\\n])*/.exec(script.slice(start)) ?? [];
  const [begin = ""] = /^[ \t]*\\\n?/.exec(text) ?? [];
  const body = text.slice(begin.length).replace(/\\([^])/g, (_, letter: string) => escapes[letter] ?? letter);
  return { text: (begin === "" ? "" : "\\\n") + body, end: start + text.length };
}

const mendComment = (script: string, start: number): Argument => {
  const [text = ""] = /^.*/.exec(script.slice(start)) ?? [];
  return { text, end: start + text.length };
};

/** Writes the commands of a script so that the shell's sed takes them as GNU's does. */
export function mendCommands(script: string): string {
  let done = "";
  let from = 0;
  commands.lastIndex = 0;
  for (let match = commands.exec(script); match !== null; match = commands.exec(script)) {
    const [, kind, delimiter = "/", comment] = match;
    const start = commands.lastIndex;
    const plain = comment === undefined ? mendText : mendComment;
    const { text, end } =
      kind === undefined ? plain(script, start) : mendParts(script, start, kind, delimiter);
    done += plainBoundaries(script.slice(from, start)) + text;
    from = end;
    commands.lastIndex = end;
  }
  return done + plainBoundaries(script.slice(from));
}

const inCase = (character: string, kind: string): string => {
  if (kind === marks.U || kind === marks.u) return character.toUpperCase();
  return kind === marks.E ? character : character.toLowerCase();
};

/** Returns whether a script has marks, which are in its output, too. */
export const isMarked = (script: string): boolean => /[\uf6f0-\uf6f5]/.test(script);

/** Changes the case of a text by its marks, and removes them. */
export function changeCase(marked: string): string {
  const text = marked.replaceAll(backslash, "\\");
  if (!isMarked(text)) return text;
  let whole: string = marks.E;
  let next = "";
  let changed = "";
  for (const character of text) {
    if (character === marks.u || character === marks.l) next = character;
    else if (/[\uf6f0-\uf6f4]/.test(character)) {
      whole = character;
      if (character === marks.E) next = "";
    } else {
      changed += inCase(character, next === "" ? whole : next);
      next = "";
    }
  }
  return changed;
}
