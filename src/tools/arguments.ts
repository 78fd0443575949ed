import type * as z from "zod";
import type { Tool, ToolOutput } from "./define-tool.ts";
import { toolError } from "./errors.ts";

/** Strict reading of a call's arguments: never guessed, never repaired (TB-2). */

const longest = 1_048_576;
const deepest = 32;

export type ParsedArguments =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly error: ToolOutput };

const invalid = (sentence: string): ParsedArguments => ({
  ok: false,
  error: toolError("invalid_arguments", sentence),
});

/** What is wrong with a JSON text before it is parsed: nested too deeply, or a key twice in one object. */
const structureProblem = (json: string): string | null => {
  const keys: (Set<string> | null)[] = [];
  for (const [text, isKey] of json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[[\]{}]/gs)) {
    if (text === "{" || text === "[") keys.push(text === "{" ? new Set() : null);
    else if (text === "}" || text === "]") keys.pop();
    else if (isKey !== undefined) {
      const key = text.slice(0, text.lastIndexOf('"') + 1);
      if (keys.at(-1)?.has(key) === true) return `have the key ${key.slice(0, 100)} twice in one object`;
      keys.at(-1)?.add(key);
    }
    if (keys.length > deepest) return `are nested deeper than ${deepest} levels`;
  }
  return null;
};

/** Renames the other spellings that a tool accepts; both spellings at once stay, and are refused as unknown. */
const withAliases = (value: unknown, aliases: Readonly<Record<string, string>> | undefined): unknown => {
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

/** Arguments that fit the tool's schema, or an `invalid_arguments` result naming path and rule. Empty text counts as {}. */
export const parseArguments = (
  tool: Pick<Tool, "name" | "aliases"> & { readonly params: z.ZodType },
  raw: string,
): ParsedArguments => {
  const json = raw.trim() === "" ? "{}" : raw;
  if (json.length > longest)
    return invalid(`the arguments of ${tool.name} are longer than 1 MiB; send less at once`);
  const structure = structureProblem(json);
  if (structure !== null) return invalid(`the arguments of ${tool.name} ${structure}`);
  const parsed = parse(json);
  if ("reason" in parsed)
    return invalid(
      `the arguments of ${tool.name} are not valid JSON (${parsed.reason}); send the whole object again`,
    );
  const result = tool.params.safeParse(withAliases(parsed.value, tool.aliases));
  if (result.success) return { ok: true, args: result.data };
  const problems = result.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.length === 0 ? "arguments" : path.join(".")}: ${message}`);
  return invalid(`${problems.join("; ")}. Correct the call of ${tool.name} and send it again.`);
};
