import * as z from "zod";
import type { CallRecord } from "../agent/effect.ts";
import { defineGuard } from "../agent/guard.ts";
import { keyOf } from "./detectors.ts";

/** Ends a run whose replies ask for the same calls and get the same outcomes (EF-36). */

type State = {
  /** Keys of the last reply's calls, in order. */
  readonly calls: string;
  /** Outcomes of the reply before it, if that was equal. */
  readonly outcomes: string | null;
  /** Equal replies in a row. */
  readonly count: number;
};

const initial: State = { calls: "", outcomes: null, count: 0 };

/** Calls of a reply at most (SE-13). */
const mostCalls = 64;

/** Outcomes of the newest turn of a run. */
const outcomesOf = (history: readonly CallRecord[], run: string): string => {
  const newest = history.at(-1)?.turn;
  return history
    .filter((record) => record.run === run && record.turn === newest)
    .map(({ outcome }) => outcome)
    .join(" ");
};

/** Behind `options.loop_detection_threshold`. */
export const equalReplies = defineGuard({
  kind: "equal_replies",
  description: "Ends a run after equal replies in a row.",
  params: z.strictObject({ threshold: z.int().min(2).describe("Equal replies that end the run.") }),
  state: { initial, reset: "run" },
  history: () => mostCalls,
  before: (call, history, { params, state, earlier, later, run }) => {
    if (later > 0) return { do: "allow" };
    const calls = [...earlier, call].map(keyOf).join("\n");
    const outcomes = outcomesOf(history, run);
    const unbroken = state.outcomes === null || state.outcomes === outcomes;
    const before = unbroken ? state.count : 1;
    const equal = state.count > 0 && calls === state.calls;
    const count = equal ? before + 1 : 1;
    const next: State = { calls, outcomes: equal ? outcomes : null, count };
    if (count < params.threshold) return { do: "allow", state: next };
    const message = `${count} replies in a row asked for the same calls`;
    const loop = { detector: "loop_detection_threshold", count, message };
    return { do: "stop", reason: `${message}; the run was ended.`, loop, exhausted: true, state: next };
  },
});
