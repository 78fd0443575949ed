import { meter } from "../../meter.ts";
import type { CommandContext, CustomCommand, Result } from "../custom-command.ts";
import { bytesOf as encode, contentFrom as decode } from "../files.ts";

/** Code that the programs of this folder share: for their options, their input and their failures. */

export interface OptionNames {
  /** Short options without a value. */
  readonly flags?: string;
  /** Short options whose value follows, in the same word or the next one. */
  readonly valued?: string;
  /** Long options, each with the short one that it stands for, or with none if it is left out: `lines:n color:`. */
  readonly long?: string;
  /** Long options that stay as they are. */
  readonly kept?: readonly string[];
  /** Whether the first operand ends the options, since a command follows. */
  readonly isLeading?: boolean;
}

export interface Options {
  readonly has: (letter: string) => boolean;
  /** Returns the last value of an option. */
  readonly value: (letter: string) => string | undefined;
  readonly values: (letter: string) => readonly string[];
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

/** An option with its value: null if it takes none, undefined if the value is the next word. */
type Found = readonly [letter: string, value: string | null | undefined];

/** Splits `-abc` into `-a -b -c`, and the value of an option from it. */
function splitShort(word: string, { flags = "", valued = "" }: OptionNames): readonly Found[] {
  const found: Found[] = [];
  for (let at = 1; at < word.length; at += 1) {
    const letter = word.charAt(at);
    if (valued.includes(letter)) return [...found, [letter, word.slice(at + 1) || undefined]];
    if (!flags.includes(letter)) throw new Failure(`invalid option -- '${letter}'`, 2);
    found.push([letter, null]);
  }
  return found;
}

function splitLong(word: string, { long = "", valued = "" }: OptionNames): readonly Found[] {
  const [, name = "", value] = /^--([^=]*)(?:=([^]*))?$/.exec(word) ?? [];
  const letter = long
    .split(" ")
    .find((each) => each.startsWith(`${name}:`))
    ?.slice(name.length + 1);
  if (letter === undefined || name === "") throw new Failure(`unrecognized option '${word}'`, 2);
  return letter === "" ? [] : [[letter, valued.includes(letter) ? value : null]];
}

const isKept = (word: string, { kept }: OptionNames): boolean =>
  kept?.includes(/^--([^=]*)/.exec(word)?.[1] ?? "") === true;

/** Reads options wherever they stand before `--`; throws a failure at one that the program does not know. */
export function readOptions(args: readonly string[], names: OptionNames): Options {
  const found: (readonly [letter: string, value: string | null])[] = [];
  const operands: string[] = [];
  const words: string[] = [];
  let at = 0;
  const note = ([letter, inside]: Found): void => {
    const value = inside === undefined ? args[(at += 1)] : inside;
    if (value === undefined) throw new Failure(`option requires an argument -- '${letter}'`, 2);
    found.push([letter, value]);
    words.push(`-${letter}`, ...(value === null ? [] : [value]));
  };
  for (; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (word === "--" || (names.isLeading === true && !/^-./.test(word))) break;
    if (!/^-./.test(word)) operands.push(word);
    else if (isKept(word, names)) words.push(word);
    else (word.startsWith("--") ? splitLong(word, names) : splitShort(word, names)).forEach(note);
  }
  operands.push(...args.slice(args[at] === "--" ? at + 1 : at));
  const values = (letter: string): string[] =>
    found.flatMap(([each, value]) => (each === letter ? [value ?? ""] : []));
  return {
    has: (letter) => found.some(([each]) => each === letter),
    value: (letter) => values(letter).at(-1),
    values,
    operands,
    words,
  };
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

/** Returns a handler of errors that throws a failure: what could not be done, and why. */
export const failWith =
  (what: string) =>
  (error: unknown): never => {
    meter.passOn(error);
    throw new Failure(`${what}: ${reasonOf(error)}`);
  };

/** Runs something for each operand; prints what it returns and the failures. */
export async function forEach(
  name: string,
  operands: readonly string[],
  run: (path: string) => Promise<string | undefined>,
  code = 1,
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
  return { stdout, stderr, exitCode: stderr === "" ? 0 : code };
}

/** Makes a program, whose failures it prints after its name. */
export const program = (
  name: string,
  run: (args: readonly string[], context: CommandContext) => Promise<Result>,
): CustomCommand => ({
  name,
  execute: async (args, context) => {
    try {
      if (meter.due) await meter.giveWay();
      return await run(args, context);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return { stdout: "", stderr: `${name}: ${error.message}\n`, exitCode: error.code };
    }
  },
});

/** Runs the shell's own command of the name. */
export const original = (context: CommandContext, args: readonly string[]): Promise<Result> =>
  context.origCommand?.([...args]) ?? Promise.reject(new Failure("not found", 127));

/** Returns the text that bytes stand for, one character per byte. */
export const textFrom = (latin1: string): string =>
  /[\x80-\xff]/.test(meter.make(latin1)) ? decode(encode(latin1, "latin1"), "utf8") : latin1;

/** Returns the bytes of a text, one per character. */
export const bytesOf = (text: string): string =>
  /[^\0-\x7f]/.test(meter.make(text)) ? decode(encode(text, "utf8"), "latin1") : text;

/** Returns what a command printed, one character per byte. */
export const printedBy = ({ stdout, stdoutKind, stdoutEncoding }: Result): string =>
  stdoutKind === "bytes" || stdoutEncoding === "binary" ? stdout : bytesOf(stdout);

/** Prints what is made of an input. */
export const edit = (latin1: string, change: (text: string) => string): Result =>
  succeed(change(textFrom(latin1)));

/** Runs a script in a shell of its own, which prints bytes. */
export async function runScript(
  script: string,
  context: CommandContext,
  more: Partial<Parameters<NonNullable<CommandContext["exec"]>>[1]> = {},
): Promise<Result> {
  const env = { ...context.exportedEnv };
  const result = await context.exec?.(script, { cwd: context.cwd, env, ...more });
  if (result === undefined) throw new Failure("not found", 127);
  return bytes(printedBy(result), result.stderr, result.exitCode);
}

/** Returns what is piped in, one character per byte. */
export function pipedInto({ stdin }: CommandContext): string {
  const text: unknown = stdin;
  return typeof text === "string" ? meter.make(text) : "";
}

/** Returns the bytes of an input, one per character: of a file, or (for `-`) of what is piped in. */
export async function readInput(path: string, context: CommandContext, what = path): Promise<string> {
  if (path === "-") return pipedInto(context);
  const { fs, cwd } = context;
  const place = fs.resolvePath(cwd, path);
  const found = await fs.stat(place).catch(failWith(what));
  if (found.isDirectory) throw new Failure(`${what}: Is a directory`);
  return meter.make(await fs.readFile(place, "latin1"));
}

/** Returns the bytes of all inputs, one after another. */
export async function readInputs(paths: readonly string[], context: CommandContext): Promise<string> {
  const texts: string[] = [];
  for (const path of paths.length === 0 ? ["-"] : paths) texts.push(await readInput(path, context));
  return texts.join("");
}

export const linesOf = (text: string): string[] =>
  meter.walk<string[]>(meter.make(text).match(/[^\n]*\n|[^\n]+$/g) ?? []);

/** Returns a program of another language; throws a failure if it is too long to be mended. */
export function admit(script: string): string {
  if (script.length > 64 * 1024) throw new Failure("a script of more than 64 KiB is not supported here", 2);
  return script;
}
