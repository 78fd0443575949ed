import * as z from "zod";
import type { CallRecord } from "../agent/state/records.ts";
import { defineGuard } from "../agent/definition/guard.ts";
import { mostCalls } from "../agent/context/history.ts";
import { shortDigest } from "../sandbox/sha256.ts";
import { keyOf } from "./detectors.ts";

/** Ends a run whose replies ask for the same calls and get the same outcomes. */

type State = {
  /** Calls of the newest reply that has its outcomes, and those, in order: digests. */
  readonly calls: string;
  readonly outcomes: string;
  /** Such replies in a row. */
  readonly count: number;
  /** Number of its last record. */
  readonly last: number;
  /** The reply under way, and how many of its calls will have records. */
  readonly open?: { readonly calls: string; readonly size: number };
};

const initial: State = { calls: "", outcomes: "", count: 0, last: 0 };

/** The state before a reply; records that are no reply of this row, or are gone with a person's input, break it. */
const unbroken = (state: State, history: readonly CallRecord[]): State => {
  const last = history.at(-1)?.n ?? 0;
  return last === state.last ? state : { ...initial, last };
};

/** The state once the reply under way has its outcomes; null as long as one is missing. */
const closed = (state: State, ended: readonly CallRecord[]): State | null => {
  const { open } = state;
  if (open === undefined || ended.length < open.size) return null;
  const inOrder = ended.toSorted((a, b) => a.n - b.n);
  const outcomes = shortDigest(inOrder.map(({ outcome }) => outcome).join(" "));
  const equal = open.calls === state.calls && outcomes === state.outcomes;
  const last = inOrder.at(-1)?.n ?? state.last;
  return { calls: open.calls, outcomes, count: equal ? state.count + 1 : 1, last };
};

/** Behind `options.loop_detection_threshold`. */
export const equalReplies = defineGuard({
  kind: "equal_replies",
  description: "Ends a run after equal replies in a row.",
  params: z.strictObject({ threshold: z.int().min(2).describe("Equal replies that end the run.") }),
  state: { initial, reset: "run" },
  history: () => mostCalls,
  before: (call, history, { state, earlier, later }) => {
    if (later > 0) return { do: "allow" };
    const all = [...earlier, call];
    const calls = shortDigest(all.map(keyOf).join("\n"));
    const size = Math.min(all.length, mostCalls);
    return { do: "allow", state: { ...unbroken(state, history), open: { calls, size } } };
  },
  after: (record, history, { params, state }) => {
    const next = closed(state, [...history.filter(({ n }) => n > state.last), record]);
    if (next === null) return {};
    const { count } = next;
    if (count < params.threshold) return { state: next };
    const message = `${count} replies in a row asked for the same calls, with the same outcomes`;
    const loop = { detector: "loop_detection_threshold", count, message };
    return { state: next, stop: { reason: `${message}; the run was ended.`, loop, exhausted: true } };
  },
});
