import { parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { describeServed } from "../../providers/entry.ts";
import { fitsStrict } from "../../tools/schema/strict-schema.ts";
import type { AgentShape, Draft, Lane, Listed } from "../draft.ts";
import { lanesOf, overrideOf } from "../draft.ts";
import { schemaProblem } from "../../tools/schema/json-schema-check.ts";

/** `response_schema`: a JSON Schema that compiles, within bounds. */

/** A schema given as a map or as JSON text; undefined if it is no JSON. How deep it may nest, its own check says. */
export const responseSchemaOf = (given: string | object): Json | undefined =>
  parseJson(typeof given === "string" ? given : JSON.stringify(given), Infinity);

const strictKinds = new Set(["openai", "grok", "gemini", "openai-compatible"]);

/** Whether a lane's model is given the schema itself, in a mode that has a strict form. */
const takesSchema = (draft: Draft, { provider, model }: Lane): boolean => {
  const { capabilities } = describeServed(provider.value, model, overrideOf(draft, model));
  return strictKinds.has(provider.value.kind) && capabilities.strict_schema;
};

const checkAnswer = (draft: Draft, { index, value: agent }: Listed<AgentShape>): void => {
  const given = agent.options.response_schema;
  if (given === undefined) return;
  const path = ["agents", index, "options", "response_schema"];
  const schema = responseSchemaOf(given);
  const refuse = (why: string): void =>
    draft.report("invalid_schema", path, `this JSON Schema cannot be used: ${why}`);
  if (schema === undefined) return refuse("it is no JSON");
  const problem = schemaProblem(schema);
  if (problem !== null) return refuse(problem.slice(0, 200));
  if (fitsStrict(schema) || !lanesOf(draft, agent).some((lane) => takesSchema(draft, lane))) return;
  draft.report("schema_not_strict", path, "the provider's strict mode does not take this schema", {
    hint: "list every property in required and set additionalProperties: false",
  });
};

/** The answer schema of every agent. */
export const checkAnswers = (draft: Draft): void => {
  for (const agent of draft.agents) checkAnswer(draft, agent);
};
