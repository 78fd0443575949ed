import type { CommandContext, CustomCommand, Result } from "../../custom-command.ts";
import { admit, Failure, original, program, readInput, textFrom } from "../program.ts";

/** `jq`, which indents by a given number, and knows more of the language. */

const indented = ({ stdout, ...rest }: Result, width: number): Result => ({
  ...rest,
  stdout: stdout.replace(/^(?: {2})+/gm, (spaces) => " ".repeat((spaces.length / 2) * width)),
});

/** Quotes texts as `@csv` does. */
const csv = `(map(if type == "string" then "\\"" + gsub("\\""; "\\"\\"") + "\\"" elif . == null then "" else tostring end) | join(","))`;

/** Filters that the shell's own jq gets wrong, each with an equal one. */
const equals: Readonly<Record<string, string>> = {
  "@csv": csv,
  to_entries: '(if type == "array" then [range(length) as $i | {key: $i, value: .[$i]}] else to_entries end)',
};

/** Texts without expressions in them, which stay as they are, and the expressions that are mended. */
const mended =
  /"(?:[^"\\]|\\[^(])*"|@csv\b(?!\s*")|(?<![\w.$])(?:to_entries\b|walk\(|del\((?:[^()"]|"[^"]*"|\([^()]*\))*\))/g;

/** Writes a filter so that the shell's own jq takes it as jq does. */
const mendFilter = (filter: string): string =>
  admit(filter).replace(mended, (found) => {
    if (found === "walk(")
      throw new Failure("walk is not supported here; name the paths, as in: (.. | numbers) |= . + 1", 3);
    if (found.startsWith("del(") && found.includes(","))
      throw new Failure("del takes one path at a time here, as in: del(.a) | del(.b)", 3);
    return equals[found] ?? found;
  });

/** Options by the number of words that follow them. */
const valued: Readonly<Record<string, number>> = {
  "--arg": 2,
  "--argjson": 2,
  "--slurpfile": 2,
  "--rawfile": 2,
  "--indent": 1,
  "-f": 1,
  "--from-file": 1,
};

interface Call {
  readonly words: readonly string[];
  readonly indent: number | null;
}

/** Reads a call: the first word that is neither an option nor its value is the filter. */
async function readCall(given: readonly string[], context: CommandContext): Promise<Call> {
  const args = given.flatMap((word) => (/^-[a-zA-Z]+f$/.test(word) ? [word.slice(0, -1), "-f"] : [word]));
  const words: string[] = [];
  let isFound = false;
  let indent: number | null = null;
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    const values = args.slice(at + 1, at + 1 + (valued[word] ?? 0));
    at += values.length;
    if (word === "--indent") indent = Number(values[0]);
    else if (/^(-[a-zA-Z]*j[a-zA-Z]*|--join-output)$/.test(word))
      throw new Failure("-j is not supported here; use jq -r and tr -d '\\n'", 2);
    else if (/^(-f|--from-file)$/.test(word)) {
      words.push(mendFilter(textFrom(await readInput(values[0] ?? "", context))));
      isFound = true;
    } else if (word.startsWith("-")) words.push(word, ...values);
    else {
      words.push(isFound ? word : mendFilter(word));
      isFound = true;
    }
  }
  return { words, indent };
}

/** Works with JSON. */
export const jq: CustomCommand = program("jq", async (args, context) => {
  const { words, indent } = await readCall(args, context);
  const result = await original(context, [...(indent === 0 ? ["-c"] : []), ...words]);
  return indent === null || indent === 0 ? result : indented(result, indent);
});
