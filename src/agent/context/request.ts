import type { Json } from "../../chat/message.ts";
import type { RefusedBefore } from "../../chat/refused.ts";
import { withoutRefused } from "../../chat/refused.ts";
import type { ModelRequest } from "../../model/completer.ts";
import { allowedOutput, allowedThinking } from "../budgets/bounds.ts";
import type { Agent, ModelTarget } from "../definition/agent.ts";
import type { ModelCall } from "../state/phase.ts";
import type { ContextSnapshot } from "../state/records.ts";
import type { Run } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import { requestTokens, declaresTools, planInstruction } from "../transaction/next-request.ts";
import type { ThinkingPhase } from "../transaction/next-request.ts";

type TargetName = Pick<ModelTarget, "provider" | "model">;

interface RequestFacts {
  readonly agent: Agent;
  readonly target: ModelTarget;
  readonly depth: number;
  readonly light: boolean;
  /** Tools that effects took out of the turn. */
  readonly hidden: Run["hidden"];
  /** Schema of the answer that the input asked for. */
  readonly schema: Json | null;
  /** The newest message of the thread's previous call. */
  readonly previous: string | null;
  /** What the target refused of the messages. */
  readonly refusedBefore: RefusedBefore;
  readonly messages: ModelRequest["messages"];
  /** Estimated tokens of the request. */
  readonly input: number;
  readonly maxTokens: number;
  readonly media: ModelRequest["media"];
  readonly context: ModelRequest["context"];
}

/** Returns the tools that effects left in the turn: the agent's own list if that is all of them. */
const toolsLeft = ({ specs }: Agent, hidden: Run["hidden"]): Agent["specs"] =>
  Object.keys(hidden).length === 0 ? specs : specs.filter(({ name }) => !Object.hasOwn(hidden, name));

/** Returns a target's sampling with as much reasoning as the window leaves beside the reply. */
const samplingFor = (target: ModelTarget, input: number): ModelTarget["sampling"] => {
  const { sampling, thinking } = target;
  const budgetTokens = allowedThinking(target, input);
  if (budgetTokens === thinking) return sampling;
  return { ...sampling, reasoning: budgetTokens === 0 ? { effort: "none" } : { budgetTokens } };
};

/** Builds a turn's request as a pure function of stored facts and the definition, so it can be rebuilt later. */
export const buildTurnRequest = (facts: RequestFacts): ModelRequest => {
  const { agent, target, depth, light, hidden, schema, previous, maxTokens, media, context } = facts;
  const { text } = agent.system({ depth, light });
  const request: ModelRequest = {
    model: target.model,
    system: text,
    messages: withoutRefused(facts.messages, facts.refusedBefore),
    tools: toolsLeft(agent, hidden),
    toolChoice: agent.toolsDisabled ? "none" : "auto",
    maxTokens,
    ...samplingFor(target, facts.input),
    ...(agent.responseFormat === null ? {} : { responseFormat: agent.responseFormat }),
    ...(schema === null ? {} : { responseFormat: { type: "json_schema", schema } }),
    cache: target.cache,
    ...(previous === null ? {} : { previousNewest: previous }),
    media,
    context,
  };
  return context.purpose === "plan" ? asPlanRequest(request) : request;
};

/** Asks for a plan after the chat, by a text that no row holds; tools cannot be called. */
const asPlanRequest = (request: ModelRequest): ModelRequest => {
  const { responseFormat: _, messages, tools, ...rest } = request;
  return {
    ...rest,
    messages: [...messages, planInstruction],
    tools: declaresTools(messages) ? tools : [],
    toolChoice: "none",
  };
};

/** Returns where a call's request comes from. */
export const originOf = (
  { id: session }: Session,
  agent: Agent,
  { id: thread, calls: call }: Thread,
  { id: run, turn }: Run,
  { attempt, purpose }: ModelCall,
): ModelRequest["context"] => ({ session, agent: agent.name, thread, run, turn, call, attempt, purpose });

/** Returns the session's model override as far as it applies to the thread. */
export const modelOverrideFor = ({ model, modelScope }: Session, { child }: Thread): string | null =>
  child === null || modelScope === "tree" ? model : null;

/** Returns what a model target refused of a chat. */
export const refusedBeforeOf = ({ refusedBefore }: Thread, target: TargetName): RefusedBefore =>
  refusedBefore[`${target.provider}/${target.model}`] ?? {};

/** Records what the request of an attempt is made of. */
export const createContextSnapshot = (
  agent: Agent,
  thread: Thread,
  run: Run,
  { from: { edit, override }, call }: Pick<ThinkingPhase, "from" | "call">,
): ContextSnapshot => {
  const { depth, nextPos, previousNewest } = thread;
  const { light, hidden, outputSchema, target } = run;
  const { provider, model, window } = target;
  const size = requestTokens(agent, thread, run);
  return {
    edit,
    pos: nextPos - 1,
    size,
    window,
    max_tokens: allowedOutput(target, size, call.reservation.output),
    target: { provider, model },
    depth,
    light,
    override,
    hidden,
    previous: previousNewest,
    schema: outputSchema,
    refused_before: refusedBeforeOf(thread, target),
    hash: null,
  };
};
