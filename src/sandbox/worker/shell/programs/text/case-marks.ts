/** Changes of case in the replacements of sed: `\U`, `\L`, `\u`, `\l`, `\E`. */

/** Characters for private use, which stand for the changes until sed has put the text together. */
const marks = { U: "\uf6f0", L: "\uf6f1", u: "\uf6f2", l: "\uf6f3", E: "\uf6f4" } as const;

const isChange = (letter: string): letter is keyof typeof marks => Object.hasOwn(marks, letter);

/** Returns where a part of `s/…/…/` ends, from its first character on. */
function endOfPart(script: string, start: number, delimiter: string, isPattern: boolean): number {
  let inBrackets = false;
  for (let at = start; at < script.length; at += 1) {
    const character = script.charAt(at);
    if (character === "\\") at += 1;
    else if (character === delimiter && !inBrackets) return at;
    else if (isPattern && character === "[" && !inBrackets) inBrackets = script.indexOf("]", at + 2) > 0;
    else if (character === "]") inBrackets = false;
  }
  return script.length;
}

const mark = (replacement: string): string => {
  const marked = replacement.replace(/\\([^])/g, (found, letter: string) =>
    isChange(letter) ? marks[letter] : found,
  );
  return marked === replacement ? replacement : `${marked}${marks.E}`;
};

/** Where a replacement begins and ends in a script. */
interface Replacement {
  readonly start: number;
  readonly end: number;
}

/** Returns the replacements of a script: of each `s/…/…/` the second part. */
function replacementsIn(script: string): readonly Replacement[] {
  const found: Replacement[] = [];
  const command = /(?:^|[;{}\n]|[\d$/!,])\s*s([^\w\s\\;{}])/g;
  for (let match = command.exec(script); match !== null; match = command.exec(script)) {
    const delimiter = match[1] ?? "/";
    const start = endOfPart(script, command.lastIndex, delimiter, true) + 1;
    const end = endOfPart(script, start, delimiter, false);
    found.push({ start, end });
    command.lastIndex = end + 1;
  }
  return found;
}

/** Returns whether a script writes what it replaces into a file: `s/…/…/w file`. */
export const writesReplaced = (script: string): boolean =>
  replacementsIn(script).some(({ end }) => /^[gpiImMe\d]*w/.test(script.slice(end + 1)));

/** Puts marks into the replacements of a script. */
export function markCase(script: string): string {
  if (!/\\[ULul]/.test(script)) return script;
  let done = "";
  let from = 0;
  for (const { start, end } of replacementsIn(script)) {
    done += script.slice(from, start) + mark(script.slice(start, end));
    from = end;
  }
  return done + script.slice(from);
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
