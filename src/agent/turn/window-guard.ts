import { contextTokens } from "../state/usage.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, emit, threadOf, runOf } from "../transaction/draft.ts";
import { utilizationOf } from "../transaction/estimate.ts";

/**
 * The window guard checks a run at its start: a window below `minimum` ends the run before any call, one below
 * `warning` is reported once in a session.
 */
export const guardContextWindow = (draft: Draft, threadId: string): void => {
  const [lane] = agentOf(draft, threadId).lanes;
  if (lane === undefined || lane.fit === "fits") return;
  const { provider, model, window } = lane;
  if (lane.fit === "too_small") {
    const error = `the context window of ${provider}/${model} has ${window} tokens, fewer than guards.context_window.minimum; use a larger model`;
    runOf(draft, threadId).stop = { reason: "context_window_too_small", error };
    return;
  }
  if (draft.state.windowWarned === true) return;
  const thread = threadOf(draft, threadId);
  const utilization = utilizationOf(thread, window);
  const tokens = contextTokens(thread.lastUsage);
  emit(draft, threadId, "context_window_warning", { utilization, tokens, limit: window });
  draft.state.windowWarned = true;
};
