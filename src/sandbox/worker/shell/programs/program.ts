import type { Context, CustomCommand, Result } from "../custom-command.ts";

/** What the programs of this folder share: their options, their input, and how they fail. */

export interface OptionNames {
  /** Short options without a value. */
  readonly flags: string;
  /** Short options whose value follows, in the same word or the next one. */
  readonly valued?: string;
  /** Long options by the short one that they stand for; an empty one is left out. */
  readonly long?: Readonly<Record<string, string>>;
  /** Long options that stay as they are. */
  readonly kept?: readonly string[];
}

export interface Options {
  readonly has: (letter: string) => boolean;
  /** The last value of an option. */
  readonly value: (letter: string) => string | undefined;
  readonly operands: readonly string[];
  /** The options one by one, without the operands. */
  readonly words: readonly string[];
}

/** A failure that a program prints after its name. */
export class Failure extends Error {
  readonly code: number;

  constructor(message: string, code = 1) {
    super(message);
    this.code = code;
  }
}

/** Splits `-abc` into `-a -b -c`, and the value of an option from it. */
function splitShort(
  word: string,
  names: OptionNames,
): readonly (readonly [letter: string, value: string | null])[] {
  const found: [string, string | null][] = [];
  for (let at = 1; at < word.length; at += 1) {
    const letter = word.charAt(at);
    if (names.valued?.includes(letter)) return [...found, [letter, word.slice(at + 1)]];
    if (!names.flags.includes(letter)) throw new Failure(`invalid option -- '${letter}'`, 2);
    found.push([letter, null]);
  }
  return found;
}

function splitLong(
  word: string,
  names: OptionNames,
): readonly (readonly [letter: string, value: string | null])[] {
  const [name = "", ...values] = word.split("=");
  const letter = names.long?.[name.slice(2)];
  if (letter === undefined) throw new Failure(`unrecognized option '${word}'`, 2);
  const isValued = letter !== "" && names.valued?.includes(letter) === true;
  return letter === "" ? [] : [[letter, isValued ? values.join("=") : null]];
}

/** Returns long options by the short ones that they stand for, of a text such as `lines:n color:`. */
export const longNames = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(" ").map((each): [string, string] => [each.replace(/:.*/, ""), each.replace(/.*:/, "")]),
  );

const isKept = (word: string, { kept }: OptionNames): boolean =>
  kept?.includes(/^--([^=]*)/.exec(word)?.[1] ?? "") === true;

/** Reads options wherever they stand before `--`; throws a failure at one that the program does not know. */
export function readOptions(args: readonly string[], names: OptionNames): Options {
  const values = new Map<string, string>();
  const operands: string[] = [];
  const words: string[] = [];
  const read = (word: string, next: string): boolean => {
    let takesNext = false;
    for (const [letter, inside] of word.startsWith("--") ? splitLong(word, names) : splitShort(word, names)) {
      takesNext = inside === "";
      const value = takesNext ? next : inside;
      values.set(letter, value ?? "");
      words.push(`-${letter}`, ...(value === null ? [] : [value]));
    }
    return takesNext;
  };
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (word === "--") {
      operands.push(...args.slice(at + 1));
      break;
    }
    if (!/^-./.test(word)) operands.push(word);
    else if (isKept(word, names)) words.push(word);
    else if (read(word, args[at + 1] ?? "")) at += 1;
  }
  return { has: (letter) => values.has(letter), value: (letter) => values.get(letter), operands, words };
}

export const succeed = (stdout = ""): Result => ({ stdout, stderr: "", exitCode: 0, stdoutKind: "text" });

/** Returns output of bytes, one per character. */
export const bytes = (stdout: string, stderr = "", exitCode = 0): Result => ({
  stdout,
  stderr,
  exitCode,
  stdoutKind: "bytes",
});

/** Returns what an error of the file system means: `No such file or directory`. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (message.startsWith("ENOENT")) return "No such file or directory";
  if (message.startsWith("EACCES") || message.startsWith("EPERM")) return "Permission denied";
  if (message.startsWith("EISDIR")) return "Is a directory";
  if (message.startsWith("ENOTEMPTY") || message.includes("ENOTEMPTY")) return "Directory not empty";
  if (message.startsWith("ENOTDIR")) return "Not a directory";
  return message.replace(/, \w+ '[^]*$/, "");
}

/** Runs something for each operand, prints what it returns, and says which failed. */
export async function forEach(
  name: string,
  operands: readonly string[],
  run: (path: string) => Promise<string | undefined>,
): Promise<Result> {
  let stdout = "";
  let stderr = "";
  for (const path of operands) {
    try {
      stdout += (await run(path)) ?? "";
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      stderr += `${name}: ${error.message}\n`;
    }
  }
  return { stdout, stderr, exitCode: stderr === "" ? 0 : 1 };
}

/** Makes a program, whose failures it prints after its name. */
export const program = (
  name: string,
  run: (args: readonly string[], context: Context) => Promise<Result>,
): CustomCommand => ({
  name,
  execute: async (args, context) => {
    try {
      return await run(args, context);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return { stdout: "", stderr: `${name}: ${error.message}\n`, exitCode: error.code };
    }
  },
});

/** Runs the shell's own command of the name. */
export const original = (context: Context, args: readonly string[]): Promise<Result> =>
  context.origCommand?.([...args]) ?? Promise.reject(new Failure("not found", 127));

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const bytesFrom = (latin1: string): Uint8Array =>
  Uint8Array.from(latin1, (character) => character.charCodeAt(0));

/** Returns the text that bytes stand for; bytes that are no text stay one character each. */
export function textFrom(latin1: string): string {
  try {
    return decoder.decode(bytesFrom(latin1));
  } catch {
    return latin1;
  }
}

/** Returns what is piped in, one character per byte. */
export function pipedInto({ stdin }: Context): string {
  const text: unknown = stdin;
  return typeof text === "string" ? text : "";
}

/** Returns the bytes of an input, one per character: of a file, or (for `-`) of what is piped in. */
export async function readInput(path: string, context: Context): Promise<string> {
  if (path === "-") return pipedInto(context);
  const { fs, cwd } = context;
  const place = fs.resolvePath(cwd, path);
  const found = await fs.stat(place).catch((error: unknown) => {
    throw new Failure(`${path}: ${reasonOf(error)}`);
  });
  if (found.isDirectory) throw new Failure(`${path}: Is a directory`);
  return fs.readFile(place, "latin1");
}

export const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
