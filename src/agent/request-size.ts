import { estimateRequest } from "../chat/tokens.ts";
import type { Agent } from "./agent.ts";
import type { Run, Thread } from "./state.ts";
import { contextTokens } from "./usage.ts";

/** Tokens of what is declared with a request (EF-8). */

/** Estimated tokens of an agent's tools with these names (MO-34). */
export const toolTokens = ({ specs }: Agent, names: readonly string[]): number =>
  names.length === 0
    ? 0
    : estimateRequest({ system: "", messages: [], tools: specs.filter(({ name }) => names.includes(name)) });

/** Context of the last call without what has left since: messages by edits, tools since they were hidden (EF-8). */
export const contextLeft = (
  agent: Agent,
  { lastUsage, removed, lastHidden = [] }: Thread,
  { hidden }: Pick<Run, "hidden">,
): number => {
  const fresh = hidden.filter((name) => !lastHidden.includes(name));
  return contextTokens(lastUsage) - removed - toolTokens(agent, fresh);
};
