import type { ExecResult } from "#git";
import { flagsOf } from "./known-flags.ts";
import type { Flags } from "./known-flags.ts";
import { refuseMissing } from "./missing.ts";

/** Reads the options of a command, and writes each as a word of its own. */

/** An option with its value if that is a word of its own; or another argument. */
type Words = readonly [string, ...string[]];

/** Parts short options that are written as one, like `-qb x`, `-am text` and `-mtext`. */
function partLetters(word: string, next: string | undefined, flags: Flags): readonly Words[] {
  const parts: Words[] = [];
  const letters = word.slice(1);
  for (let at = 0; at < letters.length; at += 1) {
    const letter = letters.charAt(at);
    const rest = letters.slice(at + 1);
    if (flags.glued.includes(letter)) return [...parts, [`-${letter}${rest}`]];
    if (flags.valued.includes(letter)) {
      const value = rest === "" ? next : rest;
      return [...parts, value === undefined ? [`-${letter}`] : [`-${letter}`, value]];
    }
    parts.push([`-${letter}`]);
  }
  return parts;
}

/** Returns whether short options end with one whose value is the next argument. */
const takesNext = (word: string, { glued, valued }: Flags): boolean => {
  const first = word
    .slice(1)
    .split("")
    .findIndex((letter) => (glued + valued).includes(letter));
  return first === word.length - 2 && valued.includes(word.charAt(first + 1));
};

/** Parts arguments into options and others, up to `--`. */
function part(args: readonly string[], flags: Flags): readonly Words[] {
  const words: Words[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    const next = args[at + 1];
    if (word === "--") return [...words, ...args.slice(at).map((each): Words => [each])];
    if (/^-[a-zA-Z]/.test(word)) {
      words.push(...partLetters(word, next, flags));
      if (takesNext(word, flags)) at += 1;
    } else if (flags.longValued.has(word) && next !== undefined) {
      words.push([`${word}=${next}`]);
      at += 1;
    } else words.push([word]);
  }
  return words;
}

/** A command without the option to be quiet and without those that change nothing here. */
export interface ReadFlags {
  readonly args: readonly string[];
  readonly isQuiet: boolean;
  /** The refusal of an option that the command lacks. */
  readonly refusal: ExecResult | null;
}

const nameOf = (word: string): string => word.replace(/=[^]*$/, "");

/** Reads the options of a command. */
export function readFlags([name = "", ...given]: readonly string[]): ReadFlags {
  const flags = flagsOf(name);
  if (flags === null) {
    const args = name === "" ? [] : [name, ...given];
    return { args, isQuiet: false, refusal: refuseMissing(name, partAtEnd(given)[0]) };
  }
  const parted = part(given, flags);
  const end = parted.findIndex(([word]) => word === "--");
  const own = end < 0 ? parted : parted.slice(0, end);
  const isQuiet = ({ length }: Words, word: string): boolean =>
    length === 1 && flags.isQuietable && (word === "-q" || word === "--quiet");
  const args = own.flatMap((words) => {
    const [word, ...value] = words;
    if (isQuiet(words, word) || flags.idle.has(nameOf(word))) return [];
    return [flags.same.get(word) ?? word, ...value];
  });
  const paths = end < 0 ? [] : parted.slice(end).flat();
  const isShow = name === "stash" && given[0] === "show";
  return {
    args: [name, ...args, ...paths],
    isQuiet: own.some((words) => isQuiet(words, words[0])),
    refusal: isShow
      ? null
      : refuseMissing(
          name,
          own.map(([word]) => nameOf(word)),
        ),
  };
}

/** Options taken out of arguments: each that was there, with its last value ("" if it has none). */
export interface Taken {
  readonly options: ReadonlyMap<string, string>;
  readonly args: readonly string[];
}

/** How a name of an option is written where options are taken: with a value after it (`=`, `*`), or as the next word (` `). */
const endOfName = /[=* ]$/;

/**
 * Takes options out of arguments that were read, up to `--`. The value of an option whose name is written with `=` or `*`
 * at its end is the rest of the word; with a space, the next word.
 */
export function takeOptions(args: readonly string[], names: readonly string[]): Taken {
  const options = new Map<string, string>();
  const [own, paths] = partAtEnd(args);
  const kept: string[] = [];
  for (let at = 0; at < own.length; at += 1) {
    const word = own[at] ?? "";
    const name = names.find(
      (each) =>
        word === each.replace(endOfName, "") ||
        (/[=*]$/.test(each) && word.startsWith(each.replace("*", ""))),
    );
    const start = name?.replace(endOfName, "");
    if (start === undefined) kept.push(word);
    else if (name?.endsWith(" ") === true) {
      at += 1;
      options.set(start, own[at] ?? "");
    } else options.set(start, word.slice(start.length).replace(/^=/, ""));
  }
  return { options, args: args.includes("--") ? [...kept, "--", ...paths] : kept };
}

/** Returns the arguments of a command that are no options. */
export const plainIn = (args: readonly string[]): readonly string[] =>
  args.slice(1).filter((arg) => !arg.startsWith("-"));

/** Parts arguments at `--`: those before it, and the paths after it. */
export function partAtEnd(args: readonly string[]): readonly [readonly string[], readonly string[]] {
  const end = args.indexOf("--");
  return end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
}
