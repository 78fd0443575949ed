import type { ConnectionState } from "./connection.ts";
import { connect } from "./connection.ts";
import { emptyTranscript } from "./fold/draft.ts";
import type { FoldFrame } from "./fold/index.ts";
import type { StreamFrame, StreamQuery } from "./frames.ts";
import type { PendingInputs } from "./pending.ts";
import { createPublisher } from "./publish.ts";
import type { Reading, ReadingChange, SessionAddress } from "./reading.ts";
import { beginReading, continueReading, readEarlier, readWhole } from "./reading.ts";
import type { OpenSession, Transcript } from "./transcript.ts";

/** This file keeps the transcript of an open session. */

export interface OpenOptions extends SessionAddress {
  readonly WebSocket: typeof globalThis.WebSocket | undefined;
  readonly pending: PendingInputs;
  readonly changed: (status: Transcript["status"]) => void;
}

/** An open session as its client sees it. */
export interface OpenTranscript extends OpenSession {
  /** The pending inputs have changed. */
  readonly refresh: () => void;
}

/** What has come and is not folded yet. */
interface Arrivals {
  reading: Reading | null;
  /** The number of the newest event that has come. */
  last: number;
  queue: FoldFrame[];
}

/** Takes the frames that a transcript is made of; returns false where an event is missing. */
const takeFrames = (arrivals: Arrivals, frames: readonly StreamFrame[]): boolean => {
  for (const frame of frames) {
    if (frame.type === "delta" || frame.type === "item_state") arrivals.queue.push(frame);
    if (frame.type !== "event" || frame.event.seq <= arrivals.last) continue;
    if (frame.event.seq > arrivals.last + 1) return false;
    arrivals.last = frame.event.seq;
    arrivals.queue.push(frame);
  }
  return true;
};

/** Folds what has come; nothing is shown before the log has reached the snapshot. */
const foldArrivals = (arrivals: Arrivals, state: ConnectionState, pending: PendingInputs): Transcript => {
  const { reading, last, queue } = arrivals;
  if (reading === null || last < reading.snapshot.seq)
    return { ...emptyTranscript, ...state, inputs: pending.list(0) };
  const next = continueReading(reading, queue);
  arrivals.reading = next;
  arrivals.queue = [];
  pending.see(queue);
  const { transcript } = next.folded;
  const waiting = pending
    .list(transcript.seq)
    .filter(({ id }) => transcript.inputs.every((input) => input.id !== id));
  const inputs = waiting.length === 0 ? transcript.inputs : [...transcript.inputs, ...waiting];
  return { ...transcript, ...state, inputs, earlier: next.from > 0 };
};

/** Opens a session: the transcript follows it until it is closed. */
export const openSession = (options: OpenOptions): OpenTranscript => {
  const { http, path, WebSocket, pending } = options;
  const arrivals: Arrivals = { reading: null, last: 0, queue: [] };
  let state: ConnectionState = { status: "connecting", retry_at: null };
  let earlier: Promise<boolean> | null = null;

  const publisher = createPublisher(emptyTranscript, () => foldArrivals(arrivals, state, pending));
  const change = (by: ReadingChange): void => {
    if (arrivals.reading !== null) arrivals.reading = by(arrivals.reading);
    publisher.schedule();
  };
  const connection = connect({
    http,
    path,
    WebSocket,
    query: async (signal): Promise<StreamQuery> => {
      if (arrivals.reading === null) {
        arrivals.reading = await beginReading(options, signal);
        arrivals.last = arrivals.reading.from;
      }
      return { after: arrivals.last, deltas: "all" };
    },
    take: (frames) => {
      if (!takeFrames(arrivals, frames)) connection.drop();
      publisher.schedule();
    },
    change: (next) => {
      state = next;
      // A connection that broke may have swallowed what was asked for.
      earlier = null;
      publisher.schedule();
      options.changed(next.status);
    },
    restart: () => {
      Object.assign(arrivals, { reading: null, queue: [] });
      return true;
    },
  });
  const loadEarlier = async (first?: number): Promise<boolean> => {
    if (arrivals.reading !== null && arrivals.reading.from > 0)
      change(await readEarlier(options, arrivals.reading, first));
    return (arrivals.reading?.from ?? 0) > 0;
  };
  publisher.schedule();
  return {
    getSnapshot: publisher.get,
    subscribe: publisher.subscribe,
    getEvents: () => arrivals.reading?.log ?? [],
    loadEarlier: (first) =>
      (earlier ??= loadEarlier(first).finally(() => {
        earlier = null;
      })),
    loadWhole: async (thread, entry) => {
      if (arrivals.reading !== null) change(await readWhole(options, arrivals.reading, thread, entry));
    },
    reconnect: connection.reconnect,
    close: connection.close,
    refresh: publisher.schedule,
  };
};
