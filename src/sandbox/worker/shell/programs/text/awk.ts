import type { Context, CustomCommand, Result } from "../../custom-command.ts";
import { Failure, original, program, readInput, readOptions, textFrom } from "../program.ts";

/** Has `awk` read programs of files, count lists, and print into commands, which get what is printed at the end. */

interface Mended {
  readonly text: string;
  /** Commands that are printed into, each with the file that collects it. */
  readonly commands: ReadonlyMap<string, string>;
}

const stringPattern = /"(?:[^"\\\n]|\\[^])*"/g;

/** Has `length(list)` count, where the name is one of a list. */
function countLists(code: string): string {
  const names = new Set(
    Array.from(code.matchAll(/\b([A-Za-z_]\w*)\[|\bin\s+([A-Za-z_]\w*)/g), (found) => found[1] ?? found[2]),
  );
  for (const [, name] of code.matchAll(/\bsplit\s*\([^,()]*,\s*([A-Za-z_]\w*)/g)) names.add(name);
  const counted = new Set<string>();
  const mended = code.replace(/\blength\s*\(\s*([A-Za-z_]\w*)\s*\)/g, (call, name: string) => {
    if (!names.has(name)) return call;
    counted.add(name);
    return `__size_${name}()`;
  });
  const functions = [...counted].map(
    (name) => `\nfunction __size_${name}(key, n) { for (key in ${name}) n++; return n + 0 }\n`,
  );
  return mended.replace(/\blength\b(?!\s*\()/g, "length($0)") + functions.join("");
}

/** Writes settings of variables as the beginning of a program, where they hold for `OFS`, too. */
const setVariables = (settings: readonly string[]): string =>
  settings
    .map((setting) => {
      const [, name = "", value = ""] = /^(\w+)=([^]*)$/.exec(setting) ?? [];
      const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(value) && !/^[+-]?0\d/.test(value);
      const text = value.replaceAll('"', '\\"').replaceAll("\n", "\\n");
      return name === "" ? "" : `BEGIN { ${name} = ${isNumber ? value : `"${text}"`} }\n`;
    })
    .join("");

/** A program whose strings stand aside, so that nothing in them is taken for code. */
interface Masked {
  readonly code: string;
  readonly strings: string[];
}

const maskStrings = (source: string): Masked => {
  const strings: string[] = [];
  const code = source.replace(stringPattern, (found) => `\uf6e0${strings.push(found) - 1}\uf6e0`);
  return { code, strings };
};

const stringAt = ({ strings }: Masked, mark: string): string =>
  (strings[Number(mark)] ?? "")
    .slice(1, -1)
    .replace(/\\(["\\/])/g, "$1")
    .replaceAll("\\t", "\t");

/** Has what is printed into commands, and to the errors, be collected in files; puts names of files into brackets. */
function collectPrints(masked: Masked, fileOf: (command: string) => string): string {
  return masked.code
    .replace(
      /(\bprintf?\b[^;{}\n|]*)\|(?!\|)\s*\uf6e0(\d+)\uf6e0(?=\s*(?:[;}\n]|$))/g,
      (_, print: string, mark: string) => `${print}>> ${fileOf(stringAt(masked, mark))}`,
    )
    .replace(
      /(\bprintf?\b[^;{}\n|<>]*)(>>?)\s*([^;{}\n>]*[^;{}\n>\s])/g,
      (all, print: string, sign: string, target: string) => {
        const mark = /^\uf6e0(\d+)\uf6e0$/.exec(target)?.[1];
        const isPlain = target.startsWith("(") || !/[\s\uf6e0]/.test(target);
        if (mark === undefined) return isPlain ? all : `${print}${sign} (${target})`;
        const path = stringAt(masked, mark);
        if (path === "/dev/stdout") return print;
        return path === "/dev/stderr" ? `${print}>> ${fileOf("cat >&2")}` : all;
      },
    );
}

const special = /^[|.*+?()[\]{}^$\\]$/;

/** Returns a separator of one character as the pattern that means it. */
const separator = (text: string): string =>
  special.test(text) && text !== " " ? (text === "^" || text === "\\" ? `\\${text}` : `[${text}]`) : text;

/** Has separators of one character mean themselves: of `FS`, and of `split`. */
function quoteSeparators(masked: Masked): void {
  for (const [, own, split] of masked.code.matchAll(
    /\bFS\s*=\s*\uf6e0(\d+)\uf6e0|\bsplit\s*\([^()]*,\s*\uf6e0(\d+)\uf6e0\s*\)/g,
  )) {
    const at = Number(own ?? split);
    const text = stringAt(masked, String(at));
    if (special.test(text)) masked.strings[at] = `"${separator(text).replaceAll("\\", "\\\\")}"`;
  }
}

/** Throws if records end otherwise than lines. */
function checkRecords(masked: Masked): void {
  for (const [, mark] of masked.code.matchAll(/\bRS\s*=(?!=)\s*(?:\uf6e0(\d+)\uf6e0)?/g))
    if (mark === undefined || stringAt(masked, mark) !== "\\n")
      throw new Failure("RS is not supported here; put one record on each line with tr or sed before", 2);
}

/** Has an element that is only named be there from then on. */
const keepNamed = (code: string): string =>
  code.replace(/(^|[{;\n]\s*)(\w+\[[^\][]*\])(?=\s*[;}\n])/g, '$1$2 = $2 ""');

function mendProgram(source: string): Mended {
  const masked = maskStrings(source);
  const commands = new Map<string, string>();
  checkRecords(masked);
  quoteSeparators(masked);
  const code = collectPrints(masked, (command) => {
    const known = commands.get(command) ?? `/tmp/.awk-${commands.size}`;
    commands.set(command, known);
    return `"${known}"`;
  });
  const made = countLists(keepNamed(code));
  return {
    text: made.replace(/\uf6e0(\d+)\uf6e0/g, (_, mark: string) => masked.strings[Number(mark)] ?? ""),
    commands,
  };
}

async function runCommands(commands: Mended["commands"], result: Result, context: Context): Promise<Result> {
  let { stdout, stderr } = result;
  for (const [command, path] of commands) {
    const stdin = await context.fs.readFile(path, "latin1").catch(() => null);
    if (stdin === null) continue;
    await context.fs.rm(path);
    const env = { ...context.exportedEnv };
    const found = await context.exec?.(command, { cwd: context.cwd, stdin, stdinKind: "bytes", env });
    const isBytes = found?.stdoutKind === "bytes" || found?.stdoutEncoding === "binary";
    stdout += isBytes ? textFrom(found.stdout) : (found?.stdout ?? "");
    stderr += found?.stderr ?? "";
  }
  return { ...result, stdout, stderr };
}

interface AwkCall {
  readonly options: readonly string[];
  readonly source: string;
  readonly files: readonly string[];
}

const isSetting = (word: string): boolean => /^[A-Za-z_]\w*=/.test(word);

/** Returns where the program begins, or (with `-f`) its operands. */
function operandsAt(args: readonly string[]): number {
  let at = 0;
  while (/^-./.test(args[at] ?? "") && args[at] !== "--") at += /^-[fFv]$/.test(args[at] ?? "") ? 2 : 1;
  return at;
}

/** Takes the options before the program; `-f` and `-v` by their values. */
function takeOptions(args: readonly string[]): {
  readonly options: readonly string[];
  readonly paths: readonly string[];
  readonly settings: readonly string[];
  readonly rest: readonly string[];
} {
  const at = operandsAt(args);
  const { words } = readOptions(args.slice(0, at), { flags: "", valued: "fFv" });
  const valuesOf = (letter: string): string[] =>
    words.filter((_, index) => index % 2 === 1 && words[index - 1] === `-${letter}`);
  const options = valuesOf("F").flatMap((value) => ["-F", separator(value)]);
  const rest = args.slice(args[at] === "--" ? at + 1 : at);
  return { options, paths: valuesOf("f"), settings: valuesOf("v"), rest };
}

async function readCall(args: readonly string[], context: Context): Promise<AwkCall> {
  const { options, paths, settings, rest } = takeOptions(args);
  const texts: string[] = [];
  for (const path of paths)
    texts.push(textFrom(await readInput(path === "/dev/stdin" ? "-" : path, context)));
  const operands = paths.length > 0 ? rest : rest.slice(1);
  const source = paths.length > 0 ? texts.join("\n") : rest[0];
  if (source === undefined) throw new Failure("usage: awk [-F fs] [-v var=value] 'program' [file ...]", 2);
  const found = operands.findIndex((word) => !isSetting(word));
  const start = found < 0 ? operands.length : found;
  const all = setVariables([...settings, ...operands.slice(0, start)]);
  return { options, source: all + source, files: operands.slice(start) };
}

const createAwk = (name: string): CustomCommand =>
  program(name, async (args, context) => {
    if (args[0]?.startsWith("--") === true) return original(context, args);
    const { options, source, files } = await readCall(args, context);
    const { text, commands } = mendProgram(source);
    const result = await original(context, [...options, text, ...files]);
    return commands.size === 0 ? result : runCommands(commands, result, context);
  });

export const awk: CustomCommand = createAwk("awk");
