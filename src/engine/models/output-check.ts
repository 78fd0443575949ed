import { deepestInput, isJsonObject, parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { findSchemaErrors } from "../../tools/schema/json-schema.ts";

/** Checks final answers. */

/** Lists the problems of a final text; none if any text is allowed (`format` null) or if it is JSON that fits. */
export const outputProblems = (
  text: string,
  format: "json_object" | "json_schema" | null,
  schema: Json | null,
): readonly string[] => {
  if (format === null && schema === null) return [];
  const value = parseJson(text.trim());
  if (value === undefined) return [`the answer is not JSON, or nests deeper than ${deepestInput} levels`];
  if (schema !== null) return findSchemaErrors(schema, value, "the answer");
  return isJsonObject(value) ? [] : ["the answer is not a JSON object"];
};
