import { expect } from "vitest";
import type { ReportedMessage, StoredEvent } from "../../src/agent/state/events.ts";
import { foldFrames } from "../../src/client/fold/index.ts";
import type { SnapshotBody } from "../../src/client/fold/start.ts";
import { emptyFold, startFold } from "../../src/client/fold/start.ts";
import type { OpenSession, Transcript, TranscriptThread } from "../../src/client/transcript.ts";
import type { Bench } from "./bench.ts";

/** Transcripts of a session on the bench, as clients hold them that came at different times. */

type WholeSnapshot = SnapshotBody & { readonly messages: readonly ReportedMessage[] };

const takeWholeSnapshot = (bench: Bench): WholeSnapshot => bench.ok("snapshot") as unknown as WholeSnapshot;

const framesOf = (events: readonly StoredEvent[]) =>
  events.map((event) => ({ type: "event" as const, event }));

/** A client that came when the snapshot was taken and reads the log from `from` on, in batches of so many events. */
export const foldSince = (
  snapshot: SnapshotBody | null,
  events: readonly StoredEvent[],
  from = 0,
  batch = events.length,
): Transcript => {
  let state = snapshot === null ? emptyFold : startFold(snapshot, from);
  const left = events.filter(({ seq }) => seq > from);
  for (let at = 0; at < left.length; at += Math.max(1, batch))
    state = foldFrames(state, framesOf(left.slice(at, at + Math.max(1, batch))));
  return state.transcript;
};

const byId = <T extends { readonly id: string }>(list: readonly T[]): Readonly<Record<string, T>> =>
  Object.fromEntries(list.map((each) => [each.id, each]));

/** What a model sees of a thread, by the transcript. */
const shownMessages = ({ entries }: TranscriptThread): readonly (string | null)[] =>
  entries.flatMap((entry) =>
    entry.kind === "message" && !entry.open && !entry.summarised ? [entry.message] : [],
  );

/** A thread without what a snapshot knows better than the events. */
const withoutSums = (thread: TranscriptThread): Omit<TranscriptThread, "usage" | "prefix"> => {
  const { usage: _, prefix: __, ...rest } = thread;
  return rest;
};

/** Messages and ended calls by their threads and ids; of a run how it ended. */
type Told = Readonly<Record<string, unknown>>;

/** What a log says, read without the client. */
const readLog = (events: readonly StoredEvent[]): Told =>
  Object.fromEntries(
    events.flatMap((event): readonly (readonly [string, unknown])[] => {
      const { thread, call = "" } = event;
      if (event.type === "message_added") {
        const { id, role, parts } = event.data.message;
        return role === "tool" ? [] : [[`${thread} ${id}`, { role, parts }]];
      }
      if (event.type === "tool_call_end") {
        const { tool, outcome, output } = event.data;
        return [[`${thread} ${call}`, { tool, outcome, output }]];
      }
      if (event.type !== "run_end") return [];
      return [[event.run ?? "", { state: event.data.state, reason: event.data.reason }]];
    }),
  );

const readTranscript = ({ threads, runs }: Transcript): Told =>
  Object.fromEntries([
    ...threads.flatMap(({ id: thread, entries }) =>
      entries.flatMap((entry): readonly (readonly [string, unknown])[] => {
        if (entry.kind === "message" && entry.message !== null)
          return [[`${thread} ${entry.message}`, { role: entry.role, parts: entry.parts }]];
        if (entry.kind !== "call" || entry.state !== "done") return [];
        const { call, tool, outcome, output } = entry;
        return [[`${thread} ${call}`, { tool, outcome, output }]];
      }),
    ),
    ...runs.flatMap(({ id, state, reason, ended_at: end }) =>
      end === null ? [] : [[id, { state, reason }] as const],
    ),
  ]);

const common = (told: Told, other: Told): Told =>
  Object.fromEntries(Object.entries(told).filter(([key]) => key in other));

/** A transcript holds every message, every ended call and every ended run of the log, as the log has it. */
export const expectLog = (transcript: Transcript, events: readonly StoredEvent[], why?: string): void =>
  expect(readTranscript(transcript), why).toEqual(readLog(events));

/** Every client shows the same, however it came to it, and what it shows is what a new snapshot says. */
export const checkTranscripts = (bench: Bench, snapshots: readonly SnapshotBody[]): void => {
  const events = bench.events();
  const now = takeWholeSnapshot(bench);
  // Which messages an effect retired is not told one by one.
  const retiresSilently = events.some(({ type, data }) => type === "effect_applied" && data.retired > 0);
  const messages = now.messages.flatMap(({ id, role }) => (role === "tool" ? [] : id));
  const whole = foldSince(null, events, 0, 1);
  const { total, calls } = foldSince(now, []).usage;
  expect(whole.usage, "what all calls used, by their events and by their session").toMatchObject({
    total,
    calls,
  });
  // What was cleared or rewound is in the log alone; a call that was dropped has a result and no event of its end.
  const [told, log] = [readTranscript(whole), readLog(events)];
  expect(common(told, log), "what the log says").toEqual(common(log, told));
  for (const snapshot of [now, ...snapshots]) {
    const seen = foldSince(snapshot, events, 0, 7);
    const since = `a client since ${snapshot.seq}`;
    expect(byId(seen.threads.map(withoutSums)), since).toEqual(byId(whole.threads.map(withoutSums)));
    expect(seen.asks, since).toEqual(whole.asks);
    expect(seen.inputs, since).toEqual(whole.inputs);
    expect(byId(seen.runs), since).toEqual(byId(whole.runs));
    const { updated_at: _, budget: __, ...session } = seen.session ?? now.session;
    expect(now.session, since).toMatchObject(session);
    expect(seen.seq, since).toBe(now.seq);
    const main = seen.threads.find(({ id }) => id === "main");
    if (!retiresSilently && main !== undefined) expect(shownMessages(main), since).toEqual(messages);
  }
};

/** Resolves with the first transcript of which this holds. */
export const whenTranscript = (
  open: OpenSession,
  holds: (transcript: Transcript) => boolean,
): Promise<Transcript> =>
  new Promise((resolve) => {
    const look = (): void => {
      const now = open.getSnapshot();
      if (!holds(now)) return;
      stop();
      resolve(now);
    };
    const stop = open.subscribe(look);
    look();
  });

/** The transcript without what only a snapshot knows. */
export const contentOf = ({ threads, asks, runs }: Transcript) => ({
  threads: threads.map(withoutSums),
  asks,
  runs,
});
