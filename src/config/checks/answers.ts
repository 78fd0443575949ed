import { parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { describeServed } from "../../providers/entry.ts";
import { fitsStrict } from "../../tools/strict-schema.ts";
import type { AgentShape, Draft, Lane, Listed } from "../draft.ts";
import { lanesOf, overrideOf } from "../draft.ts";
import { schemaProblem } from "../../tools/json-schema-check.ts";

/** `response_schema` (SE-14, CF-25): a JSON Schema that compiles, within bounds. */

export type ReadSchema =
  | { readonly ok: true; readonly schema: Json }
  | { readonly ok: false; readonly message: string };

/** Reads a schema given as an object or as JSON text. */
export const readResponseSchema = (given: unknown): ReadSchema => {
  const value = typeof given === "string" ? parseJson(given) : (given as Json);
  if (value === undefined) return { ok: false, message: "it is no JSON" };
  const problem = schemaProblem(value);
  if (problem !== null) return { ok: false, message: problem.slice(0, 200) };
  return { ok: true, schema: JSON.parse(JSON.stringify(value)) as Json };
};

const strictKinds = new Set(["openai", "grok", "gemini", "openai-compatible"]);

/** Whether a lane's model is given the schema itself, in a mode that has a strict form (MO-14). */
const takesSchema = (draft: Draft, { provider, model }: Lane): boolean => {
  const { capabilities } = describeServed(provider.value, model, overrideOf(draft, model));
  return strictKinds.has(provider.value.kind) && capabilities.strict_schema;
};

const checkAnswer = (draft: Draft, { index, value: agent }: Listed<AgentShape>): void => {
  const given = agent.options.response_schema;
  if (given === undefined) return;
  const path = ["agents", index, "options", "response_schema"];
  const read = readResponseSchema(given);
  if (!read.ok) {
    draft.report("invalid_schema", path, `this JSON Schema cannot be used: ${read.message}`);
    return;
  }
  if (fitsStrict(read.schema) || !lanesOf(draft, agent).some((lane) => takesSchema(draft, lane))) return;
  draft.report("schema_not_strict", path, "the provider's strict mode does not take this schema", {
    hint: "list every property in required and set additionalProperties: false",
  });
};

/** The answer schema of every agent. */
export const checkAnswers = (draft: Draft): void => {
  for (const agent of draft.agents) checkAnswer(draft, agent);
};
