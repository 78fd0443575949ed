import { estimateRequest, estimateText } from "../../chat/tokens.ts";
import type { Agent, ModelTarget } from "../definition/agent.ts";
import { isPlanning } from "../state/phase.ts";
import type { Run } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";
import { contextTokens } from "../state/budget.ts";
import { renderMessage } from "../../chat/render.ts";
import type { Message } from "../../chat/message.ts";
import { callsOf } from "../../chat/view.ts";
import type { FallbackChain } from "../../model/retry.ts";
import { startFallbackChain } from "../../model/retry.ts";
import { allTargets, findNamedTarget } from "../definition/agent.ts";
import type { Phase } from "../state/phase.ts";
import type { ThreadDraft } from "./draft.ts";
import { agentOf, runOf } from "./draft.ts";

/** Says of the next request of a thread whom it asks, and how large it is. */

/** Finds the model target of a thread's call, even after a model change; undefined if it no longer exists. */
export const findTarget = (
  draft: ThreadDraft,
  name: Pick<ModelTarget, "provider" | "model">,
): ModelTarget | undefined => {
  for (const chosen of [undefined, null, `${name.provider}/${name.model}`]) {
    const targets = allTargets(draft.context.agents(draft.thread, chosen));
    const found = findNamedTarget(targets, name);
    if (found !== undefined) return found;
  }
  return undefined;
};

export type ThinkingPhase = Extract<Phase, { at: "thinking" }>;

export type WaitingPhase = Extract<Phase, { at: "waiting" }>;

/** Returns the fallback chain of a turn that begins now. */
export const turnFallbackChain = (draft: ThreadDraft): FallbackChain => {
  const { health, now } = draft.context;
  const { targets } = agentOf(draft);
  return startFallbackChain(
    targets.map(({ provider, model }) => ({ provider, model, ...health(provider, model) })),
    now,
  );
};

/** Returns whether the fallback chain of a wait is still the agent's: a model override changes it. */
const hasSameTargets = ({ list }: FallbackChain, targets: Agent["targets"]): boolean =>
  list.length === targets.length &&
  list.every(({ provider, model }, at) => provider === targets[at]?.provider && model === targets[at].model);

/** Returns the chain and the ticket of a turn's next attempt, from its wait. */
export const nextAttempt = (draft: ThreadDraft): Pick<WaitingPhase, "attempt" | "chain" | "ticket"> => {
  const { phase, plan } = runOf(draft);
  if (phase.at === "waiting" && hasSameTargets(phase.chain, agentOf(draft).targets)) return phase;
  const first = isPlanning(plan) ? (plan?.attempts ?? 0) + 1 : 1;
  const attempt = phase.at === "waiting" || phase.at === "preparing" ? phase.attempt : first;
  return { attempt, chain: turnFallbackChain(draft), ticket: null };
};

/** A request for a plan differs from that of a turn by this text at its end, and by its tools. */

const text =
  "Before anything is done, make a plan: which files you need, what you will change in each, and in which order. Write the plan and nothing else. You cannot call tools now; you will carry the plan out afterwards.";

export const planInstruction: Message = renderMessage({
  id: "msg_plan_instruction",
  pos: -1,
  role: "user",
  origin: "system",
  sender: "plan",
  marks: ["note"],
  parts: [{ type: "text", text }],
  at: 0,
  tokens: estimateText(text),
});

/** Returns whether a request for a plan declares tools: providers take calls in a history only with their tools. */
export const declaresTools = (chat: readonly Message[]): boolean =>
  chat.some((message) => callsOf(message).length > 0);

/** Estimates the tokens of an agent's tools with these names. */
export const toolTokens = ({ specs }: Agent, names: readonly string[]): number =>
  names.length === 0
    ? 0
    : estimateRequest({ system: "", messages: [], tools: specs.filter(({ name }) => names.includes(name)) });

/** Returns the context of the last call without what has left since: edited messages and hidden tools. */
export const remainingContextTokens = (
  agent: Agent,
  { lastUsage, removed, lastHidden }: Thread,
  { hidden }: Pick<Run, "hidden">,
): number => {
  const fresh = Object.keys(hidden).filter((name) => !lastHidden.includes(name));
  return contextTokens(lastUsage) - removed - toolTokens(agent, fresh);
};

/** Estimates a request from stored figures: system prompt, declared tools and chat. */
export const requestTokens = (
  agent: Agent,
  { tokens, depth, chat }: Thread,
  { light, hidden, plan }: Pick<Run, "light" | "hidden" | "plan">,
): number => {
  const plain = agent.system({ depth, light }).tokens + tokens;
  if (!isPlanning(plan)) return plain - toolTokens(agent, Object.keys(hidden));
  const left = declaresTools(chat) ? [] : agent.specs.map(({ name }) => name);
  return plain + planInstruction.tokens - toolTokens(agent, left);
};

/** Returns the number of messages of the request and of the tools that it declares. */
export const requestSizes = (
  { specs }: Agent,
  { chat }: Thread,
  { hidden, plan }: Pick<Run, "hidden" | "plan">,
): { readonly messages: number; readonly tools: number } => {
  const { length } = chat;
  if (!isPlanning(plan))
    return { messages: length, tools: specs.filter(({ name }) => !Object.hasOwn(hidden, name)).length };
  return { messages: length + 1, tools: declaresTools(chat) ? specs.length : 0 };
};

/** Returns the share of the window that the last call of a thread used; 0 for an unknown window. */
export const utilizationOf = (thread: Thread, window: number): number =>
  window > 0 ? contextTokens(thread.lastUsage) / window : 0;
