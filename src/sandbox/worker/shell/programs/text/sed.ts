import type { Context, CustomCommand, Result } from "../../custom-command.ts";
import { changeCase, markCase } from "./case-marks.ts";
import { Failure, original, program, readInput, readOptions, succeed, textFrom } from "../program.ts";

/** Has `sed` keep a copy with `-i.bak`, take `a\text` on one line, and change case with `\U`, `\L`, `\u`, `\l`, `\E`. */

const names = {
  flags: "nErszu",
  valued: "efl",
  long: {
    quiet: "n",
    silent: "n",
    "regexp-extended": "E",
    expression: "e",
    file: "f",
    "null-data": "z",
    separate: "s",
    unbuffered: "u",
    posix: "",
    sandbox: "",
    debug: "",
    "follow-symlinks": "",
  },
};

/** What is added to the name of a copy, which is none if it is empty; null if files are not changed. */
const suffixOf = (word: string): string | null => {
  const [, short, long] = /^(?:-[nErsuz]*i([^]*)|--in-place(?:=([^]*))?)$/.exec(word) ?? [];
  return short ?? long ?? (word === "--in-place" ? "" : null);
};

/** Writes `a\text` as the two lines that the shell's sed knows. */
const breakText = (script: string): string =>
  script.replace(/((?:^|[\n;{}]|[\d$/!,])[ \t]*[aic])\\(?=[^\n])/g, (_, before: string) => `${before}\\\n`);

const mendScript = (script: string): string => markCase(breakText(script));

/** The words of a call without those that ask for files to be changed; the flags before `i` in one word stay. */
function withoutInPlace(args: readonly string[]): {
  readonly words: string[];
  readonly suffix: string | null;
} {
  const end = args.indexOf("--");
  let suffix: string | null = null;
  const words = args.flatMap((word, at) => {
    const found = end >= 0 && at > end ? null : suffixOf(word);
    if (found === null || args[at - 1] === "-e") return [word];
    suffix = found;
    const flags = /^-([nErsuz]+)i/.exec(word)?.[1];
    return flags === undefined ? [] : [`-${flags}`];
  });
  return { words, suffix };
}

const readScripts = async (words: readonly string[], context: Context): Promise<string[]> => {
  const scripts: string[] = [];
  for (const [at, word] of words.entries()) {
    const value = words[at + 1] ?? "";
    if (word === "-e") scripts.push(mendScript(value));
    if (word === "-f") scripts.push(mendScript(textFrom(await readInput(value, context)).replace(/\n$/, "")));
  }
  return scripts;
};

/** Writes a file's name so that it is not taken for an option. */
const asOperand = (path: string): string => (/^-./.test(path) ? `./${path}` : path);

const shown = (result: Result): Result =>
  result.stdoutKind === "bytes"
    ? { ...succeed(changeCase(textFrom(result.stdout))), stderr: result.stderr, exitCode: result.exitCode }
    : { ...result, stdout: changeCase(result.stdout) };

const changeFile = async (
  path: string,
  suffix: string,
  call: readonly string[],
  context: Context,
): Promise<Result> => {
  const place = context.fs.resolvePath(context.cwd, path);
  const before = await readInput(path, context);
  const result = await original(context, [...call, asOperand(path)]);
  if (result.exitCode !== 0 && result.stderr !== "") return result;
  const { stdout, stdoutKind } = result;
  const copy = suffix.includes("*")
    ? suffix.replaceAll("*", path.replace(/.*\//, ""))
    : `${path.replace(/.*\//, "")}${suffix}`;
  if (suffix !== "")
    await context.fs.writeFile(context.fs.resolvePath(place, `../${copy}`), before, "latin1");
  const after = stdoutKind === "bytes" ? textFrom(stdout) : stdout;
  await context.fs.writeFile(place, changeCase(after));
  return { ...result, stdout: "" };
};

export const sed: CustomCommand = program("sed", async (args, context) => {
  if (args.includes("--version") || args.includes("--help")) return original(context, args);
  const { words, suffix } = withoutInPlace(args);
  const options = readOptions(words, names);
  const given = await readScripts(options.words, context);
  const [first, ...rest] = options.operands;
  if (given.length === 0 && first === undefined) throw new Failure("no script specified", 1);
  const scripts = given.length > 0 ? given : [mendScript(first ?? "")];
  const files = given.length > 0 ? options.operands : rest;
  const flags = options.words.filter((word) => /^-[nErsz]$/.test(word));
  const call = [...flags, ...scripts.flatMap((script) => ["-e", script])];
  if (suffix === null) {
    const result = await original(context, [...call, ...files.map(asOperand)]);
    return scripts.some((script) => /[\uf6f0-\uf6f4]/.test(script)) ? shown(result) : result;
  }
  let stderr = "";
  let exitCode = 0;
  for (const path of files) {
    const result = await changeFile(path, suffix, call, context).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      return { stdout: "", stderr: `sed: can't read ${error.message}\n`, exitCode: 2 };
    });
    stderr += result.stderr;
    exitCode = Math.max(exitCode, result.exitCode);
  }
  return { stdout: "", stderr, exitCode };
});
