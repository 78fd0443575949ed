import { estimateRequest } from "../../chat/tokens.ts";
import type { Agent } from "../definition/agent.ts";
import type { Run } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";
import { contextTokens } from "../state/usage.ts";

/** Tokens of what is declared with a request. */

/** Estimated tokens of an agent's tools with these names. */
export const toolTokens = ({ specs }: Agent, names: readonly string[]): number =>
  names.length === 0
    ? 0
    : estimateRequest({ system: "", messages: [], tools: specs.filter(({ name }) => names.includes(name)) });

/** Context of the last call without what has left since: messages by edits, tools since they were hidden. */
export const remainingContextTokens = (
  agent: Agent,
  { lastUsage, removed, lastHidden = [] }: Thread,
  { hidden }: Pick<Run, "hidden">,
): number => {
  const fresh = hidden.filter((name) => !lastHidden.includes(name));
  return contextTokens(lastUsage) - removed - toolTokens(agent, fresh);
};

/** Estimated tokens of a request: system prompt, tools that are declared, and chat, from stored figures. */
export const requestTokens = (
  agent: Agent,
  { tokens, depth }: Thread,
  { light, hidden }: Pick<Run, "light" | "hidden">,
): number => agent.system({ depth, light }).tokens + tokens - toolTokens(agent, hidden);

/** Share of the window that the last call of a thread used; 0 for an unknown window. */
export const utilizationOf = (thread: Thread, window: number): number =>
  window > 0 ? contextTokens(thread.lastUsage) / window : 0;
