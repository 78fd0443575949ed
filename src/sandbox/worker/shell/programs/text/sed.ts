import type { CommandContext, CustomCommand } from "../../custom-command.ts";
import {
  admit,
  Failure,
  failWith,
  forEach,
  original,
  printedBy,
  program,
  readInput,
  readOptions,
  succeed,
  textFrom,
} from "../program.ts";
import { changeCase, isMarked, mendCommands } from "./sed-script.ts";

/** `sed`, which keeps a copy with `-i.bak`, takes `a\text` on one line, and changes case with `\U` and the like. */

const names = {
  flags: "nErszu",
  valued: "efl",
  long: "quiet:n silent:n regexp-extended:E expression:e file:f null-data:z separate:s unbuffered:u posix: sandbox: follow-symlinks:",
};

/** Returns the suffix that `-i` gives to a copy, empty if no copy is kept; null if the word is another one. */
const suffixOf = (word: string): string | null => {
  const [, short, long] = /^(?:-[nErsuz]*i([^]*)|--in-place(?:=([^]*))?)$/.exec(word) ?? [];
  return short ?? long ?? (word === "--in-place" ? "" : null);
};

const mendScript = (script: string): string => mendCommands(admit(script));

/** Takes `-i` out of the words of a call; the flags before `i` in one word stay. */
function withoutInPlace(args: readonly string[]): {
  readonly words: readonly string[];
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

const readScripts = async (words: readonly string[], context: CommandContext): Promise<string[]> => {
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

/** Changes a file, after its copy is made; a script that fails changes nothing. */
async function changeFile(
  path: string,
  suffix: string,
  call: readonly string[],
  context: CommandContext,
): Promise<undefined> {
  const { fs, cwd } = context;
  const place = fs.resolvePath(cwd, path);
  const before = await readInput(path, context, `can't read ${path}`);
  const result = await original(context, [...call, asOperand(path)]);
  if (result.exitCode !== 0 || result.stderr !== "")
    throw new Failure(result.stderr.replace(/^sed: |\n$/g, "") || `${path}: the script failed`);
  const name = path.replace(/.*\//, "");
  const copy = suffix.includes("*") ? suffix.replaceAll("*", name) : `${name}${suffix}`;
  const failing = failWith(`couldn't write ${path}`);
  if (suffix !== "") await fs.writeFile(fs.resolvePath(place, `../${copy}`), before, "latin1").catch(failing);
  await fs.writeFile(place, changeCase(textFrom(printedBy(result)))).catch(failing);
}

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
  if (suffix !== null) return forEach("sed", files, (path) => changeFile(path, suffix, call, context), 2);
  const result = await original(context, [...call, ...files.map(asOperand)]);
  if (!scripts.some(isMarked)) return result;
  const { stderr, exitCode } = result;
  return { ...succeed(changeCase(textFrom(printedBy(result)))), stderr, exitCode };
});
