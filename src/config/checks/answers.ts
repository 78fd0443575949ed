import * as z from "zod";
import type { Json } from "../../chat/message.ts";
import type { AgentShape, Draft, Listed } from "../draft.ts";
import { lanesOf } from "../draft.ts";

/** `response_schema` (SE-14, CF-25): a JSON Schema that compiles, within bounds. */

const maximumBytes = 65_536;
const maximumDepth = 16;

export type ReadSchema =
  | { readonly ok: true; readonly schema: Json }
  | { readonly ok: false; readonly message: string };

const depthOf = (value: Json): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

const remoteReference = (value: Json): boolean => {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([key, item]) =>
      (key === "$ref" && typeof item === "string" && !item.startsWith("#")) || remoteReference(item),
  );
};

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
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { ok: false, message: "it is no JSON object" };
  }
  const text = JSON.stringify(value);
  if (new TextEncoder().encode(text).length > maximumBytes)
    return { ok: false, message: "it is over 64 KiB" };
  if (depthOf(value) > maximumDepth)
    return { ok: false, message: `it nests deeper than ${maximumDepth} levels` };
  if (remoteReference(value)) return { ok: false, message: "a $ref may only point into the schema itself" };
  const plain = JSON.parse(text) as Json;
  try {
    z.fromJSONSchema(plain as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : "it does not compile";
    return { ok: false, message: reason };
  }
  return { ok: true, schema: plain };
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
