import type { Context, CustomCommand, Result } from "../custom-command.ts";
import { quoteWord } from "../quote-word.ts";
import { Failure, pipedInto, program, readInput, type Options, readOptions, textFrom } from "./program.ts";

const names = {
  flags: "0rtpxo",
  valued: "IndPLsaE",
  long: {
    null: "0",
    "no-run-if-empty": "r",
    verbose: "t",
    replace: "I",
    "max-args": "n",
    delimiter: "d",
    "max-procs": "P",
    "max-lines": "L",
    "max-chars": "s",
    "arg-file": "a",
  },
};

/** Options whose value is the next word, so that the command begins behind it. */
const takesNext = /^-[0rtpxo]*[IndPLsaE]$/;

/** Returns where the command begins. */
function commandAt(args: readonly string[]): number {
  let at = 0;
  while (at < args.length && /^-./.test(args[at] ?? "")) {
    if (args[at] === "--") return at + 1;
    at += takesNext.test(args[at] ?? "") ? 2 : 1;
  }
  return at;
}

const words = /(?:[^\s"'\\]|\\[^]|"[^"\n]*"|'[^'\n]*')+/g;

const unquote = (word: string): string =>
  word.replace(
    /\\([^])|"([^"]*)"|'([^']*)'/g,
    (_, plain?: string, double?: string, single?: string) => plain ?? double ?? single ?? "",
  );

const unescape = (text: string): string =>
  text.replace(/\\(.)/g, (_, letter: string) => ({ n: "\n", t: "\t", "0": "\0" })[letter] ?? letter);

/** Returns the items of an input, line by line if it is asked for lines. */
function readItems(text: string, { has, value }: Options): string[][] {
  const delimiter = has("0") ? "\0" : has("d") ? unescape(value("d") ?? "") : null;
  if (delimiter !== null) {
    const items = text.split(delimiter);
    if (items.at(-1) === "") items.pop();
    return items.map((item) => [item]);
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (has("I")) return lines.map((line) => [unquote(line.trim())]);
  return lines.map((line) => (line.match(words) ?? []).map(unquote));
}

/** Returns the arguments of each call. */
function group(lines: readonly string[][], { has, value }: Options): string[][] {
  const size = Number(has("L") ? value("L") : has("n") ? value("n") : 5000);
  if (!(size > 0)) throw new Failure(`value ${value("n") ?? ""} for -n option should be >= 1`);
  const units = has("L") ? lines : lines.flat().map((item) => [item]);
  const groups: string[][] = [];
  for (let at = 0; at < units.length; at += size) groups.push(units.slice(at, at + size).flat());
  return groups.length === 0 && !has("r") ? [[]] : groups;
}

/** Status of a call that failed, as `xargs` ends with it. */
const statusOf = (exitCode: number): number => {
  if (exitCode === 126 || exitCode === 127) return exitCode;
  return exitCode === 255 ? 124 : exitCode === 0 ? 0 : 123;
};

async function runAll(
  calls: readonly (readonly string[])[],
  isTold: boolean,
  context: Context,
): Promise<Result> {
  let stdout = "";
  let stderr = "";
  let exitCode = 0;
  for (const call of calls) {
    const script = call.map(quoteWord).join(" ");
    if (isTold) stderr += `${call.join(" ")}\n`;
    const result = await context.exec?.(script, { cwd: context.cwd, env: { ...context.exportedEnv } });
    if (result === undefined) continue;
    const isBytes = result.stdoutKind === "bytes" || result.stdoutEncoding === "binary";
    stdout += isBytes ? textFrom(result.stdout) : result.stdout;
    stderr += result.stderr;
    const status = statusOf(result.exitCode);
    if (status !== 0) exitCode = status;
    if (status === 124 || status >= 126) break;
  }
  return { stdout, stderr, exitCode, stdoutKind: "text" };
}

/** Runs a command with arguments from its input. */
export const xargs: CustomCommand = program("xargs", async (args, context) => {
  const start = commandAt(args);
  const options = readOptions(args.slice(0, start), names);
  const command = args.slice(start);
  const file = options.value("a");
  const text = textFrom(file === undefined ? pipedInto(context) : await readInput(file, context));
  const lines = readItems(text, options);
  const base = command.length === 0 ? ["echo"] : command;
  const mark = options.has("I") ? options.value("I") || "{}" : null;
  const calls =
    mark === null
      ? group(lines, options).map((items) => [...base, ...items])
      : lines.flat().map((item) => base.map((word) => word.replaceAll(mark, item)));
  return runAll(calls, options.has("t"), context);
});
