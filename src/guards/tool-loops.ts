import type { CallRecord } from "../agent/state/records.ts";
import { defineGuard } from "../agent/definition/guard.ts";
import type { GuardFacts, JudgedCall, DetectedLoop, GuardVerdict } from "../agent/definition/guard.ts";
import { isForgotten, nextPoll } from "./backoff.ts";
import { extendStreak, countEndedCalls, findStreak, streakLength } from "./streaks.ts";
import { detectLoops, isSameCall, callKeyOf, countRepeats, worstOf } from "./detectors.ts";
import type { CallKey, LoopFinding, ComparedCall } from "./detectors.ts";
import { toolLoopsParams } from "./schema.ts";
import type { ToolLoops } from "./schema.ts";

/** Warns of loops of calls, then refuses a reply, then ends the run. */

/** Newest outcome of a poll, its number in a row without a break of more than an hour, and its last time. */
type Poll = readonly [outcome: string, equal: number, at: number];

/** State of the guard; a type, because an interface does not count as JSON. */
type ToolLoopState = {
  /** Streaks beyond the window, of records up to `upTo`; later records are all in the window. */
  readonly counts: string;
  readonly upTo: number;
  /** Polls by key, the longest untouched first. */
  readonly polls: Readonly<Record<string, Poll>>;
  /** Warnings that were given: detector, floor(count / threshold), key. */
  readonly warned: readonly string[];
  /** Calls of the refused reply up to the one that was judged, and the newest record before them. */
  readonly refused: { readonly after: number; readonly calls: readonly CallKey[] } | null;
};

const noToolLoops: ToolLoopState = { counts: "", upTo: 0, polls: {}, warned: [], refused: null };

const mostKept = 64;

/** Returns whether a call ran; skipped or cancelled calls do not count towards a loop. */
const didRun = ({ status }: CallRecord): boolean => status !== "skipped" && status !== "cancelled";

const openCall = ({ tool, args }: CallKey): ComparedCall => ({
  tool,
  args,
  outcome: null,
});

/** Returns the records including the refused calls; without those if their place has left the window. */
const withRefused = (records: readonly CallRecord[], { refused }: ToolLoopState): readonly ComparedCall[] => {
  if (refused === null) return records;
  const at = records.findLastIndex(({ n }) => n <= refused.after) + 1;
  if (at === 0) return records;
  return [...records.slice(0, at), ...refused.calls.map(openCall), ...records.slice(at)];
};

/** Returns the earlier streak of a call, counted beyond the window. */
const carriedStreak = (
  call: JudgedCall,
  records: readonly CallRecord[],
  { counts, upTo }: ToolLoopState,
  { earlier }: GuardFacts,
  strict: boolean,
): number => {
  let kept = findStreak(counts, call);
  for (const each of records)
    if (each.n > upTo && isSameCall(each, call)) kept = extendStreak(kept, each.outcome, strict);
  const equal = streakLength(kept);
  return strict || equal >= 2 ? equal + countRepeats(earlier.map(openCall), call) : equal;
};

const timesText = (count: number): string => `${count} times`;

/** Describes the loop for the model and the stream. */
const loopSentence = (
  { tool }: JudgedCall,
  { detector, level, count }: LoopFinding,
  strict: boolean,
): string => {
  const same = strict || level === "warning" ? "the same arguments" : "the same arguments and outcome";
  switch (detector) {
    case "known_poll_no_progress":
      return `${tool} returned nothing new ${timesText(count)} in a row`;
    case "ping_pong":
      return `${tool} and another call alternated for ${count} calls`;
    case "generic_repeat":
    case "global_circuit_breaker":
      return `${tool} was called ${timesText(count)} with ${same}`;
  }
};

const loopOf = (call: JudgedCall, finding: LoopFinding, strict: boolean): DetectedLoop => ({
  detector: finding.detector,
  count: finding.count,
  message: loopSentence(call, finding, strict),
});

const afterCompaction = "post_compaction";
const minIdentical = 3;

/** Finds a call that repeats with one outcome even after a compaction; polls have their own detector. */
const stuckAfterCompaction = (
  call: JudgedCall,
  records: readonly CallRecord[],
  { compacted, earlier }: GuardFacts,
): DetectedLoop | null => {
  if (compacted === null || call.poll || !earlier.every((each) => isSameCall(each, call))) return null;
  const outcome = records.at(-1)?.outcome;
  const other = records.findLastIndex(
    (each) => each.n < compacted || !isSameCall(each, call) || each.outcome !== outcome,
  );
  const row = records.length - 1 - other;
  if (row < minIdentical - 1) return null;
  const count = row + earlier.length + 1;
  const message = `${call.tool} was called ${timesText(count)} in a row with the same arguments and outcome since the chat was compacted`;
  return { detector: afterCompaction, count, message };
};

const stopVerdictOf = (loop: DetectedLoop, state: ToolLoopState): GuardVerdict<ToolLoopState> => ({
  do: "stop",
  reason: `${loop.message}; the run was ended.`,
  loop,
  state,
});

/** Refuses the reply at the first critical finding, ends the run at the second, and at once if the breaker trips. */
const refuseOrStop = (
  loop: DetectedLoop,
  state: ToolLoopState,
  refused: NonNullable<ToolLoopState["refused"]>,
): GuardVerdict<ToolLoopState> => {
  if (loop.detector === "global_circuit_breaker" || state.refused !== null) return stopVerdictOf(loop, state);
  const reason = `${loop.message}. No call of this reply was run. Do something else, or end with what you know: the next such call ends the run.`;
  return { do: "veto", reason, loop, state: { ...state, refused } };
};

const bucketOf = ({ detector, count, key }: LoopFinding, threshold: number): string =>
  `${detector} ${Math.floor(count / threshold)} ${key}`;

/** Warns the model once per detector, key and floor(count / threshold); `strict` notifies the stream every time. */
const warnOnce = (
  call: JudgedCall,
  found: readonly LoopFinding[],
  { warning_threshold: threshold, strict }: ToolLoops,
  state: ToolLoopState,
): GuardVerdict<ToolLoopState> => {
  const fresh = found.find((finding) => !state.warned.includes(bucketOf(finding, threshold)));
  const said = fresh ?? (strict ? found[0] : undefined);
  if (said === undefined) return { do: "allow" };
  const loop = loopOf(call, said, strict);
  if (fresh === undefined) return { do: "warn", note: null, loop };
  const note = `[tool_loops: ${loop.message}. If this does not get you further, do something else.]`;
  const buckets = [...state.warned, bucketOf(fresh, threshold)].slice(-mostKept);
  return { do: "warn", note, loop, state: { ...state, warned: buckets } };
};

/** Returns whether a call is the first of its kind, like most, so that no loop is possible. */
const isFirst = (
  call: JudgedCall,
  history: readonly CallRecord[],
  { counts, polls }: ToolLoopState,
  earlier: GuardFacts["earlier"],
): boolean =>
  !history.some((each) => isSameCall(each, call)) &&
  !earlier.some((each) => isSameCall(each, call)) &&
  findStreak(counts, call) === undefined &&
  (!call.poll || polls[callKeyOf(call)] === undefined);

/** Returns when a poll may run, if not now. */
const holdPoll = (
  call: JudgedCall,
  { polls }: ToolLoopState,
  { poll_backoff }: ToolLoops,
  now: number,
): { readonly until?: number } => {
  const poll = poll_backoff === "enforce" && call.poll ? polls[callKeyOf(call)] : undefined;
  if (poll === undefined) return {};
  const [, equal, at] = poll;
  const until = nextPoll({ equal, at }, now);
  return until === null || until <= now ? {} : { until };
};

/** Records are counted in batches, always before they leave the window. */
const maxCountBatch = 16;

const countBatch = ({ history_size }: ToolLoops): number =>
  Math.min(maxCountBatch, Math.ceil(history_size / 2));

/** Counts the records that are about to leave the window, and a record that ended after later ones were counted. */
const withCounts = (
  state: ToolLoopState,
  record: CallRecord,
  history: readonly CallRecord[],
  params: ToolLoops,
): ToolLoopState => {
  const { counts, upTo } = state;
  const { strict } = params;
  if (record.n <= upTo) return { ...state, counts: countEndedCalls(counts, [record], strict) };
  const from = history.findLastIndex(({ n }) => n <= upTo) + 1;
  if (history.length - from + 1 < countBatch(params)) return state;
  const ended = [...history.slice(from), record];
  const last = ended.reduce((most, { n }) => Math.max(most, n), upTo);
  return { ...state, counts: countEndedCalls(counts, ended.filter(didRun), strict), upTo: last };
};

const withPoll = (state: ToolLoopState, { tool, args, outcome }: CallRecord, now: number): ToolLoopState => {
  const key = callKeyOf({ tool, args });
  const { [key]: before, ...others } = state.polls;
  const goesOn = before !== undefined && before[0] === outcome && !isForgotten(before[2], now);
  const kept = Object.entries(others).slice(1 - mostKept);
  const poll: Poll = [outcome, goesOn ? before[1] + 1 : 1, now];
  return { ...state, polls: { ...Object.fromEntries(kept), [key]: poll } };
};

/** Returns the note in a poll's result about the next poll. */
const pollNote = (
  { polls }: ToolLoopState,
  record: CallRecord,
  params: ToolLoops,
  now: number,
): string | null => {
  const [, equal, at] = polls[callKeyOf(record)] ?? ["", 0, now];
  const next = nextPoll({ equal, at }, now);
  if (next === null) return null;
  const held = params.poll_backoff === "enforce" ? "; an earlier one waits until then" : "";
  return `[poll: nothing new ${timesText(equal)} in a row; the next useful poll is in ${(next - now) / 1_000} s, at ${new Date(next).toISOString()}${held}]`;
};

/** Guard against tool loops. */
export const toolLoops = defineGuard({
  kind: "tool_loops",
  description: "Warns of repeated calls, then refuses them, then ends the run.",
  params: toolLoopsParams,
  state: { initial: noToolLoops, reset: "input" },
  history: ({ history_size }) => history_size,
  before: (call, history, context) => {
    const { params, earlier, now } = context;
    const { state } = context;
    if (isFirst(call, history, state, earlier)) return { do: "allow" };
    const records = history.filter(didRun);
    const stuck = stuckAfterCompaction(call, records, context);
    if (stuck !== null) return stopVerdictOf(stuck, state);
    const carried = carriedStreak(call, records, state, context, params.strict);
    const before = earlier.map(openCall);
    const attempted = [...withRefused(records, state), ...before];
    const found = detectLoops(call, [...records, ...before], carried, params, attempted);
    const worst = worstOf(found);
    if (worst?.level === "critical")
      return refuseOrStop(loopOf(call, worst, params.strict), state, {
        after: history.at(-1)?.n ?? 0,
        calls: [...before, call].map(({ tool, args }) => ({ tool, args })),
      });
    return { ...warnOnce(call, found, params, state), ...holdPoll(call, state, params, now) };
  },
  after: (record, history, { params, state, now }) => {
    if (!didRun(record)) return {};
    const known = withCounts(state, record, history, params);
    const polls = record.poll && params.poll_backoff !== "off";
    const next = polls ? withPoll(known, record, now) : known;
    const note = polls ? pollNote(next, record, params, now) : null;
    return { ...(next === state ? {} : { state: next }), ...(note === null ? {} : { note }) };
  },
});
