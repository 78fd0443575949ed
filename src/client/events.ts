import type { EventType, StoredEvent } from "../agent/state/events.ts";
import type { ConnectionState } from "./connection.ts";
import { connect } from "./connection.ts";
import type { Http } from "./http.ts";
import { LimpetError } from "./http.ts";
import { createDeferred } from "./plain.ts";

/** This file gives the events of a session one by one. */

export interface EventsOptions {
  /** Events after this number; the default is 0, the whole log. */
  readonly after?: number;
  /** Only events of these types. */
  readonly types?: readonly EventType[];
  /** Ends the stream. */
  readonly signal?: AbortSignal;
  /** Is told how the connection stands, such as that it is lost and tried again. */
  readonly changed?: (state: ConnectionState) => void;
}

interface EventsSource {
  readonly http: Http;
  readonly path: string;
  readonly WebSocket: typeof globalThis.WebSocket | undefined;
}

/** Yields events as they come, again after reconnects and never twice; throws when the server ends it for good. */
export async function* readSessionEvents(
  source: EventsSource,
  { after = 0, types, signal = new AbortController().signal, changed }: EventsOptions,
): AsyncGenerator<StoredEvent, void, undefined> {
  const events: StoredEvent[] = [];
  const ends: ConnectionState[] = [];
  // It resolves when there is something new, and `empty` when all was given away: only then more is asked for.
  let news = createDeferred();
  let empty = createDeferred();
  let last = after;
  const connection = connect({
    ...source,
    query: () => ({ after: last, deltas: "none", types }),
    take: (frames) => {
      const before = events.length;
      for (const frame of frames) {
        if (frame.type === "live") last = Math.max(last, frame.seq);
        if (frame.type !== "event" || frame.event.seq <= last) continue;
        if (types === undefined && frame.event.seq > last + 1) return connection.drop();
        last = frame.event.seq;
        events.push(frame.event);
      }
      if (events.length === before) return;
      news.resolve();
      return empty.promise;
    },
    change: (state) => {
      changed?.(state);
      if (state.status === "closed") ends.push(state);
      news.resolve();
    },
    restart: () => false,
  });
  signal.addEventListener("abort", connection.close);
  if (signal.aborted) connection.close();
  try {
    for (;;) {
      while (events[0] === undefined && ends[0] === undefined) {
        empty.resolve();
        empty = createDeferred();
        await news.promise;
        news = createDeferred();
      }
      const event = events.shift();
      if (event === undefined && ends[0]?.problem !== undefined) throw new LimpetError(ends[0].problem);
      if (event === undefined || signal.aborted) return;
      yield event;
    }
  } finally {
    signal.removeEventListener("abort", connection.close);
    connection.close();
    empty.resolve();
  }
}
