import type { Json } from "../chat/message.ts";
import { schemaMisfits } from "../tools/json-schema.ts";

/** Checks final answers (SE-14). */

const parse = (text: string): { readonly value: Json } | null => {
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return null;
  }
};

/** Problems of a final text: none if any text is allowed (`format` null), or if it is JSON that fits. */
export const outputProblems = (
  text: string,
  format: "json_object" | "json_schema" | null,
  schema: Json | null,
): readonly string[] => {
  if (format === null && schema === null) return [];
  const parsed = parse(text.trim());
  if (parsed === null) return ["the answer is not JSON"];
  const { value } = parsed;
  if (schema !== null) return schemaMisfits(schema, value, "the answer");
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? [] : ["the answer is not a JSON object"];
};
