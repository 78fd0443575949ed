import * as z from "zod";
import type { Effect } from "../../agent/definition/effect.ts";
import { effects } from "../../effects/index.ts";
import { sortByRank } from "../../effects/order.ts";
import type { Path } from "../document/diagnostics.ts";
import type { AgentShape, TeamDraft, ListEntry } from "../draft.ts";
import type { JsonSchema } from "../json-schema.ts";
import type { TeamAgent } from "../team.ts";
import type { ExplainedValue, OriginOf } from "./explain.ts";

/** Describes effects for `limpet explain` and the documentation, from their definitions. */

/** Returns the effects of an agent in the order in which they run. */
export const effectRows = (
  draft: TeamDraft,
  { index, value }: ListEntry<AgentShape>,
  agent: TeamAgent,
  originOf: OriginOf,
): readonly ExplainedValue[] => {
  const base: Path = ["agents", index];
  const masks = agent.options.context_compaction === "auto" ? 1 : 0;
  const originAt = (at: number): string => {
    if (at < masks) return originOf(draft, [...base, "options", "context_compaction"]);
    return value.effects === undefined ? "generated" : originOf(draft, [...base, "effects", at - masks]);
  };
  const known: readonly Effect[] = [...effects, ...draft.effects];
  const entries = agent.effects.map((config, at) => ({ config, origin: originAt(at) }));
  const ordered = sortByRank(entries, ({ config }) => known.find(({ kind }) => kind === config.kind));
  return ordered.map(({ config: { kind, params }, origin }, at) => ({
    section: "effects",
    key: `${at + 1} ${kind}`,
    value: params,
    origin,
  }));
};

const rangeOf = ({ minimum, exclusiveMinimum, maximum, enum: values }: JsonSchema): string => {
  if (values !== undefined) return ` (${values.join(", ")})`;
  const upper = typeof maximum === "number" && maximum < Number.MAX_SAFE_INTEGER ? maximum : null;
  if (typeof minimum === "number") return upper === null ? ` (≥ ${minimum})` : ` (${minimum} to ${upper})`;
  return typeof exclusiveMinimum === "number" ? ` (above ${exclusiveMinimum}, to ${upper ?? "∞"})` : "";
};

const defaultOf = ({ default: value }: JsonSchema, isRequired: boolean): string => {
  if (value === undefined) return isRequired ? "required" : "–";
  return typeof value === "string" ? value : JSON.stringify(value);
};

const paramsOf = (params: z.ZodObject): string => {
  const { properties = {}, required = [] } = z.toJSONSchema(params, { io: "input" }) as JsonSchema;
  return Object.entries(properties)
    .map(([name, schema]) => `\`${name}\` ${defaultOf(schema, required.includes(name))}${rangeOf(schema)}`)
    .join(", ");
};

/** Formats the documentation's table of effects: a row for each kind, with its parameters, defaults and ranges. */
export const effectsTable = (): string => {
  const rows = effects.map(({ kind, phase, params, description }) => [
    `\`${kind}\``,
    phase === "before_complete" ? "before a request" : "after a reply",
    description,
    paramsOf(params),
  ]);
  return [["kind", "runs", "what it does", "parameters"], ["---", "---", "---", "---"], ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
};
