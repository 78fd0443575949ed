import type { EventType, StoredEvent } from "../agent/state/events.ts";
import type { Connection } from "./connection.ts";
import { connect } from "./connection.ts";
import type { StreamFrame } from "./frames.ts";
import type { Http } from "./http.ts";
import { LimpetError } from "./http.ts";
import type { Deferred } from "./plain.ts";
import { createDeferred } from "./plain.ts";
import type { ProblemBody } from "./transcript.ts";

/** This file gives the events of a session one by one. */

export interface EventsOptions {
  /** Events after this number; the default is 0, the whole log. */
  readonly after?: number;
  /** Only events of these types. */
  readonly types?: readonly EventType[];
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

interface EventQueue {
  readonly events: StoredEvent[];
  /** Resolves when there is something new to look at. */
  news: Deferred<void>;
  /** Resolves when every event was given away. */
  empty: Deferred<void>;
  ended: boolean;
  problem: ProblemBody | null;
}

/** Puts what comes into the queue; the server is asked for more when the queue is empty. */
const fillQueue = (
  queue: EventQueue,
  source: {
    readonly http: Http;
    readonly path: string;
    readonly WebSocket: typeof globalThis.WebSocket | undefined;
  },
  { after = 0, types }: EventsOptions,
): Connection => {
  let last = after;
  const take = (frames: readonly StreamFrame[]): void | Promise<void> => {
    const before = queue.events.length;
    for (const frame of frames) {
      if (frame.type === "live") last = Math.max(last, frame.seq);
      if (frame.type !== "event" || frame.event.seq <= last) continue;
      if (types === undefined && frame.event.seq > last + 1) return connection.drop();
      last = frame.event.seq;
      queue.events.push(frame.event);
    }
    if (queue.events.length === before) return;
    queue.news.resolve();
    return queue.empty.promise;
  };
  const connection = connect({
    ...source,
    query: () => ({ after: last, deltas: "none", types }),
    take,
    change: ({ status, problem = null }) => {
      if (status !== "closed") return;
      queue.ended = true;
      queue.problem = problem;
      queue.news.resolve();
    },
    restart: () => false,
  });
  return connection;
};

/** Yields events as they come, again after reconnects and never twice; throws when the server ends it for good. */
export async function* readSessionEvents(
  source: Parameters<typeof fillQueue>[1],
  options: EventsOptions,
): AsyncGenerator<StoredEvent, void, undefined> {
  const queue: EventQueue = {
    events: [],
    news: createDeferred(),
    empty: createDeferred(),
    ended: false,
    problem: null,
  };
  const connection = fillQueue(queue, source, options);
  options.signal?.addEventListener("abort", connection.close);
  if (options.signal?.aborted === true) connection.close();
  try {
    for (;;) {
      for (let next = queue.events.shift(); next !== undefined; next = queue.events.shift()) {
        if (options.signal?.aborted === true) return;
        yield next;
      }
      if (queue.problem !== null) throw new LimpetError(queue.problem);
      if (queue.ended) return;
      queue.empty.resolve();
      queue.empty = createDeferred();
      await queue.news.promise;
      queue.news = createDeferred();
    }
  } finally {
    options.signal?.removeEventListener("abort", connection.close);
    connection.close();
    queue.empty.resolve();
  }
}
