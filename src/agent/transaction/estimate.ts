import { estimateRequest } from "../../chat/tokens.ts";
import type { Agent } from "../definition/agent.ts";
import type { Run } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";
import { contextTokens } from "../state/usage.ts";

/** The tokens of a request are estimated here. */

/** It estimates the tokens of an agent's tools with these names. */
export const toolTokens = ({ specs }: Agent, names: readonly string[]): number =>
  names.length === 0
    ? 0
    : estimateRequest({ system: "", messages: [], tools: specs.filter(({ name }) => names.includes(name)) });

/** The context of the last call shrinks by what has left since: messages by edits, tools since they were hidden. */
export const remainingContextTokens = (
  agent: Agent,
  { lastUsage, removed, lastHidden }: Thread,
  { hidden }: Pick<Run, "hidden">,
): number => {
  const fresh = hidden.filter((name) => !lastHidden.includes(name));
  return contextTokens(lastUsage) - removed - toolTokens(agent, fresh);
};

/** A request is estimated from stored figures: system prompt, declared tools and chat. */
export const requestTokens = (
  agent: Agent,
  { tokens, depth }: Thread,
  { light, hidden }: Pick<Run, "light" | "hidden">,
): number => agent.system({ depth, light }).tokens + tokens - toolTokens(agent, hidden);

/** The last call of a thread used this share of the window; 0 for an unknown window. */
export const utilizationOf = (thread: Thread, window: number): number =>
  window > 0 ? contextTokens(thread.lastUsage) / window : 0;
