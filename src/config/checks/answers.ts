import type { Json } from "../../chat/message.ts";
import type { AgentShape, Draft, Listed } from "../draft.ts";
import { lanesOf } from "../draft.ts";
import { schemaProblem } from "../../tools/json-schema-check.ts";

/** `response_schema` (SE-14, CF-25): a JSON Schema that compiles, within bounds. */

export type ReadSchema =
  | { readonly ok: true; readonly schema: Json }
  | { readonly ok: false; readonly message: string };

const parseText = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

/** Reads a schema given as an object or as JSON text. */
export const readResponseSchema = (given: unknown): ReadSchema => {
  const value = typeof given === "string" ? parseText(given) : (given as Json);
  if (value === undefined) return { ok: false, message: "it is no JSON" };
  const problem = schemaProblem(value);
  if (problem !== null) return { ok: false, message: problem.slice(0, 200) };
  return { ok: true, schema: JSON.parse(JSON.stringify(value)) as Json };
};

/** Whether every object of a schema lists all its properties and no others: what strict modes take. */
const isStrictSchema = (schema: Json): boolean => {
  if (typeof schema !== "object" || schema === null) return true;
  if (Array.isArray(schema)) return schema.every(isStrictSchema);
  const { type, properties, required, additionalProperties } = schema as { readonly [key: string]: Json };
  if (type === "object" || properties !== undefined) {
    const names = Object.keys((properties ?? {}) as object);
    const listed = Array.isArray(required) ? required : [];
    if (additionalProperties !== false || !names.every((name) => listed.includes(name))) return false;
  }
  return Object.values(schema).every((item) => isStrictSchema(item));
};

const strictKinds = new Set(["openai", "grok", "gemini", "openai-compatible"]);

const checkAnswer = (draft: Draft, { index, value: agent }: Listed<AgentShape>): void => {
  const given = agent.options.response_schema;
  if (given === undefined) return;
  const path = ["agents", index, "options", "response_schema"];
  const read = readResponseSchema(given);
  if (!read.ok) {
    draft.report("invalid_schema", path, `this JSON Schema cannot be used: ${read.message}`);
    return;
  }
  const strict = lanesOf(draft, agent).some(({ provider }) => strictKinds.has(provider.value.kind));
  if (!strict || isStrictSchema(read.schema)) return;
  draft.report("schema_not_strict", path, "the provider's strict mode does not take this schema", {
    hint: "list every property in required and set additionalProperties: false",
  });
};

/** The answer schema of every agent. */
export const checkAnswers = (draft: Draft): void => {
  for (const agent of draft.agents) checkAnswer(draft, agent);
};
