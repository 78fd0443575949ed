import type { CommandContext, CustomCommand, Result } from "../../custom-command.ts";
import { plainBoundaries } from "./patterns.ts";
import { quoteWord } from "../../quote-word.ts";
import {
  Failure,
  type Options,
  original,
  pipedInto,
  program,
  readOptions,
  runScript,
  textFrom,
} from "../program.ts";

/** `grep`, `sort`, `seq` and `paste`, which take options in more forms than the shell's own. */

const grepNames = {
  flags: "EFGPivwxcnlLqohHsrRaIUZ",
  valued: "efmABC",
  kept: ["include", "exclude", "exclude-dir"],
  long: "color: colour: text: line-buffered: binary: binary-files: ignore-case:i invert-match:v word-regexp:w line-regexp:x count:c line-number:n files-with-matches:l files-without-match:L quiet:q silent:q null:Z only-matching:o no-filename:h with-filename:H no-messages:s recursive:r extended-regexp:E fixed-strings:F perl-regexp:P basic-regexp:G regexp:e file:f max-count:m after-context:A before-context:B context:C",
};

/** Names files as grep does where `.` is searched: `./file`. */
const nameBelow = ({ stdout, ...rest }: Result): Result => ({
  ...rest,
  stdout: stdout.replace(/^(?!--$|\.\/)(?=.)/gm, "./"),
});

/** Returns the call of the shell's own grep, which knows fewer options. */
function grepCall({ has, words, values, operands }: Options, files: readonly string[]): string[] {
  const mend = (pattern: string): string => (has("F") || has("P") ? pattern : plainBoundaries(pattern));
  const optionOf = (at: number): string => /^-[efmABC]$/.exec(words[at - 1] ?? "")?.[0] ?? "";
  const known = words.filter((word, at) =>
    optionOf(at) === "" ? !/^-[esHaIGUZ]$/.test(word) : optionOf(at) !== "-e",
  );
  // Of several expressions the shell's grep takes the last, but an expression may have several lines.
  const expressions = has("e") ? ["-e", values("e").map(mend).join("\n")] : [];
  const patterns = operands.slice(0, operands.length - files.length).map(mend);
  const isNamed = has("H") && files.length === 1 && !["r", "c", "L"].some(has);
  const end = operands.some((word) => /^-./.test(word)) ? ["--"] : [];
  return [...known, ...expressions, ...end, ...patterns, ...files, ...(isNamed ? ["/dev/null"] : [])];
}

/** Returns the status: 2 if a file is missing, unless `-q` found a match. */
const codeOf = ({ stderr, exitCode }: Result, isQuiet: boolean): number => {
  const isMissing = /: (No such file or directory|Permission denied)$/m.test(stderr);
  return isMissing && !(isQuiet && exitCode === 0) ? 2 : exitCode;
};

const search = async (args: readonly string[], context: CommandContext): Promise<Result> => {
  const options = readOptions(args, grepNames);
  const { has, operands } = options;
  const files = has("e") || has("f") ? operands : operands.slice(1);
  const found = await original(context, grepCall(options, files));
  const isBelow = (has("r") || has("R")) && files.join("\n") === "." && !has("h") && !has("q");
  const whole = has("o") ? { ...found, stdout: found.stdout.replace(/^\n/gm, "") } : found;
  const named = isBelow ? nameBelow(whole) : whole;
  const stdout = has("Z") && has("l") ? named.stdout.replaceAll("\n", "\0") : named.stdout;
  return { ...named, stdout, exitCode: codeOf(found, has("q")), stderr: has("s") ? "" : found.stderr };
};

const sortNames = {
  flags: "bdfgiMhnRrVcCmsu",
  valued: "koStTP",
  long: "ignore-leading-blanks:b dictionary-order:d ignore-case:f general-numeric-sort:g month-sort:M human-numeric-sort:h numeric-sort:n reverse:r version-sort:V check:c merge:m output:o stable:s field-separator:t key:k unique:u buffer-size: parallel: temporary-directory:",
};

/** Stands between a line and its leading blanks, which are moved to its end while it is sorted. */
const blanksMark = "\uf6e5";

/** Sorts lines by keys without the blanks that they begin with, which the shell's own sort takes for a field. */
async function sortTrimmed(args: readonly string[], text: string, context: CommandContext): Promise<Result> {
  const stdin = text.replace(/^([ \t]+)(.*)$/gm, `$2${blanksMark}$1`);
  const script = ["sort", ...args].map(quoteWord).join(" ");
  const result = await runScript(script, context, { stdin });
  const stdout = textFrom(result.stdout).replace(new RegExp(`^(.*)${blanksMark}([ \\t]+)$`, "gm"), "$2$1");
  return { ...result, stdout, stdoutKind: "text" };
}

const sort = program("sort", (args, context: CommandContext) => {
  const { has, words, operands } = readOptions(args, sortNames);
  if (has("k") && !has("t") && operands.length === 0) {
    const text = textFrom(pipedInto(context));
    if (/^[ \t]/m.test(text)) return sortTrimmed(args, text, context);
  }
  const call = words.flatMap((word, at) => {
    const isValue = /^-[koStTP]$/.test(words[at - 1] ?? "");
    if (isValue) return /^-[STP]$/.test(words[at - 1] ?? "") ? [] : [word.replace(/g(?=[a-z]*(,|$))/, "n")];
    return /^-[mSTP]$/.test(word) ? [] : [word === "-g" ? "-n" : word];
  });
  return original(context, [...call, ...operands]);
});

const seq = program("seq", async (args, context) => {
  if (args.some((word) => /^(-f|--format)/.test(word)))
    throw new Failure("-f is not supported here; use printf '%03d\\n' $(seq 9)");
  return original(context, args);
});

const paste = program("paste", (args, context) => {
  const names = { flags: "s", valued: "d", long: "serial:s delimiters:d" };
  const { has, value, operands } = readOptions(args, names);
  const delimiters = value("d")?.replace(
    /\\([nt\\])/g,
    (_, letter: string) => ({ n: "\n", t: "\t" })[letter] ?? letter,
  );
  const options = [...(has("s") ? ["-s"] : []), ...(delimiters === undefined ? [] : ["-d", delimiters])];
  return original(context, [...options, ...(operands.length === 0 ? ["-"] : operands)]);
});

export const textPrograms: readonly CustomCommand[] = [
  program("grep", search),
  program("egrep", search),
  sort,
  seq,
  paste,
];
