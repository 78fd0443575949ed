import type { Draft } from "../transaction/draft.ts";
import { agentOf, emit, runOf } from "../transaction/draft.ts";

/**
 * Checks the model's window at the start of a run: a window below `minimum` ends the run before any call, one
 * below `warning` is reported once in a session.
 */
export const guardContextWindow = (draft: Draft, threadId: string): void => {
  const [target] = agentOf(draft, threadId).targets;
  if (target === undefined || target.fit === "fits") return;
  const { provider, model, window } = target;
  if (target.fit === "too_small") {
    const error = `the context window of ${provider}/${model} has ${window} tokens, fewer than guards.context_window.minimum; use a larger model`;
    runOf(draft, threadId).stop = { reason: "context_window_too_small", error };
    return;
  }
  if (draft.state.said.includes("small_window")) return;
  emit(draft, threadId, "context_window_warning", { kind: "small_window", window });
  draft.state.said = [...draft.state.said, "small_window"];
};
