import type { Agent, RunLimits, RunLogger } from "../agent/definition/agent.ts";
import { checkFinishResult, checkStartResult } from "../agent/definition/checks.ts";
import type {
  AnswerVerdict,
  Guardrail,
  Middleware,
  RunOutcome,
  StartHook,
} from "../agent/definition/guard.ts";
import { countCharacters } from "../chat/text.ts";
import { isMiddleware, middlewareKinds } from "../config/sections/agent.ts";
import type { BuiltInMiddleware } from "../config/sections/agent.ts";
import type { TeamAgent as AgentConfig } from "../config/team.ts";
import { outputProblems } from "./models/output-check.ts";

/** Binds an agent's middleware in its configured order; the first is the outermost. */

/** Named check of a team's `extensions.ts`, which returns why a text may not pass, or null. */
export interface OutputCheck {
  readonly name: string;
  readonly check: (text: string) => string | null;
}

/** Middleware and checks of the team's extensions. */
export interface OwnMiddleware {
  readonly middleware: readonly Middleware[];
  readonly checks: readonly OutputCheck[];
}

type MiddlewareEntry = AgentConfig["middleware"][number];
type GuardrailParams = BuiltInMiddleware<"output_guardrail">["params"];

const lengthProblem = (
  text: string,
  { min_length: least, max_length: most }: GuardrailParams,
): string | null => {
  const length = countCharacters(text);
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
  throw new TypeError(`check ${name} returned neither a reason nor null`);
};

const judgeAnswer = (
  { text, retries }: RunOutcome,
  params: GuardrailParams,
  checks: readonly OutputCheck[],
): AnswerVerdict => {
  if (!/\S/.test(text)) return { do: "accept" };
  const why =
    lengthProblem(text, params) ??
    literalProblem(text, params) ??
    schemaProblem(text, params) ??
    checkProblem(text, params, checks);
  if (why === null) return { do: "accept" };
  const { on_fail: onFail, max_retries: most, text: instead = null } = params;
  if (onFail === "replace") return { do: "replace", text: instead };
  return onFail === "retry" && retries < most ? { do: "retry", why } : { do: "fail", why, text: instead };
};

const guardrailOf = (params: GuardrailParams, checks: readonly OutputCheck[]): Guardrail => ({
  kind: "output_guardrail",
  judge: (outcome) => judgeAnswer(outcome, params, checks),
  leak: (text) => bannedProblem(text, params.must_not_contain) ?? checkProblem(text, params, checks),
  text: params.text ?? null,
});

/** Number of answers of a run that a team's own middleware sends back at most. */
const mostRetries = 20;

/** Returns the guardrail of a team's own middleware; it checks answers only, not the text of a failed run. */
const ownGuardrailOf = ({ kind, finish }: Middleware, params: unknown): readonly Guardrail[] => {
  if (finish === undefined) return [];
  const judge: Guardrail["judge"] = (outcome, run) => {
    const { fail, retry, text } = checkFinishResult(finish(run, outcome, params));
    if (retry !== undefined && outcome.retries < mostRetries) return { do: "retry", why: retry };
    const why = fail ?? retry;
    if (why !== undefined) return { do: "fail", why, text: text ?? null };
    return text === undefined || text === outcome.text ? { do: "accept" } : { do: "replace", text };
  };
  return [{ kind, judge, leak: () => null, text: null }];
};

const findOwn = ({ middleware }: OwnMiddleware, { kind }: MiddlewareEntry): Middleware | undefined =>
  middleware.find((each) => each.kind === kind);

const startHooksOf = (entry: MiddlewareEntry, own: OwnMiddleware): readonly StartHook[] => {
  const { kind, start } = findOwn(own, entry) ?? {};
  if (kind === undefined || start === undefined) return [];
  return [{ kind, start: (run) => checkStartResult(start(run, entry.params)) }];
};

const guardrailsOf = (entry: MiddlewareEntry, own: OwnMiddleware): readonly Guardrail[] => {
  if (isMiddleware("output_guardrail")(entry)) return [guardrailOf(entry.params, own.checks)];
  const found = findOwn(own, entry);
  return found === undefined ? [] : ownGuardrailOf(found, entry.params);
};

/** Lists the kinds of an agent's middleware that are neither built in nor the team's. */
export const findUnknownMiddleware = (
  own: readonly Middleware[],
  { middleware }: AgentConfig,
): readonly string[] =>
  middleware
    .map(({ kind }) => kind)
    .filter((kind) => !middlewareKinds.includes(kind) && !own.some((each) => each.kind === kind));

/** Lists the named checks of an agent's guardrails that the team's extensions do not define. */
export const findUnknownChecks = (
  own: readonly OutputCheck[],
  { middleware }: AgentConfig,
): readonly string[] =>
  middleware
    .filter(isMiddleware("output_guardrail"))
    .flatMap(({ params: { check } }) => check ?? [])
    .filter((check) => !own.some(({ name }) => name === check));

const timeoutOf = (entries: readonly MiddlewareEntry[], count: "active" | "wall"): number | null => {
  const times = entries.flatMap((each) =>
    isMiddleware("timeout")(each) && each.params.count === count ? [each.params.duration] : [],
  );
  return times.length === 0 ? null : Math.min(...times);
};

/** Returns the guardrails, hooks and loggers of an agent; `recovery` is always active. */
export const middlewareOf = (
  { middleware }: AgentConfig,
  own: OwnMiddleware,
): Pick<Agent, "guardrails" | "startHooks" | "loggers"> => ({
  guardrails: middleware.flatMap((each) => guardrailsOf(each, own)),
  startHooks: middleware.flatMap((each) => startHooksOf(each, own)),
  loggers: middleware.flatMap((each): readonly RunLogger[] =>
    isMiddleware("logger")(each) ? [each.params] : [],
  ),
});

/** Returns the time limits of an agent's run, by the clock and without waits for people. */
export const timeoutsOf = ({ middleware }: AgentConfig): Pick<RunLimits, "timeoutMs" | "activeMs"> => ({
  timeoutMs: timeoutOf(middleware, "wall"),
  activeMs: timeoutOf(middleware, "active"),
});
