import { parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { describeProviderModel } from "../../providers/entry.ts";
import { isStrictSchema } from "../../tools/schema/strict-schema.ts";
import type { AgentShape, TeamDraft, TargetShape, ListEntry } from "../draft.ts";
import { targetShapesOf, modelOverrideOf } from "../draft.ts";
import type { Path } from "../document/diagnostics.ts";
import { schemaProblem } from "../../tools/schema/json-schema-check.ts";

/** Checks the JSON Schemas of answers: that they compile, within bounds. */

/** Returns a schema given as a map or as JSON text; undefined if it is not JSON. A separate check limits its depth. */
export const responseSchemaOf = (given: string | object): Json | undefined =>
  parseJson(typeof given === "string" ? given : JSON.stringify(given), Infinity);

const strictKinds = new Set(["openai", "grok", "gemini", "openai-compatible"]);

/** Returns whether a target's model receives the schema itself, in a mode with a strict form. */
const takesSchema = (draft: TeamDraft, { provider, model }: TargetShape): boolean => {
  const { capabilities } = describeProviderModel(provider.value, model, modelOverrideOf(draft, model));
  return strictKinds.has(provider.value.kind) && capabilities.strict_schema;
};

/** Returns a usable schema; undefined if it was refused. */
const checkSchema = (draft: TeamDraft, path: Path, given: string | object): Json | undefined => {
  const schema = responseSchemaOf(given);
  const problem = schema === undefined ? "it is not JSON" : schemaProblem(schema)?.slice(0, 200);
  if (problem == null) return schema;
  draft.report("invalid_schema", path, `this JSON Schema cannot be used: ${problem}`);
  return undefined;
};

const checkGuardrails = (draft: TeamDraft, { index, value: agent }: ListEntry<AgentShape>): void =>
  agent.middleware.forEach((entry, at) => {
    const schema = entry.kind === "output_guardrail" ? entry.params?.schema : undefined;
    if (typeof schema !== "object" || schema === null) return;
    checkSchema(draft, ["agents", index, "middleware", at, "params", "schema"], schema);
  });

const checkAnswer = (draft: TeamDraft, { index, value: agent }: ListEntry<AgentShape>): void => {
  const { response_schema: given, response_format: format } = agent.options;
  if (given === undefined) return;
  const path = ["agents", index, "options", "response_schema"];
  const schema = checkSchema(draft, path, given);
  if (schema === undefined || format !== "json_schema") return;
  if (isStrictSchema(schema) || !targetShapesOf(draft, agent).some((target) => takesSchema(draft, target)))
    return;
  draft.report("schema_not_strict", path, "the provider's strict mode does not accept this schema", {
    hint: "list every property in required, set additionalProperties: false, give every value a type, and leave out defaults and rare keywords and formats",
  });
};

/** Checks the answer schemas of every agent. */
export const checkAnswers = (draft: TeamDraft): void => {
  for (const agent of draft.agents) {
    checkAnswer(draft, agent);
    checkGuardrails(draft, agent);
  }
};
