import * as z from "zod";
import type { CallRecord } from "../agent/state/records.ts";
import { defineGuard } from "../agent/definition/guard.ts";
import { mostCallsPerReply } from "../agent/context/history.ts";
import { shortDigest } from "../sandbox/sha256.ts";
import { callKeyOf } from "./detectors.ts";

/** Ends a run whose replies ask for the same calls and get the same outcomes. */

type EqualRepliesState = {
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

const noEqualReplies: EqualRepliesState = { calls: "", outcomes: "", count: 0, last: 0 };

/** The state before a reply; records that are no reply of this row, or are gone with a person's input, break it. */
const keepUnbroken = (state: EqualRepliesState, history: readonly CallRecord[]): EqualRepliesState => {
  const last = history.at(-1)?.n ?? 0;
  return last === state.last ? state : { ...noEqualReplies, last };
};

/** The state once the reply under way has its outcomes; null as long as one is missing. */
const closeReply = (state: EqualRepliesState, ended: readonly CallRecord[]): EqualRepliesState | null => {
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
  state: { initial: noEqualReplies, reset: "run" },
  history: () => mostCallsPerReply,
  before: (call, history, { state, earlier, later }) => {
    if (later > 0) return { do: "allow" };
    const all = [...earlier, call];
    const calls = shortDigest(all.map(callKeyOf).join("\n"));
    const size = Math.min(all.length, mostCallsPerReply);
    return { do: "allow", state: { ...keepUnbroken(state, history), open: { calls, size } } };
  },
  after: (record, history, { params, state }) => {
    const next = closeReply(state, [...history.filter(({ n }) => n > state.last), record]);
    if (next === null) return {};
    const { count } = next;
    if (count < params.threshold) return { state: next };
    const message = `${count} replies in a row asked for the same calls, with the same outcomes`;
    const loop = { detector: "loop_detection_threshold", count, message };
    return { state: next, stop: { reason: `${message}; the run was ended.`, loop, exhausted: true } };
  },
});
