import * as z from "zod";
import type { CallRecord } from "../agent/state/records.ts";
import { defineGuard } from "../agent/definition/guard.ts";
import { mostCallsPerReply } from "../agent/context/history.ts";
import { shortDigest } from "../sandbox/sha256.ts";
import { callKeyOf } from "./detectors.ts";

/** Ends a run whose replies make the same calls and get the same outcomes. */

type EqualRepliesState = {
  /** Digests of the newest finished reply's calls, and of their outcomes, in order. */
  readonly calls: string;
  readonly outcomes: string;
  /** Number of such replies in a row. */
  readonly count: number;
  /** Number of its last record. */
  readonly last: number;
  /** Unfinished reply, and how many of its calls will have records. */
  readonly open?: { readonly calls: string; readonly size: number };
};

const noEqualReplies: EqualRepliesState = { calls: "", outcomes: "", count: 0, last: 0 };

/** Keeps the state before a reply, unless other records or a person's input interrupt the sequence. */
const keepUnbroken = (state: EqualRepliesState, history: readonly CallRecord[]): EqualRepliesState => {
  const last = history.at(-1)?.n ?? 0;
  return last === state.last ? state : { ...noEqualReplies, last };
};

/** Returns the state once the unfinished reply has all its outcomes; null while one is missing. */
const closeReply = (state: EqualRepliesState, ended: readonly CallRecord[]): EqualRepliesState | null => {
  const { open } = state;
  if (open === undefined || ended.length < open.size) return null;
  const inOrder = ended.toSorted((a, b) => a.n - b.n);
  const outcomes = shortDigest(inOrder.map(({ outcome }) => outcome).join(" "));
  const equal = open.calls === state.calls && outcomes === state.outcomes;
  const last = inOrder.at(-1)?.n ?? state.last;
  return { calls: open.calls, outcomes, count: equal ? state.count + 1 : 1, last };
};

/** Guard that `options.loop_detection_threshold` configures. */
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
