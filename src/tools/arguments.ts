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

/** Nesting of a JSON text, without parsing it. */
const depthOf = (json: string): number => {
  let depth = 0;
  let most = 0;
  let inString = false;
  for (let index = 0; index < json.length; index++) {
    const character = json[index];
    if (inString) {
      if (character === "\\") index += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{" || character === "[") most = Math.max(most, ++depth);
    else if (character === "}" || character === "]") depth -= 1;
  }
  return most;
};

const parse = (json: string): { readonly value: unknown } | { readonly reason: string } => {
  try {
    return { value: JSON.parse(json) as unknown };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : "not JSON" };
  }
};

/** Arguments that fit the tool's schema, or an `invalid_arguments` result naming path and rule. Empty text counts as {}. */
export const parseArguments = (tool: Pick<Tool, "name" | "params">, raw: string): ParsedArguments => {
  const json = raw.trim() === "" ? "{}" : raw;
  if (json.length > longest)
    return invalid(`the arguments of ${tool.name} are longer than 1 MiB; send less at once`);
  if (depthOf(json) > deepest)
    return invalid(`the arguments of ${tool.name} are nested deeper than ${deepest} levels`);
  const parsed = parse(json);
  if ("reason" in parsed)
    return invalid(
      `the arguments of ${tool.name} are not valid JSON (${parsed.reason}); send the whole object again`,
    );
  const result = tool.params.safeParse(parsed.value);
  if (result.success) return { ok: true, args: result.data };
  const problems = result.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.length === 0 ? "arguments" : path.join(".")}: ${message}`);
  return invalid(`${problems.join("; ")}. Correct the call of ${tool.name} and send it again.`);
};
