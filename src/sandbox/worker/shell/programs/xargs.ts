import type { CommandContext, CustomCommand, Result } from "../custom-command.ts";
import { meter } from "../../meter.ts";
import { quoteWord } from "../quote-word.ts";
import {
  bytes,
  Failure,
  type Options,
  pipedInto,
  program,
  readInput,
  readOptions,
  runScript,
  textFrom,
} from "./program.ts";

const names = {
  flags: "0rtxo",
  valued: "IndPLsaE",
  long: "null:0 no-run-if-empty:r verbose:t max-args:n delimiter:d max-procs:P max-lines:L max-chars:s arg-file:a",
  isLeading: true,
};

/** Characters that all calls together may print. */
const mostOutput = 10 * 1024 * 1024;

const words = /(?:[^\s"'\\]|\\[^]|"[^"\n]*"|'[^'\n]*')+/g;

const unquote = (word: string): string =>
  word.replace(
    /\\([^])|"([^"]*)"|'([^']*)'/g,
    (_, plain?: string, double?: string, single?: string) => plain ?? double ?? single ?? "",
  );

const unescape = (text: string): string =>
  text.replace(/\\(.)/g, (_, letter: string) => ({ n: "\n", t: "\t", "0": "\0" })[letter] ?? letter);

/** Returns the items of each line; with a delimiter, each item stands alone. */
function readItems(text: string, { has, value }: Options): string[][] {
  const delimiter = has("0") ? "\0" : has("d") ? unescape(value("d") ?? "") : null;
  if (delimiter !== null) {
    const items = text.split(delimiter);
    if (items.at(-1) === "") items.pop();
    return items.map((item) => [item]);
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (has("I")) return lines.map((line) => [unquote(line.trim())]);
  return lines.map((line) => {
    if (/\S/.test(line.replace(words, "")))
      throw new Failure("unmatched quote; quotes are special to xargs unless you use -0 or -d");
    return (line.match(words) ?? []).map(unquote);
  });
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

/** Returns the status with which `xargs` ends after a call that ended with another one. */
const statusOf = (exitCode: number): number => {
  if (exitCode === 126 || exitCode === 127) return exitCode;
  return exitCode === 255 ? 124 : exitCode === 0 ? 0 : 123;
};

async function runAll(
  calls: readonly (() => readonly string[])[],
  isVerbose: boolean,
  context: CommandContext,
): Promise<Result> {
  let stdout = "";
  let stderr = "";
  let exitCode = 0;
  for (const wordsOf of calls) {
    const call = wordsOf();
    if (isVerbose) stderr += `${call.join(" ")}\n`;
    const result = await runScript(meter.make(call.map(quoteWord).join(" ")), context);
    stdout += result.stdout;
    stderr += result.stderr;
    if (stdout.length + stderr.length > mostOutput)
      throw new Failure("the calls print more than 10 million characters", 126);
    const status = statusOf(result.exitCode);
    if (status !== 0) exitCode = status;
    if (status === 124 || status >= 126) break;
  }
  return bytes(stdout, stderr, exitCode);
}

/** Runs a command with arguments from its input. */
export const xargs: CustomCommand = program("xargs", async (args, context) => {
  const options = readOptions(args, names);
  const file = options.value("a");
  const text = textFrom(file === undefined ? pipedInto(context) : await readInput(file, context));
  const lines = readItems(meter.spread(text), options);
  const base = options.operands.length === 0 ? ["echo"] : options.operands;
  const mark = options.value("I");
  const calls =
    mark === undefined
      ? group(lines, options).map((items) => () => [...base, ...items])
      : lines.flat().map((item) => () => base.map((word) => word.replaceAll(mark, () => item)));
  return runAll(calls, options.has("t"), context);
});
