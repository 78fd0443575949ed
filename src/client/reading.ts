import type { ReportedMessage, StoredEvent } from "../agent/state/events.ts";
import { answeredWithin } from "./call.ts";
import type { FoldState } from "./fold/draft.ts";
import type { FoldFrame } from "./fold/index.ts";
import { foldFrames, openItemsOf } from "./fold/index.ts";
import type { SnapshotBody } from "./fold/start.ts";
import { startFold } from "./fold/start.ts";
import type { Http } from "./http.ts";
import { inTime } from "./http.ts";
import type { WholeMessage } from "./fold/whole.ts";

/** This file reads a session: a snapshot, the events around it, and older ones when they are asked for. */

/** So many events before now are read at first. */
const firstEvents = 400;

/** So many more are read each time earlier ones are asked for, and in one request. */
const pageEvents = 1_000;

/** So many of the newest events are kept; older ones are read again where they are needed. */
const mostEvents = 2_000;

/** What was read of a session: what the events after `from` and the snapshot come to, and the newest of these events. */
export interface Reading {
  readonly snapshot: SnapshotBody;
  readonly from: number;
  readonly log: readonly StoredEvent[];
  readonly folded: FoldState;
  /** What events have shortened and was asked for. */
  readonly wholes: readonly WholeMessage[];
}

export interface SessionAddress {
  readonly http: Http;
  /** The path of the session, from `/v1` on. */
  readonly path: string;
}

/** Begins with a snapshot of now; the events before it are to be read next. */
export const beginReading = async ({ http, path }: SessionAddress, signal: AbortSignal): Promise<Reading> => {
  const snapshot = (await http.json({ method: "GET", path: `${path}/snapshot`, signal })) as SnapshotBody;
  const from = Math.max(0, snapshot.seq - firstEvents);
  return { snapshot, from, log: [], folded: startFold(snapshot, from), wholes: [] };
};

/** Adds what has come. */
export const continueReading = (reading: Reading, frames: readonly FoldFrame[]): Reading => {
  const events = frames.flatMap((frame) => (frame.type === "event" ? frame.event : []));
  return {
    ...reading,
    log: events.length === 0 ? reading.log : [...reading.log, ...events].slice(-mostEvents),
    folded: foldFrames(reading.folded, frames),
    wholes: [...reading.wholes, ...frames.filter((frame) => frame.type === "whole")],
  };
};

/** Folds a log from its beginning; what was read as a whole and what streams meanwhile stay. */
const foldAgain = (reading: Reading, from: number, log: readonly StoredEvent[]): Reading => {
  const { snapshot, folded, wholes } = reading;
  const events = log.map((event) => ({ type: "event", event }) as const);
  const again = foldFrames(startFold(snapshot, from), [...events, ...wholes, ...openItemsOf(folded)]);
  return { ...reading, from, log: log.slice(-mostEvents), folded: again };
};

/** One page of what is kept; a server that is silent is given up. */
const readPage = (http: Http, path: string, query: Readonly<Record<string, unknown>>): Promise<unknown> =>
  inTime((signal) => http.json({ method: "GET", path, query, signal }), undefined, answeredWithin);

/** A change of a reading that has gone on meanwhile. */
export type ReadingChange = (reading: Reading) => Reading;

/** Reads the events before those of a reading, at least from a given one on; returns how to add them, unless it has gone elsewhere. */
export const readEarlier = async (
  { http, path }: SessionAddress,
  { from: begin, log, folded }: Reading,
  first = Infinity,
): Promise<ReadingChange> => {
  const from = Math.max(0, Math.min(begin - pageEvents, first - 1));
  const before = folded.transcript.seq - log.length + 1;
  const events: StoredEvent[] = [];
  for (let after = from; after < before - 1;) {
    const query = { after, before, limit: pageEvents };
    const page = (await readPage(http, `${path}/events`, query)) as {
      readonly data: readonly StoredEvent[];
      readonly next_after: number;
    };
    events.push(...page.data);
    after = page.next_after;
  }
  events.push(...log);
  return (reading) => {
    const all = [...events, ...reading.log.filter(({ seq }) => seq > from + events.length)];
    const isWhole = from + all.length === reading.folded.transcript.seq;
    return reading.from >= from && isWhole ? foldAgain(reading, from, all) : reading;
  };
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
  if (pos === null) return (now) => now;
  const query = { thread, before: pos + 1, limit: 1, retired: true };
  const { data } = (await readPage(http, `${path}/messages`, query)) as {
    readonly data: readonly ReportedMessage[];
  };
  const wholes = data.map((message) => ({ type: "whole", thread, message }) as const);
  return (now) => continueReading(now, wholes);
};
