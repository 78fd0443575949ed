import type { CustomCommand, Result } from "../../custom-command.ts";
import { Failure, original, program } from "../program.ts";

/** Has `jq` join what it prints with `-j`, and indent by a number of its own. */

const joined = (json: string): string =>
  json
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const value: unknown = line.startsWith('"') ? JSON.parse(line) : line;
      return typeof value === "string" ? value : line;
    })
    .join("");

const indented = ({ stdout, ...rest }: Result, width: number): Result => ({
  ...rest,
  stdout: stdout.replace(/^(?: {2})+/gm, (spaces) => " ".repeat((spaces.length / 2) * width)),
});

/** Quotes texts as `@csv` does. */
const csv = `(map(if type == "string" then "\\"" + gsub("\\""; "\\"\\"") + "\\"" elif . == null then "" else tostring end) | join(","))`;

/** Splits the arguments of `del(.a, .b)`, which are separated outside of brackets. */
function splitList(text: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const character of text) {
    if (/[([{]/.test(character)) depth += 1;
    if (/[)\]}]/.test(character)) depth -= 1;
    if (character === "," && depth === 0) parts.push("");
    else parts.push(`${parts.pop() ?? ""}${character}`);
  }
  return parts;
}

/** Writes what the shell's own jq does wrong in another way. */
const mendFilter = (word: string): string =>
  word.replace(/@csv\b(?!\s*")/g, csv).replace(/\bdel\(((?:[^()]|\([^()]*\))*)\)/g, (all, list: string) => {
    const parts = splitList(list);
    if (parts.length < 2) return all;
    if (parts.some((part) => /\[/.test(part)))
      throw new Failure("del takes one path with an index at a time here", 3);
    return `(${parts.map((part) => `del(${part})`).join(" | ")})`;
  });

const isJoining = (word: string): boolean =>
  /^-[acerSsRn]*j[acerSsRn]*$/.test(word) || word === "--join-output";

/** Works with JSON. */
export const jq: CustomCommand = program("jq", async (words, context) => {
  const args = words.map((word) => (word.startsWith("-") ? word : mendFilter(word)));
  if (args.some((word) => /(^|[^\w.$])walk\(/.test(word)))
    throw new Failure("walk is not supported here; name the paths, as in: (.. | numbers) |= . + 1", 3);
  const joins = args.some(isJoining);
  const at = args.indexOf("--indent");
  const width = Number(args[at + 1]);
  const plain = at < 0 ? args : [...args.slice(0, at), ...(width === 0 ? ["-c"] : []), ...args.slice(at + 2)];
  if (!joins) {
    const result = await original(context, plain);
    return at < 0 || width === 0 ? result : indented(result, width);
  }
  const call = plain.flatMap((word) => {
    if (!isJoining(word)) return word === "-r" || word === "--raw-output" ? [] : [word];
    const letters = word.startsWith("--") ? "" : word.slice(1).replace(/[jr]/g, "");
    return letters === "" ? [] : [`-${letters}`];
  });
  const { stdout, ...rest } = await original(context, ["-c", ...call]);
  return { ...rest, stdout: joined(stdout) };
});
