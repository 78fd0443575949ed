import type { Agent, RunLimits, RunLogger } from "../agent/definition/agent.ts";
import type { Guardrail } from "../agent/definition/guard.ts";
import type { TeamAgent as AgentConfig } from "../config/team.ts";
import { outputProblems } from "./models/output-check.ts";

/** This file binds an agent's middleware in its configured order; the first is the outermost. */

/** Defines a named check of a team's `extensions.ts`, which says why a text may not pass, or null. */
export interface OutputCheck {
  readonly name: string;
  readonly check: (text: string) => string | null;
}

type MiddlewareEntry = AgentConfig["middleware"][number];
type GuardrailParams = Extract<MiddlewareEntry, { kind: "output_guardrail" }>["params"];

const lengthProblem = (
  text: string,
  { min_length: least, max_length: most }: GuardrailParams,
): string | null => {
  const length = [...text].length;
  if (least !== undefined && length < least)
    return `it has ${length} characters, at least ${least} are needed`;
  if (most !== undefined && length > most) return `it has ${length} characters, at most ${most} are allowed`;
  return null;
};

const literalProblem = (
  text: string,
  { must_contain: needed, must_not_contain: banned }: GuardrailParams,
): string | null => {
  const missing = needed.find((each) => !text.includes(each));
  if (missing !== undefined) return `it does not contain ${JSON.stringify(missing)}`;
  return bannedProblem(text, banned);
};

const bannedProblem = (text: string, banned: readonly string[]): string | null =>
  banned.some((each) => text.includes(each)) ? "it contains a text that must not be in it" : null;

const schemaProblem = (text: string, { schema }: GuardrailParams): string | null =>
  schema === undefined ? null : (outputProblems(text, "json_schema", schema)[0] ?? null);

const checkProblem = (
  text: string,
  { check: name }: GuardrailParams,
  checks: readonly OutputCheck[],
): string | null => {
  const problem: unknown = checks.find((each) => each.name === name)?.check(text) ?? null;
  if (problem === null || typeof problem === "string") return problem;
  throw new TypeError(`check ${name} gives back neither a reason nor null`);
};

const guardrailOf = (params: GuardrailParams, checks: readonly OutputCheck[]): Guardrail => ({
  problem: (text) =>
    lengthProblem(text, params) ??
    literalProblem(text, params) ??
    schemaProblem(text, params) ??
    checkProblem(text, params, checks),
  leak: (text) => bannedProblem(text, params.must_not_contain) ?? checkProblem(text, params, checks),
  onFail: params.on_fail,
  maxRetries: params.max_retries,
  text: params.text ?? null,
});

const timeoutOf = (entries: readonly MiddlewareEntry[], count: "active" | "wall"): number | null => {
  const times = entries.flatMap((each) =>
    each.kind === "timeout" && each.params.count === count ? [each.params.duration] : [],
  );
  return times.length === 0 ? null : Math.min(...times);
};

/** Returns the guardrails and loggers of an agent; `recovery` is always in force. */
export const middlewareOf = (
  { middleware }: AgentConfig,
  checks: readonly OutputCheck[],
): Pick<Agent, "guardrails" | "loggers"> => ({
  guardrails: middleware.flatMap((each) =>
    each.kind === "output_guardrail" ? [guardrailOf(each.params, checks)] : [],
  ),
  loggers: middleware.flatMap((each): readonly RunLogger[] => (each.kind === "logger" ? [each.params] : [])),
});

/** Returns how long a run of an agent may take, by the clock and without waits for people. */
export const timeoutsOf = ({ middleware }: AgentConfig): Pick<RunLimits, "timeoutMs" | "activeMs"> => ({
  timeoutMs: timeoutOf(middleware, "wall"),
  activeMs: timeoutOf(middleware, "active"),
});
