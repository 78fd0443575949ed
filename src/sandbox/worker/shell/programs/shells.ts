import { sayAbsent } from "../absent-programs.ts";
import type { CommandContext, CustomCommand, Result } from "../custom-command.ts";
import { quoteWord } from "../quote-word.ts";
import { original, pipedInto, program, readInput, runScript, succeed, textFrom } from "./program.ts";

/** `bash` and `sh`, with options before their script, which may be piped in. */

/** The flag with which the shell itself runs a file that is called by its path. */
const asProgram = "--as-program";

interface ShellArguments {
  /** Commands that set the options of the shell. */
  readonly settings: string;
  readonly hasScript: boolean;
  readonly readsInput: boolean;
  readonly rest: readonly string[];
}

/** Returns the commands that set the options of one word; `name` is the next word. */
function settingsOf(word: string, name: string): string {
  const [sign, letters] = [word.charAt(0), word.slice(1)];
  const plain = letters.replace(/[csliOo]/g, "");
  const own = plain === "" ? "" : `set ${sign}${plain}; `;
  const named = letters.includes("o") ? `set ${sign}o ${quoteWord(name)}; ` : "";
  return `${own}${named}${letters.includes("O") ? `shopt -s ${quoteWord(name)}; ` : ""}`;
}

/** Reads the options of a shell before its script: `-euo pipefail -c`. */
export function readShellArguments(args: readonly string[]): ShellArguments {
  let settings = "";
  let letters = "";
  let at = 0;
  for (; /^[-+]./.test(args[at] ?? "") && args[at] !== "--"; at += 1) {
    const word = args[at] ?? "";
    if (word.startsWith("--")) continue;
    letters += word;
    settings += settingsOf(word, args[at + 1] ?? "");
    if (/[oO]/.test(word)) at += 1;
  }
  const rest = args.slice(args[at] === "--" ? at + 1 : at);
  return { settings, hasScript: letters.includes("c"), readsInput: letters.includes("s"), rest };
}

/** Runs a file with the interpreter of its first line: a shell, another program, or by default a shell. */
async function runFile(path: string, rest: readonly string[], context: CommandContext): Promise<Result> {
  const [first = ""] = textFrom(await readInput(path, context)).split("\n", 1);
  const [, line = ""] = /^#!\s*(?:\S*\/env\s+(?:-S\s+)?)?(.*)/.exec(first) ?? [];
  const [interpreter = "", ...flags] = line.trim().split(/\s+/);
  const name = interpreter.slice(interpreter.lastIndexOf("/") + 1);
  if (/^(|sh|bash|dash|ksh|zsh|ash)$/.test(name)) return runShell([...flags, path, ...rest], context);
  const absent = sayAbsent(name);
  if (absent !== null) return { ...succeed(), stderr: absent, exitCode: 127 };
  const script = [name, ...flags, path, ...rest].map(quoteWord).join(" ");
  return runScript(script, context, { stdin: pipedInto(context), stdinKind: "bytes" });
}

async function runShell(args: readonly string[], context: CommandContext): Promise<Result> {
  const { settings, hasScript, readsInput, rest } = readShellArguments(args);
  const [first, ...more] = rest;
  if (hasScript) return original(context, ["-c", `${settings}${first ?? ""}`, ...more]);
  if (first !== undefined && !readsInput) {
    if (settings === "") return original(context, rest);
    return original(context, ["-c", `${settings}\n${textFrom(await readInput(first, context))}`, ...rest]);
  }
  const script = textFrom(pipedInto(context));
  return original(context, ["-c", `${settings}${script}`, "bash", ...rest]);
}

const createShell = (name: string): CustomCommand =>
  program(name, (args, context) => {
    const [first, path = "", ...rest] = args;
    return first === asProgram ? runFile(path, rest, context) : runShell(args, context);
  });

export const shells: readonly CustomCommand[] = [createShell("bash"), createShell("sh")];
