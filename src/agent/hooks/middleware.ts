import { textOf } from "../../chat/text.ts";
import { catchThrown } from "../../tools/errors.ts";
import type { MiddlewareRun, StartHook, StartResult } from "../definition/middleware.ts";
import { findTaskMessage } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, runOf, threadOf } from "../transaction/draft.ts";

/** Shows a run to the hooks of middleware and lets them act at its start. */

/** Returns the facts of an active run, which are the same at its start and at its end. */
export const middlewareRunOf = (draft: Draft, threadId: string): MiddlewareRun => {
  const thread = threadOf(draft, threadId);
  const { id, startedAt } = runOf(draft, threadId);
  const task = findTaskMessage(thread, runOf(draft, threadId));
  return {
    id,
    agent: thread.agent,
    depth: thread.depth,
    task: task === null ? "" : textOf(task.parts),
    startedAt,
  };
};

const callStart = ({ start }: StartHook, run: MiddlewareRun): StartResult => {
  const started = catchThrown(() => start(run));
  return "thrown" in started ? { fail: started.thrown } : started.given;
};

/**
 * Gives a run the notes of its middleware once, the outermost first. Returns false if one of them failed it.
 */
export const startMiddleware = (draft: Draft, threadId: string): boolean => {
  const { startHooks } = agentOf(draft, threadId);
  const run = runOf(draft, threadId);
  if (startHooks.length === 0 || run.started) return true;
  run.started = true;
  const facts = middlewareRunOf(draft, threadId);
  for (const hook of startHooks) {
    const { note = "", fail } = callStart(hook, facts);
    if (fail !== undefined) {
      run.stop = { reason: "effect_failed", error: `${hook.kind}: ${fail}` };
      return false;
    }
    if (/\S/.test(note)) run.notes = [...run.notes, { kind: hook.kind, text: note }];
  }
  return true;
};
