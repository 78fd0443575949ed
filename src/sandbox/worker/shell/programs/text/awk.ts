import type { CommandContext, CustomCommand, Result } from "../../custom-command.ts";
import {
  admit,
  bytes,
  Failure,
  original,
  printedBy,
  program,
  readInput,
  readOptions,
  runScript,
  textFrom,
} from "../program.ts";

/** `awk`, which reads programs from files, counts lists, and prints into commands, which run at the end. */

interface Mended {
  readonly text: string;
  /** Commands into which the program prints, each with the file that collects its input. */
  readonly commands: ReadonlyMap<string, string>;
}

const stringPattern = /"(?:[^"\\\n]|\\[^])*"/g;

/** Replaces `length(list)` by a call that counts the list. */
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

/** Writes settings of variables as the beginning of a program, which `OFS` needs. */
const setVariables = (settings: readonly string[]): string =>
  settings
    .map((setting) => {
      const [, name = "", value = ""] = /^(\w+)=([^]*)$/.exec(setting) ?? [];
      const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(value) && !/^[+-]?0\d/.test(value);
      const text = value.replace(/\\[^]?|["\n]/g, (found) => {
        if (found === "\n") return "\\n";
        return found === '"' || !/^\\[\\ntrbfav"/]$/.test(found) ? `\\${found}` : found;
      });
      return name === "" ? "" : `BEGIN { ${name} = ${isNumber ? value : `"${text}"`} }\n`;
    })
    .join("");

/** A program without its strings, so that nothing in them is taken for code. */
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

/** Collects output for commands and for the error stream in files; puts names of files into brackets. */
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

/** Throws if records do not end like lines. */
function checkRecords(masked: Masked): void {
  for (const [, mark] of masked.code.matchAll(/\bRS\s*=(?!=)\s*(?:\uf6e0(\d+)\uf6e0)?/g))
    if (mark === undefined || stringAt(masked, mark) !== "\\n")
      throw new Failure("RS is not supported here; put one record on each line with tr or sed before", 2);
}

/** Makes a statement that only names an element create it. */
const keepNamed = (code: string): string =>
  code.replace(/(^|[{;\n]\s*)(\w+\[[^\][]*\])(?=\s*[;}\n])/g, '$1$2 = $2 ""');

function mendProgram(source: string): Mended {
  const masked = maskStrings(source);
  const commands = new Map<string, string>();
  checkRecords(masked);
  const code = collectPrints(masked, (command) => {
    const known = commands.get(command) ?? `/tmp/.awk-${crypto.randomUUID()}`;
    commands.set(command, known);
    return `"${known}"`;
  });
  const made = countLists(keepNamed(code));
  return {
    text: made.replace(/\uf6e0(\d+)\uf6e0/g, (_, mark: string) => masked.strings[Number(mark)] ?? ""),
    commands,
  };
}

async function runCommands(
  commands: Mended["commands"],
  result: Result,
  context: CommandContext,
): Promise<Result> {
  const { fs } = context;
  let stdout = printedBy(result);
  let { stderr } = result;
  for (const [command, path] of commands) {
    const stdin = await fs.readFile(path, "latin1").catch(() => null);
    if (stdin === null) continue;
    await fs.rm(path);
    const found = await runScript(command, context, { stdin, stdinKind: "bytes" });
    stdout += found.stdout;
    stderr += found.stderr;
  }
  return bytes(stdout, stderr, result.exitCode);
}

interface AwkCall {
  readonly source: string;
  readonly files: readonly string[];
}

const isSetting = (word: string): boolean => /^[A-Za-z_]\w*=/.test(word);

async function readCall(args: readonly string[], context: CommandContext): Promise<AwkCall> {
  const { values, operands } = readOptions(args, { valued: "fFv", isLeading: true });
  const texts: string[] = [];
  for (const path of values("f"))
    texts.push(textFrom(await readInput(path === "/dev/stdin" ? "-" : path, context)));
  if (texts.length === 0) texts.push(...operands.slice(0, 1));
  if (texts.length === 0) throw new Failure("usage: awk [-F fs] [-v var=value] 'program' [file ...]", 2);
  const files = values("f").length > 0 ? operands : operands.slice(1);
  const found = files.findIndex((word) => !isSetting(word));
  const start = found < 0 ? files.length : found;
  const separators = values("F").map((value) => `FS=${value}`);
  const settings = setVariables([...separators, ...values("v"), ...files.slice(0, start)]);
  return { source: settings + texts.join("\n"), files: files.slice(start) };
}

export const awk: CustomCommand = program("awk", async (args, context) => {
  if (/^--./.test(args[0] ?? "")) return original(context, args);
  const { source, files } = await readCall(args, context);
  const { text, commands } = mendProgram(admit(source));
  const result = await original(context, [text, ...files]);
  return commands.size === 0 ? result : runCommands(commands, result, context);
});
