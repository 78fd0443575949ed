import { expect, test } from "vitest";
import type { Connections, Viewer } from "../../durable-objects/sockets/connections.ts";
import { createWatchers } from "../../durable-objects/sockets/watchers.ts";
import type { LoggedEvent } from "../../src/session/event-lines.ts";

/** What a socket is sent of the log, and what is read for that (AP-23). */

const event = (seq: number, type: string, thread = "main"): LoggedEvent => ({
  seq,
  type,
  thread,
  length: 100,
  line: () => JSON.stringify({ seq, type, thread }),
});

/** An event whose message must not be read. */
const unread = (seq: number, type: string, thread?: string): LoggedEvent => ({
  ...event(seq, type, thread),
  line: () => {
    throw new Error(`event ${seq} was read`);
  },
});

test("AP-23: a filtered replay reads the events alone that the socket wants, and ends at the head", () => {
  const log = [
    unread(1, "message_added"),
    event(2, "run_end"),
    unread(3, "run_end", "t1"),
    ...Array.from({ length: 300 }, (_, index) => unread(index + 4, "message_added")),
    event(304, "run_end"),
    unread(305, "turn_end"),
  ];
  const sent: unknown[] = [];
  let seen: Viewer = {
    principal: { tenant: "acme", jurisdiction: null, by: "k1", scopes: ["sessions:read"] },
    ready: false,
    after: null,
    reader: "new",
    deltas: "none",
    types: null,
    threads: null,
  };
  const connections: Partial<Connections> = {
    viewer: () => seen,
    change: (_, change) => void (seen = { ...seen, ...change }),
    isFull: () => false,
    send: (_, frames) => void sent.push(...frames.map((frame): unknown => JSON.parse(frame))),
  };
  const watchers = createWatchers({
    sockets: () => [],
    connections: connections as Connections,
    items: { open: () => [] },
    replay: (after) => log.slice(after),
    head: () => log.length,
  });
  watchers.start({} as WebSocket, { deltas: "none", types: ["run_end"], threads: ["main"] }, 0, []);
  const shown = (seq: number) => ({ type: "event", event: { seq, type: "run_end", thread: "main" } });
  expect(sent).toEqual([shown(2), shown(304), { type: "live", seq: 305 }]);
  expect(seen.after).toBeNull();
});
