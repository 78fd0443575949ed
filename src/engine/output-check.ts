import * as z from "zod";
import type { Json } from "../chat/message.ts";

/** Checks final answers against JSON Schemas (SE-14). Schemas may come from callers, so they are bounded and their patterns are not run (T28). */

const longest = 65_536;
const deepest = 16;

const depthOf = (value: Json): number =>
  typeof value !== "object" || value === null
    ? 0
    : 1 + Math.max(0, ...Object.values(value).map((each: Json) => depthOf(each)));

const withoutPatterns = (value: Json): Json => {
  if (Array.isArray(value)) return value.map((each: Json) => withoutPatterns(each));
  if (typeof value !== "object" || value === null) return value;
  const open = "patternProperties" in value && typeof value["patternProperties"] === "object";
  const kept = Object.entries(value).filter(
    ([key, each]) =>
      !(typeof each === "string" && (key === "pattern" || key === "format")) &&
      !(open && (key === "patternProperties" || key === "additionalProperties")),
  );
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutPatterns(each)]));
};

const remoteReference = /"\$ref":"(?!#)/;

const compile = (schema: Json): z.ZodType =>
  z.fromJSONSchema(withoutPatterns(schema) as Parameters<typeof z.fromJSONSchema>[0]);

/** Why a schema cannot be used, as a sentence; null if it can. */
export const schemaProblem = (schema: Json): string | null => {
  const text = JSON.stringify(schema);
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    return "a JSON Schema is an object";
  if (text.length > longest) return "the schema is longer than 64 KiB";
  if (depthOf(schema) > deepest) return `the schema is nested deeper than ${deepest} levels`;
  if (remoteReference.test(text)) return "only references inside the schema are followed";
  try {
    compile(schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : "the schema cannot be read";
  }
};

const compiled = new WeakMap<object, z.ZodType>();

/** The checker of a JSON Schema that `schemaProblem` accepted; made once per schema object. */
export const validatorOf = (schema: object): z.ZodType => {
  const known = compiled.get(schema) ?? compile(schema as Json);
  compiled.set(schema, known);
  return known;
};

const parse = (text: string): { readonly value: unknown } | null => {
  try {
    return { value: JSON.parse(text) as unknown };
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
  if (schema === null || typeof schema !== "object") {
    const isObject =
      typeof parsed.value === "object" && parsed.value !== null && !Array.isArray(parsed.value);
    return isObject ? [] : ["the answer is not a JSON object"];
  }
  const result = validatorOf(schema).safeParse(parsed.value);
  if (result.success) return [];
  return result.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.length === 0 ? "the answer" : path.join(".")}: ${message}`);
};
