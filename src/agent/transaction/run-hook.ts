import type { Outcome } from "../../tools/errors.ts";
import { catchThrown } from "../../tools/errors.ts";
import type { Draft } from "./draft.ts";

/** Runs code of an effect, a guard or middleware; what it throws is logged with the commit. */
export const runHook = <T>(draft: Draft, thread: string, hook: string, act: () => T): Outcome<T> => {
  const outcome = catchThrown(act);
  const run = draft.state.threads[thread]?.run?.id;
  if ("thrown" in outcome) draft.thrown.push({ thread, run, hook, error: outcome.error });
  return outcome;
};
