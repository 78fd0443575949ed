import type { ReportedMessage, StoredEvent } from "../agent/state/events.ts";
import type { FoldState } from "./fold/draft.ts";
import type { FoldFrame } from "./fold/index.ts";
import { foldFrames, openItemsOf } from "./fold/index.ts";
import type { SnapshotBody } from "./fold/start.ts";
import { startFold } from "./fold/start.ts";
import type { Http } from "./http.ts";
import { putWholeMessage } from "./whole.ts";

/** This file reads a session: a snapshot, the events around it, and older ones when they are asked for. */

/** So many events before now are read at first, and so many more each time earlier ones are asked for. */
const pageEvents = 1_000;

/** What was read of a session: the events after `from`, and what they and the snapshot come to. */
export interface Reading {
  readonly snapshot: SnapshotBody;
  readonly from: number;
  readonly log: readonly StoredEvent[];
  readonly folded: FoldState;
}

export interface SessionAddress {
  readonly http: Http;
  /** The path of the session, from `/v1` on. */
  readonly path: string;
}

/** Begins with a snapshot of now; the events before it are to be read next. */
export const beginReading = async ({ http, path }: SessionAddress, signal: AbortSignal): Promise<Reading> => {
  const snapshot = (await http.json({ method: "GET", path: `${path}/snapshot`, signal })) as SnapshotBody;
  const from = Math.max(0, snapshot.seq - pageEvents);
  return { snapshot, from, log: [], folded: startFold(snapshot, from) };
};

/** Adds what has come. */
export const continueReading = (reading: Reading, frames: readonly FoldFrame[]): Reading => {
  const events = frames.flatMap((frame) => (frame.type === "event" ? frame.event : []));
  return {
    ...reading,
    log: events.length === 0 ? reading.log : [...reading.log, ...events],
    folded: foldFrames(reading.folded, frames),
  };
};

/** Folds a log from its beginning; what streams meanwhile stays. */
const foldAgain = ({ snapshot, folded }: Reading, from: number, log: readonly StoredEvent[]): Reading => {
  const frames = [...log.map((event) => ({ type: "event", event }) as const), ...openItemsOf(folded)];
  return { snapshot, from, log, folded: foldFrames(startFold(snapshot, from), frames) };
};

/** A change of a reading that has gone on meanwhile. */
export type ReadingChange = (reading: Reading) => Reading;

/** Reads the events before those of a reading; returns how to add them. */
export const readEarlier = async (
  { http, path }: SessionAddress,
  { from: to }: Reading,
): Promise<ReadingChange> => {
  const from = Math.max(0, to - pageEvents);
  const events: StoredEvent[] = [];
  for (let after = from; after < to;) {
    const query = { after, before: to + 1, limit: pageEvents };
    const page = (await http.json({ method: "GET", path: `${path}/events`, query })) as {
      readonly data: readonly StoredEvent[];
      readonly next_after: number;
    };
    events.push(...page.data);
    after = page.next_after;
  }
  return (reading) => (reading.from === to ? foldAgain(reading, from, [...events, ...reading.log]) : reading);
};

/** Reads the whole of what an entry shows in part; returns how to put it in its place. */
export const readWhole = async (
  { http, path }: SessionAddress,
  { folded }: Reading,
  thread: string,
  entry: string,
): Promise<ReadingChange> => {
  const { entries = [] } = folded.transcript.threads.find(({ id }) => id === thread) ?? {};
  const found = entries.find(({ id }) => id === entry);
  const pos = found === undefined || found.kind === "note" ? null : found.pos;
  if (pos === null) return (reading) => reading;
  const query = { thread, before: pos + 1, limit: 1, retired: true };
  const page = (await http.json({ method: "GET", path: `${path}/messages`, query })) as {
    readonly data: readonly ReportedMessage[];
  };
  const [whole] = page.data;
  return (reading) =>
    whole?.pos === pos
      ? foldAgain(reading, reading.from, putWholeMessage(reading.log, thread, whole))
      : reading;
};
