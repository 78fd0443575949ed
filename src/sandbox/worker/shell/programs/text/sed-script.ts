import { Failure } from "../program.ts";
import { plainBoundaries } from "./boundaries.ts";

/** Patterns and replacements of sed, which changes case with `\U`, `\L`, `\u`, `\l` and `\E`. */

/** Characters for private use, which stand for the changes until sed has put the text together. */
const marks = { U: "\uf6f0", L: "\uf6f1", u: "\uf6f2", l: "\uf6f3", E: "\uf6f4" } as const;

const isChange = (letter: string): letter is keyof typeof marks => Object.hasOwn(marks, letter);

/** Returns where a part of `s/…/…/` ends, from its first character on. */
function endOfPart(script: string, start: number, delimiter: string, isPattern: boolean): number {
  let inBrackets = false;
  for (let at = start; at < script.length; at += 1) {
    const character = script.charAt(at);
    if (character === "\\" && !(inBrackets && script[at + 1] === "]")) at += 1;
    else if (character === delimiter && !inBrackets) return at;
    else if (isPattern && character === "[" && !inBrackets) inBrackets = script.indexOf("]", at + 2) > 0;
    else if (character === "]") inBrackets = false;
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

/** Where the pattern of a replacement begins in a script, and where its new text begins and ends. */
interface Replacement {
  readonly first: number;
  readonly start: number;
  readonly end: number;
}

/** Where a command begins: at the start, after another one or `{`, after its addresses. */
const place = (() => {
  const address = String.raw`(?:\d+(?:~\d+)?|\$|\+\d+|\/(?:[^/\\\n]|\\[^])*\/I?)`;
  const both = String.raw`${address}(?:[ \t]*,[ \t]*${address})?[ \t]*(?:![ \t]*)?`;
  return String.raw`(?:^|[\n;{}])[ \t]*(?:${both})?`;
})();

/** Returns the replacements of a script: of each `s/…/…/` the second part. */
function replacementsIn(script: string): readonly Replacement[] {
  const found: Replacement[] = [];
  const command = new RegExp(String.raw`${place}s([^\w\s\\;{}])`, "g");
  for (let match = command.exec(script); match !== null; match = command.exec(script)) {
    const delimiter = match[1] ?? "/";
    const first = command.lastIndex;
    const start = endOfPart(script, first, delimiter, true) + 1;
    const end = endOfPart(script, start, delimiter, false);
    found.push({ first, start, end });
    command.lastIndex = end + 1;
  }
  return found;
}

const textCommand = new RegExp(String.raw`(${place}[aic])\\(?=[^\n])`, "g");

/** Writes `a\text` as the two lines that the shell's sed knows. */
const breakText = (commands: string): string =>
  commands.replace(textCommand, (_, before: string) => `${before}\\\n`);

const findRefusal = (pattern: string, rest: string): string | null => {
  if (/^[gpiImMe\d]*w/.test(rest))
    return "the flag w of s is not supported here; use sed -n 's/a/b/p' and > file";
  return /(?:^|[^\\])(?:\\\\)*\\[1-9]/.test(pattern)
    ? "\\1 in a pattern is not supported here; write out what repeats"
    : null;
};

/** Writes the commands of a script so that the shell's sed takes them as GNU's does. */
export function mendCommands(script: string): string {
  let done = "";
  let from = 0;
  for (const { first, start, end } of replacementsIn(script)) {
    const pattern = script.slice(first, start);
    const refusal = findRefusal(pattern, script.slice(end + 1, end + 20));
    if (refusal !== null) throw new Failure(refusal);
    done += plainBoundaries(breakText(script.slice(from, first))) + plainBoundaries(pattern);
    done += mark(script.slice(start, end)) + script.slice(end, end + 1);
    from = end + 1;
  }
  return done + plainBoundaries(breakText(script.slice(from)));
}

const inCase = (character: string, kind: string): string => {
  if (kind === marks.U || kind === marks.u) return character.toUpperCase();
  return kind === marks.E ? character : character.toLowerCase();
};

/** Changes the case of a text by its marks, and removes them. */
export function changeCase(text: string): string {
  if (!/[\uf6f0-\uf6f4]/.test(text)) return text;
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
