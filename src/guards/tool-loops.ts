import type { CallRecord } from "../agent/effect.ts";
import { defineGuard } from "../agent/guard.ts";
import type { GuardFacts, JudgedCall, Loop, Verdict } from "../agent/guard.ts";
import { isForgotten, nextPoll } from "./backoff.ts";
import { findings, isSame, keyOf, repeatsOf, streakOf, worstOf } from "./detectors.ts";
import type { Finding, Seen } from "./detectors.ts";
import { toolLoopsParams } from "./schema.ts";
import type { ToolLoops } from "./schema.ts";

/** Ends tool loops (EF-31 to EF-35): warns, then refuses a reply, then ends the run. */

/**
 * What repeats, counted beyond the window: the newest outcome, how often it came in a row, how often the call was made whatever came,
 * the same row without pauses of more than an hour, and when its newest outcome came.
 */
type Streak = readonly [outcome: string, equal: number, calls: number, polls: number, at: number];

/** A type, since an interface is no JSON. */
type State = {
  /** By key, the longest untouched first. */
  readonly streaks: Readonly<Record<string, Streak>>;
  /** Warnings that were said: detector, floor(count / threshold), key. */
  readonly warned: readonly string[];
  readonly vetoes: number;
};

const initial: State = { streaks: {}, warned: [], vetoes: 0 };
const mostKept = 64;

/** Calls that were skipped or cancelled say nothing of a loop. */
const ran = ({ status }: CallRecord): boolean => status !== "skipped" && status !== "cancelled";

const open = ({ tool, args }: Pick<JudgedCall, "tool" | "args">): Seen => ({ tool, args, outcome: null });

/** The streak of a key as it is carried beyond the window. */
const carriedBy = (
  streak: Streak | undefined,
  call: JudgedCall,
  { earlier }: GuardFacts,
  strict: boolean,
): number => {
  if (streak === undefined) return 0;
  const [, equal, calls] = streak;
  const more = repeatsOf(earlier.map(open), call);
  if (strict) return calls + more;
  return equal < 2 ? equal : equal + more;
};

const times = (count: number): string => `${count} times`;

/** What is wrong, as the model and the stream read it. */
const sentence = ({ tool }: JudgedCall, { detector, level, count }: Finding, strict: boolean): string => {
  const same = strict || level === "warning" ? "the same arguments" : "the same arguments and outcome";
  switch (detector) {
    case "known_poll_no_progress":
      return `${tool} brought nothing new ${times(count)} in a row`;
    case "ping_pong":
      return `${tool} and another call took turns for ${count} calls`;
    case "generic_repeat":
    case "global_circuit_breaker":
      return `${tool} was called ${times(count)} with ${same}`;
  }
};

const loopOf = (call: JudgedCall, finding: Finding, strict: boolean): Loop => ({
  detector: finding.detector,
  count: finding.count,
  message: sentence(call, finding, strict),
});

const afterCompaction = "post_compaction";
const identical = 3;

/** A compaction that is followed by nothing but one call with one outcome has helped nobody (EF-33); polls have their own detector. */
const stuckAfterCompaction = (
  call: JudgedCall,
  records: readonly CallRecord[],
  { compacted, earlier }: GuardFacts,
): Loop | null => {
  if (compacted === null || call.poll) return null;
  const since = records.filter(({ n }) => n >= compacted);
  const count = since.length + earlier.length + 1;
  const first = since[0];
  if (first === undefined || since.length < identical - 1) return null;
  if (!earlier.every((each) => isSame(each, call))) return null;
  if (!since.every((each) => isSame(each, call) && each.outcome === first.outcome)) return null;
  const message = `since the chat was compacted, ${call.tool} alone was called, ${times(count)} with the same arguments and outcome`;
  return { detector: afterCompaction, count, message };
};

const stop = (loop: Loop, state: State): Verdict<State> => ({
  do: "stop",
  reason: `${loop.message}; the run was ended.`,
  loop,
  state,
});

/** The first finding of critical level refuses the reply, the second ends the run, and the breaker does so at once. */
const critical = (loop: Loop, state: State): Verdict<State> => {
  if (loop.detector === "global_circuit_breaker" || state.vetoes > 0) return stop(loop, state);
  const reason = `${loop.message}. No call of this reply was run. Do something else, or end with what you know: the next such call ends the run.`;
  return { do: "veto", reason, loop, state: { ...state, vetoes: state.vetoes + 1 } };
};

const bucketOf = ({ detector, count, key }: Finding, threshold: number): string =>
  `${detector} ${Math.floor(count / threshold)} ${key}`;

/** A warning is told to the model once for its detector, key and floor(count / threshold); `strict` tells the stream every time. */
const warned = (
  call: JudgedCall,
  found: readonly Finding[],
  { warning_threshold: threshold, strict }: ToolLoops,
  state: State,
): Verdict<State> => {
  const fresh = found.find((finding) => !state.warned.includes(bucketOf(finding, threshold)));
  const said = fresh ?? (strict ? found[0] : undefined);
  if (said === undefined) return { do: "allow" };
  const loop = loopOf(call, said, strict);
  if (fresh === undefined) return { do: "warn", note: null, loop };
  const note = `[tool_loops: ${loop.message}. If this does not get you further, do something else.]`;
  const buckets = [...state.warned, bucketOf(fresh, threshold)].slice(-mostKept);
  return { do: "warn", note, loop, state: { ...state, warned: buckets } };
};

/** Most calls are the first of their kind: nothing can be a loop then. */
const isFirst = (call: JudgedCall, history: readonly CallRecord[], earlier: GuardFacts["earlier"]): boolean =>
  !history.some((each) => isSame(each, call)) && !earlier.some((each) => isSame(each, call));

/** When a poll may run, if that is not now. */
const heldUntil = (
  call: JudgedCall,
  streak: Streak | undefined,
  { poll_backoff }: ToolLoops,
  now: number,
): { readonly until?: number } => {
  if (poll_backoff !== "enforce" || !call.poll || streak === undefined) return {};
  const [, , , polls, at] = streak;
  const until = nextPoll({ equal: polls, at }, now);
  return until === null || until <= now ? {} : { until };
};

/** What is known of a call's key that has no streak yet; undefined: it was not made before. */
const firstStreak = (record: CallRecord, history: readonly CallRecord[], now: number): Streak | undefined => {
  if (!history.some((each) => isSame(each, record) && ran(each))) return undefined;
  const records = history.filter(ran);
  const last = records.findLast((each) => isSame(each, record));
  return last && [last.outcome, streakOf(records, record), repeatsOf(records, record), 1, now];
};

/** The streak of a call that has its outcome; undefined: nothing repeats. */
const streakAfter = (
  record: CallRecord,
  history: readonly CallRecord[],
  before: Streak | undefined,
  strict: boolean,
  now: number,
): Streak | undefined => {
  const known = before ?? firstStreak(record, history, now);
  if (known === undefined) return undefined;
  const [outcome, equal, calls, polls, at] = known;
  const repeated = outcome === record.outcome;
  if (!repeated && !strict) return undefined;
  const row = repeated && !isForgotten(at, now) ? polls + 1 : 1;
  return [record.outcome, repeated ? equal + 1 : 1, calls + 1, row, now];
};

const withStreak = (state: State, key: string, streak: Streak | undefined): State => {
  const { [key]: before, ...others } = state.streaks;
  if (streak === undefined) return before === undefined ? state : { ...state, streaks: others };
  const kept = Object.entries(others).slice(1 - mostKept);
  return { ...state, streaks: { ...Object.fromEntries(kept), [key]: streak } };
};

/** What a poll's result says of the next one. */
const pollNote = (streak: Streak, params: ToolLoops, now: number): string | undefined => {
  const [, , , polls, at] = streak;
  const next = nextPoll({ equal: polls, at }, now);
  if (next === null) return undefined;
  const held = params.poll_backoff === "enforce" ? "; an earlier one waits until then" : "";
  return `[poll: nothing new ${times(polls)} in a row; the next useful poll is in ${(next - now) / 1_000} s, at ${new Date(next).toISOString()}${held}]`;
};

/** The tool-loop guard. */
export const toolLoops = defineGuard({
  kind: "tool_loops",
  description: "Warns of calls made again and again, then refuses them, then ends the run.",
  params: toolLoopsParams,
  state: { initial, reset: "input" },
  history: ({ history_size }) => history_size,
  before: (call, history, context) => {
    const { params, state, earlier, now } = context;
    const streak = state.streaks[keyOf(call)];
    if (streak === undefined && isFirst(call, history, earlier)) return { do: "allow" };
    const records = history.filter(ran);
    const stuck = stuckAfterCompaction(call, records, context);
    if (stuck !== null) return stop(stuck, state);
    const carried = carriedBy(streak, call, context, params.strict);
    const found = findings(call, [...records, ...earlier.map(open)], carried, params);
    const worst = worstOf(found);
    if (worst?.level === "critical") return critical(loopOf(call, worst, params.strict), state);
    return { ...warned(call, found, params, state), ...heldUntil(call, streak, params, now) };
  },
  after: (record, history, { params, state, now }) => {
    if (!ran(record)) return {};
    const key = keyOf(record);
    const streak = streakAfter(record, history, state.streaks[key], params.strict, now);
    const next = withStreak(state, key, streak);
    const changed = next === state ? {} : { state: next };
    const note =
      record.poll && streak !== undefined && params.poll_backoff !== "off"
        ? pollNote(streak, params, now)
        : undefined;
    return note === undefined ? changed : { ...changed, note };
  },
});
