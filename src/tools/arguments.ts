import type { Json } from "../chat/message.ts";
import { describeIssue, messageOf } from "../schema.ts";
import type { Tool, ToolOutput } from "./define-tool.ts";
import { errorMessageOf, toToolError, toolError } from "./errors.ts";
import { findSchemaErrors } from "./schema/json-schema.ts";
import { firstCharacters } from "../chat/text.ts";

/** Reads a call's arguments strictly, without guesses or repairs. */

const maxJsonLength = 1_048_576;
const maxJsonDepth = 32;

export type ParsedArguments =
  | { readonly ok: true; readonly args: unknown }
  /** `problem` says what is wrong; `error`, which is for the model, also what to do about it. */
  | { readonly ok: false; readonly problem: string; readonly error: ToolOutput };

const refuseArguments = (problem: string, remedy = ""): ParsedArguments => ({
  ok: false,
  problem,
  error: toolError("invalid_arguments", `${problem}${remedy}`),
});

/** Matches a string of a JSON text, with the colon of a key, or a bracket; a string that is cut off ends the text. */
const stringOrBracket = /"(?:[^"\\]|\\.)*(?:"(\s*:)?|\\?$)|[[\]{}]/gs;

/**
 * Returns the structural fault of a JSON text before it is parsed: too deep a nesting, or a repeated key in an
 * object.
 */
const structureProblem = (json: string): string | null => {
  const keys: (Set<string> | null)[] = [];
  for (const [text, isKey] of json.matchAll(stringOrBracket)) {
    if (text === "{" || text === "[") keys.push(text === "{" ? new Set() : null);
    else if (text === "}" || text === "]") keys.pop();
    else if (isKey !== undefined) {
      const key = text.slice(0, text.lastIndexOf('"') + 1);
      if (keys.at(-1)?.has(key) === true)
        return `have the key ${firstCharacters(key, 100)} twice in one object`;
      keys.at(-1)?.add(key);
    }
    if (keys.length > maxJsonDepth) return `are nested deeper than ${maxJsonDepth} levels`;
  }
  return null;
};

/** Renames the aliases that a tool accepts; if both spellings are given, they stay and are refused as unknown. */
export const renameAliases = (
  value: unknown,
  aliases: Readonly<Record<string, string>> | undefined,
): unknown => {
  if (aliases === undefined || typeof value !== "object" || value === null || Array.isArray(value))
    return value;
  const renamed = Object.entries(value).map(([key, each]) => {
    const name = Object.hasOwn(aliases, key) ? aliases[key] : undefined;
    return [name !== undefined && !Object.hasOwn(value, name) ? name : key, each] as const;
  });
  return Object.fromEntries(renamed);
};

const parse = (json: string): { readonly value: unknown } | { readonly reason: string } => {
  try {
    return { value: JSON.parse(json) as unknown };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : "not JSON" };
  }
};

/** Parses the JSON of a call's arguments, or returns an `invalid_arguments` result. Empty text counts as {}. */
const readArguments = (name: string, raw: string): { readonly value: unknown } | ParsedArguments => {
  const json = raw.trim() === "" ? "{}" : raw;
  if (json.length > maxJsonLength)
    return refuseArguments(`the arguments of ${name} are longer than 1 MiB; send less at once`);
  const structure = structureProblem(json);
  if (structure !== null) return refuseArguments(`the arguments of ${name} ${structure}`);
  const parsed = parse(json);
  if ("value" in parsed) return parsed;
  return refuseArguments(
    `the arguments of ${name} are not valid JSON (${parsed.reason})`,
    "; send the whole object again",
  );
};

const refuseProblems = (name: string, problems: readonly string[]): ParsedArguments =>
  refuseArguments(problems.join("; "), `. Correct the call of ${name} and send it again.`);

/** Checks a value against the tool's schema; what the tool's own checks throw becomes an error result. */
const checkArguments = ({ params }: Pick<Tool, "params">, value: unknown) => {
  try {
    return params.safeParse(value, { error: describeIssue });
  } catch (error) {
    return { problem: errorMessageOf(error), error: toToolError(error) };
  }
};

type ToolParams = Pick<Tool, "name" | "params" | "aliases">;

const parseAnew = (tool: ToolParams, raw: string): ParsedArguments => {
  const read = readArguments(tool.name, raw);
  if ("ok" in read) return read;
  const result = checkArguments(tool, renameAliases(read.value, tool.aliases));
  if ("problem" in result) return { ok: false, ...result };
  if (result.success) return { ok: true, args: result.data };
  const problems = result.error.issues
    .slice(0, 5)
    .map((issue) => `${issue.path.join(".") || "arguments"}: ${messageOf(issue)}`);
  return refuseProblems(tool.name, problems);
};

/** Newest parsed arguments of each tool, since a call is read when it is granted, judged and run. */
const newestParsed = new WeakMap<ToolParams, { readonly raw: string; readonly parsed: ParsedArguments }>();

/** Parses arguments by the tool's schema, or returns an `invalid_arguments` result that names path and rule. */
export const parseArguments = (tool: ToolParams, raw: string): ParsedArguments => {
  const known = newestParsed.get(tool);
  if (known?.raw === raw) return known.parsed;
  const parsed = parseAnew(tool, raw);
  newestParsed.set(tool, { raw, parsed });
  return parsed;
};

/** Takes the arguments for the run of a call, so that the tool's changes to them are visible nowhere else. */
export const takeArguments = (tool: ToolParams, raw: string): ParsedArguments => {
  const parsed = parseArguments(tool, raw);
  newestParsed.delete(tool);
  return parsed;
};

/** Parses arguments for a tool of which only the JSON Schema is known. */
export const parseForeignArguments = (name: string, schema: Json, raw: string): ParsedArguments => {
  const read = readArguments(name, raw);
  if ("ok" in read) return read;
  const problems = findSchemaErrors(schema, read.value as Json, "arguments");
  return problems.length === 0 ? { ok: true, args: read.value } : refuseProblems(name, problems);
};
