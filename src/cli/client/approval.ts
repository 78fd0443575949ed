import { toPlainText } from "./plain.ts";

/** Shows in a terminal what an approval will run: a command as it is typed, a change with signs before its lines. */

/** Signs before the lines of these fields. */
const signs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  exec_shell: { script: "$" },
  fs_write: { content: "+" },
  fs_edit: { old_text: "-", new_text: "+" },
};

const linesOf = (text: string, before: string): readonly string[] =>
  toPlainText(text.replace(/\n$/, ""))
    .split("\n")
    .map((line) => `${before}${line}`);

const quoteArgument = (given: unknown): string => {
  const text = typeof given === "string" ? given : JSON.stringify(given);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
};

/** Formats a value unchanged: a text of several lines below its name, anything but text as JSON. */
const fieldLines = (name: string, value: unknown, sign: string | undefined): readonly string[] => {
  const label = `  ${toPlainText(/^\w+$/.test(name) ? name : JSON.stringify(name))}:`;
  if (typeof value !== "string") return linesOf(JSON.stringify(value), `${label} `);
  if (sign !== undefined) return [label, ...linesOf(value, `  ${sign} `)];
  return value.includes("\n") ? [label, ...linesOf(value, "    ")] : linesOf(value, `${label} `);
};

/** Formats a whole input, without omissions. */
export const inputLines = (tool: string, input: unknown): readonly string[] => {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return linesOf(JSON.stringify(input), "  ");
  const { command, args = [], ...rest } = Object.fromEntries<unknown>(Object.entries(input));
  const isCommand = tool === "exec_run" && typeof command === "string" && Array.isArray(args);
  const words: readonly unknown[] = isCommand ? [command, ...(args as readonly unknown[])] : [];
  const fields = Object.entries(isCommand ? rest : input);
  return [
    ...(isCommand ? linesOf(words.map(quoteArgument).join(" "), "  $ ") : []),
    ...fields.flatMap(([name, value]) => fieldLines(name, value, signs[tool]?.[name])),
  ];
};
