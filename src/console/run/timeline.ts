import type {
  CallEntry,
  ModelCallFacts,
  Transcript,
  TranscriptRun,
  TurnFacts,
} from "../../client/transcript.ts";
import { describeCall, hasFailed } from "../calls/verbs.ts";
import { escapeInLine } from "../parts/escape.ts";
import { formatDuration } from "../parts/format.ts";
import { addSpent, isTurn, nothing, turnSpent } from "./figures.ts";
import type { PlacedTurn, Spent } from "./figures.ts";

/** A run as lanes over time: one for each turn, and those of called agents below their call. */

export interface Segment {
  /** Unfinished is a call that was stopped, refused, or of which nobody knows how it ended. */
  readonly kind: "model" | "tool" | "failed" | "unfinished" | "asks" | "smaller";
  readonly from: number;
  readonly to: number;
}

export interface Lane {
  readonly id: string;
  /** The turn's number from 1; null for a called agent, and for what is done outside of turns. */
  readonly turn: number | null;
  readonly depth: number;
  readonly title: string;
  /** It says more than there is room for. */
  readonly hint: string;
  readonly segments: readonly Segment[];
  readonly spent: Spent;
  readonly failed: boolean;
}

/** Waiting for a person is folded to a stub of this share of the work. */
const stub = 0.06;

/** Somebody ended the reply: that is no failure. */
const isStopped = ({ failure }: ModelCallFacts): boolean => failure === "cancelled";

const modelSegment = (
  { purpose, failure, started_at: from, ended_at: to }: ModelCallFacts,
  now: number,
): Segment => ({
  kind:
    failure !== null && failure !== "cancelled" ? "failed" : purpose === "compaction" ? "smaller" : "model",
  from,
  to: to ?? now,
});

const outcomeKind = (call: CallEntry): Segment["kind"] => {
  if (call.outcome === "error" && hasFailed(call)) return "failed";
  return call.outcome === null || call.outcome === "ok" || call.outcome === "error" ? "tool" : "unfinished";
};

/** A call that asked waits from its beginning to the answer, and works from then on; one that has not begun does nothing. */
const callSegments = (call: CallEntry, now: number): readonly Segment[] => {
  if (call.state === "planned") return [];
  const from = call.started_at ?? call.at;
  const to = call.ended_at ?? now;
  const kind = outcomeKind(call);
  const ask = call.asks.at(-1);
  if (ask === undefined) return [{ kind, from, to }];
  const closed = ask.closed_at ?? now;
  const asks: Segment = { kind: "asks", from: ask.opened_at, to: closed };
  return ask.closed_at === null || call.ended_at === null || call.ended_at <= closed
    ? [asks]
    : [asks, { kind, from: closed, to }];
};

/** Shows of a path only its end; a command stays whole. */
const shortenSubject = (subject: string): string =>
  /\s/.test(subject) ? subject : (subject.split("/").findLast((part) => part !== "") ?? "");

const askWords: Readonly<Record<string, string>> = {
  question: "Asks you",
  authorization: "Asks you to sign in",
  client_tool: "Waits for its program",
};

/** Says what a call waits for: "Asks to run npm test", "Asks to use crm__find". */
const describeAsk = (call: CallEntry, kind: string): string => {
  const words = askWords[kind];
  if (words !== undefined) return words;
  const { verb, subject, isName, isProse } = describeCall(call, "infinitive");
  if (isName) return `Asks to use ${verb}`;
  return `Asks to ${verb} ${isProse ? "" : shortenSubject(subject)}`.trim();
};

/** A refused call says so by its verb. */
const unfinished: Readonly<Record<string, string>> = {
  cancelled: "stopped",
  unknown: "nobody knows how it ended",
};

/** Says of calls that did not come to their end what became of them. */
const unfinishedWords = (calls: readonly CallEntry[]): string => {
  const words = new Set(calls.flatMap(({ outcome }) => unfinished[outcome ?? ""] ?? []));
  return [...words].map((word) => ` · ${word}`).join("");
};

const joinNames = (calls: readonly [CallEntry, ...CallEntry[]]): string => {
  for (const call of calls) {
    const ask = call.asks.at(-1);
    if (ask?.status === "open") return describeAsk(call, ask.kind);
  }
  const [first] = calls;
  const children = calls.reduce((sum, { children: called }) => sum + called.length, 0);
  if (children > 0)
    return `Called ${children} ${children === 1 ? "agent" : "agents"}${unfinishedWords(calls)}`;
  const { verb, subject, isName } = describeCall(first);
  const name = isName ? verb : `${verb} ${shortenSubject(subject)}`.trim();
  if (calls.length === 1) return name + unfinishedWords(calls);
  const same = calls.every((call) => describeCall(call).verb === verb);
  return (
    (same ? `${verb} ${calls.length} times` : `${name} and ${calls.length - 1} more`) + unfinishedWords(calls)
  );
};

/** Calls that the log no longer has, as after a clear, are only counted. */
const titleOf = (
  { model_calls: models, calls: ids }: TurnFacts,
  [first, ...more]: readonly CallEntry[],
  isOpen: boolean,
): string => {
  if (first !== undefined) return joinNames([first, ...more]);
  if (ids.length > 0) return ids.length === 1 ? "Used a tool" : `Used ${ids.length} tools`;
  const last = models.at(-1);
  if (last === undefined) return isOpen ? "Begins" : "Nothing";
  if (isStopped(last)) return "Stopped";
  if (last.failure !== null) return isOpen ? "Waits to try again" : "Model failed";
  return last.ended_at === null ? "Thinking" : "Answered";
};

/** Outside of turns a run only makes the context smaller. */
const smallerTitle = ({ model_calls: models }: TurnFacts): string => {
  const last = models.at(-1);
  if (last === undefined || (last.failure === null && last.ended_at !== null))
    return "Made the context smaller";
  if (last.failure === null) return "Making the context smaller";
  return isStopped(last) ? "Stopped" : "Could not make the context smaller";
};

/** Says what a call did, with the whole of its path or command. */
const describeInFull = (call: CallEntry): string => {
  const { verb, subject } = describeCall(
    call,
    call.asks.at(-1)?.status === "open" ? "infinitive" : undefined,
  );
  return `${verb} ${subject}`.trim();
};

const turnLane = (
  run: TranscriptRun,
  facts: TurnFacts,
  calls: readonly CallEntry[],
  depth: number,
  now: number,
): Lane => {
  const isOpen = facts.ended_at === null && run.ended_at === null;
  const title = isTurn(facts) ? titleOf(facts, calls, isOpen) : smallerTitle(facts);
  return {
    id: `${run.id}/${facts.turn}`,
    turn: isTurn(facts) ? facts.turn : null,
    depth,
    title,
    hint: calls.length === 0 ? title : calls.map(describeInFull).join("\n"),
    segments: [
      ...facts.model_calls.map((call) => modelSegment(call, now)),
      ...calls.flatMap((call) => callSegments(call, now)),
    ],
    spent: turnSpent(facts),
    failed: !isOpen && facts.model_calls.at(-1)?.failure != null && !facts.model_calls.some(isStopped),
  };
};

const addUp = (spent: readonly Spent[]): Spent => spent.reduce(addSpent, nothing);

/** A called agent that failed did so in the last thing that it worked on. */
const markFailure = (segments: readonly Segment[]): readonly Segment[] => {
  const last = segments.reduce<Segment | null>(
    (latest, segment) =>
      segment.kind !== "asks" && (latest === null || segment.to >= latest.to) ? segment : latest,
    null,
  );
  return segments.map((segment) => (segment === last ? { ...segment, kind: "failed" } : segment));
};

/** A called agent is one lane, whatever its turns were. */
const childLanes = (
  transcript: Transcript,
  calls: ReadonlyMap<string, CallEntry>,
  id: string,
  depth: number,
  now: number,
): readonly Lane[] => {
  const thread = transcript.threads.find((each) => each.id === id);
  if (thread === undefined) return [];
  const runs = transcript.runs.filter((each) => each.thread === id);
  const lanes = runs.flatMap((run) =>
    run.timeline.map((facts) => ({ facts, lane: turnLane(run, facts, findCalls(facts, calls), depth, now) })),
  );
  const segments = lanes.flatMap(({ lane }) => lane.segments);
  const failed = thread.state === "failed";
  const title = `${thread.prefix} ${thread.agent}${thread.state === "cancelled" ? " · stopped" : ""}`.trim();
  const own: Lane = {
    id,
    turn: null,
    depth,
    title,
    hint: thread.task === undefined ? title : escapeInLine(`${thread.agent}: ${thread.task}`),
    segments: failed ? markFailure(segments) : segments,
    spent: addUp(lanes.map(({ lane }) => lane.spent)),
    failed,
  };
  const below = lanes.flatMap(({ facts }) => findCalls(facts, calls).flatMap(({ children }) => children));
  return [own, ...below.flatMap((child) => childLanes(transcript, calls, child, depth + 1, now))];
};

const findCalls = ({ calls }: TurnFacts, known: ReadonlyMap<string, CallEntry>): readonly CallEntry[] =>
  calls.flatMap((id) => known.get(id) ?? []);

/** The entries of the calls of a thread, by their ids. */
const callsOf = ({ threads }: Transcript): ReadonlyMap<string, CallEntry> =>
  new Map(
    threads.flatMap(({ entries }) =>
      entries.flatMap((entry) => (entry.kind === "call" ? [[entry.call, entry] as const] : [])),
    ),
  );

/** The lanes of a run. */
export const lanesOf = (transcript: Transcript, run: TranscriptRun, now: number): readonly Lane[] => {
  const known = callsOf(transcript);
  return run.timeline.flatMap((facts) => {
    const calls = findCalls(facts, known);
    const children = calls.flatMap((call) => call.children);
    return [
      turnLane(run, facts, calls, 0, now),
      ...children.flatMap((id) => childLanes(transcript, known, id, 1, now)),
    ];
  });
};

/** Time on the page: work keeps its scale, and waiting for a person is as short as a stub. */
export interface Scale {
  readonly work: number;
  readonly waited: number;
  /** Where a time stands, from 0 to 1. */
  readonly at: (time: number) => number;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

const joinSpans = (spans: readonly Span[]): readonly Span[] => {
  const joined: Span[] = [];
  for (const span of spans.toSorted((one, other) => one.from - other.from)) {
    const last = joined.at(-1);
    if (last === undefined || span.from > last.to) joined.push(span);
    else joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
  }
  return joined;
};

/** Cuts out of the waits what others worked on meanwhile. */
const subtract = ({ from, to }: Span, busy: readonly Span[]): readonly Span[] => {
  let start = from;
  const left: Span[] = [];
  for (const span of busy) {
    if (span.to <= start || span.from >= to) continue;
    if (span.from > start) left.push({ from: start, to: span.from });
    start = Math.max(start, span.to);
  }
  return start < to ? [...left, { from: start, to }] : left;
};

export const scaleOf = (lanes: readonly Lane[], begin: number, end: number): Scale => {
  const segments = lanes.flatMap((lane) => lane.segments);
  const busy = joinSpans(segments.filter(({ kind }) => kind !== "asks"));
  const waits = joinSpans(segments.filter(({ kind }) => kind === "asks")).flatMap((span) =>
    subtract(span, busy),
  );
  const waited = waits.reduce((sum, { from, to }) => sum + to - from, 0);
  const work = Math.max(1, end - begin - waited);
  const width = (span: Span): number => Math.min(span.to - span.from, work * stub);
  const shown = work + waits.reduce((sum, span) => sum + width(span), 0);
  const at = (time: number): number => {
    const saved = waits.reduce((sum, span) => {
      if (time <= span.from) return sum;
      const inside = Math.min(time, span.to) - span.from;
      const share = inside / Math.max(1, span.to - span.from);
      return sum + inside - share * width(span);
    }, 0);
    return Math.min(1, Math.max(0, (time - begin - saved) / shown));
  };
  return { work, waited, at };
};

const tickSteps = [
  100, 200, 250, 500, 1_000, 2_000, 2_500, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 180_000, 300_000,
  600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 18_000_000, 36_000_000, 86_400_000,
];

/** So many characters have room over the tracks, and so many stay free between two labels. */
const axisWidth = 14;
const labelGap = 1;

/** The ticks of a time axis at round steps, so far apart that no label touches the next. */
export const ticksOf = (work: number): readonly number[] => {
  for (const step of tickSteps) {
    if (step * axisWidth < work) continue;
    const ticks = Array.from({ length: Math.floor(work / step) + 1 }, (_, at) => at * step);
    const longest = Math.max(...ticks.slice(0, -1).map((tick) => labelTick(tick).length));
    if (longest + labelGap <= (step / work) * axisWidth) return ticks;
  }
  return [0];
};

export const labelTick = (tick: number): string => (tick === 0 ? "0" : formatDuration(tick));

interface TurnNames {
  readonly short: string;
  readonly long: string;
  /** It begins with the short one where that is shown, so that who hears it and who sees it name the same. */
  readonly full: string;
}

/** Names turns by their number, and by their run as well where there are several: "2.1", "Run 2, turn 1". */
export const nameTurns = (turns: readonly PlacedTurn[]) => {
  const isOneRun = new Set(turns.map(({ run }) => run.id)).size <= 1;
  return ({ run, facts: { turn } }: PlacedTurn): TurnNames => {
    const own = `Turn ${turn}`;
    if (isOneRun) return { short: String(turn), long: own, full: own };
    const number = run.id.replace(/^run_/, "");
    const short = `${number}.${turn}`;
    const long = `Run ${number}, turn ${turn}`;
    return { short, long, full: `${short}: ${long}` };
  };
};
