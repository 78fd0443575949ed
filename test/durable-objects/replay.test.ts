import { expect, test } from "vitest";
import type { Connections, Viewer } from "../../durable-objects/sockets/connections.ts";
import type { OpenItems } from "../../durable-objects/sockets/open-items.ts";
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

/** Feeds one socket from a log; the head is null while the session is not in memory. */
const setUp = (log: readonly LoggedEvent[], own: Partial<Connections> = {}) => {
  const sent: unknown[] = [];
  const failures: unknown[] = [];
  const turns: (() => void)[] = [];
  let reads = 0;
  const state: { head: number | null; seen: Viewer; items: ReturnType<OpenItems["open"]> } = {
    head: log.length,
    items: [],
    seen: {
      principal: { tenant: "acme", jurisdiction: null, by: "k1", scopes: ["sessions:read"] },
      ready: false,
      after: null,
      frames: 0,
      reader: "new",
      deltas: "none",
      types: null,
      threads: null,
    },
  };
  const connections: Partial<Connections> = {
    viewer: () => state.seen,
    change: (_, change) => void (state.seen = { ...state.seen, ...change }),
    applyBackpressure: () => false,
    closeIfExpired: () => false,
    goOnSoon: (each) => void turns.push(() => watchers.resume(each)),
    send: (_, frames) => void sent.push(...frames.map((frame): unknown => JSON.parse(frame))),
    ...own,
  };
  const socket = { readyState: WebSocket.OPEN } as WebSocket;
  const watchers = createWatchers({
    sockets: () => [socket],
    connections: connections as Connections,
    items: { open: () => state.items },
    replay: function* (after) {
      for (const each of state.head === null ? [] : log.slice(after)) {
        reads += 1;
        yield each;
      }
    },
    head: () => state.head,
    failed: (error) => void failures.push(error),
  });
  return {
    watchers,
    socket,
    sent,
    state,
    failures,
    /** Lets the socket go on; returns how many events were read for it since the last time, or null once it rests. */
    turn: (): number | null => {
      const before = reads;
      const next = turns.shift();
      next?.();
      return next === undefined ? null : reads - before;
    },
  };
};

const everything = { deltas: "none", types: null, threads: null } as const;

const shownEvent = (seq: number, type = "run_end") => ({
  type: "event",
  event: { seq, type, thread: "main" },
});

test("AP-23: a filtered replay reads the events alone that the socket wants, and ends at the head", () => {
  const { watchers, socket, sent, state } = setUp([
    unread(1, "message_added"),
    event(2, "run_end"),
    unread(3, "run_end", "t1"),
    ...Array.from({ length: 300 }, (_, index) => unread(index + 4, "message_added")),
    event(304, "run_end"),
    unread(305, "turn_end"),
  ]);
  watchers.start(socket, { deltas: "none", types: ["run_end"], threads: ["main"] }, 0, []);
  expect(sent).toEqual([shownEvent(2), shownEvent(304), { type: "live", seq: 305 }]);
  expect(state.seen.after).toBeNull();
});

test("AP-23: a filtered replay of a long log lets others come to their turn, and keeps the order with live events", () => {
  const log = Array.from({ length: 100_000 }, (_, index) =>
    index % 9_000 === 8_999 ? event(index + 1, "run_end") : unread(index + 1, "message_added"),
  );
  const { watchers, socket, sent, state, turn } = setUp(log);
  watchers.start(socket, { ...everything, types: ["run_end"] }, 0, []);
  expect(sent, "the events of the first 10,000").toHaveLength(1);
  state.head = log.push(event(100_001, "run_end"));
  watchers.publish([{ type: "run_end", thread: "main" }], () => [event(100_001, "run_end").line()], 100_000);
  for (let read = turn(); read !== null; read = turn()) expect(read).toBeLessThanOrEqual(10_000);
  const wanted = log.flatMap(({ seq, type }) => (type === "run_end" ? [shownEvent(seq)] : []));
  expect(wanted).toHaveLength(12);
  expect(sent).toEqual([...wanted, { type: "live", seq: 100_001 }]);
  expect(state.seen.after).toBeNull();
});

test("AP-26: a reader that is due while its session is not in memory goes on with the next commit, and misses nothing", () => {
  let applyBackpressure = true;
  const log = Array.from({ length: 250 }, (_, index) => event(index + 1, "run_end"));
  const { watchers, socket, sent, state } = setUp(log, { applyBackpressure: () => applyBackpressure });
  watchers.start(socket, everything, 0, []);
  expect(state.seen.after).toBe(200);
  state.head = null;
  applyBackpressure = false;
  watchers.resume(socket);
  expect(sent.at(-1)).toEqual(shownEvent(200));
  expect(state.seen.after).toBe(200);
  state.head = log.push(event(251, "run_end"));
  watchers.publish([{ type: "run_end", thread: "main" }], () => [log[250]?.line() ?? ""], 250);
  expect(sent).toEqual([...log.map(({ seq }) => shownEvent(seq)), { type: "live", seq: 251 }]);
});

test("AP-13: a replay ends with the reader's credential", () => {
  const log = Array.from({ length: 500 }, (_, index) => event(index + 1, "run_end"));
  let pages = 0;
  const { watchers, socket, sent, turn } = setUp(log, { closeIfExpired: () => (pages += 1) > 1 });
  watchers.start(socket, everything, 0, []);
  while (turn() !== null);
  expect(sent).toEqual(log.slice(0, 200).map(({ seq }) => shownEvent(seq)));
});

test("AP-23: a log that cannot be read ends the socket that lacks it, and no commit", () => {
  const closed: unknown[] = [];
  const own = { closeWithNotice: (_: WebSocket, ...rest: unknown[]) => void closed.push(rest) };
  const { watchers, socket, failures } = setUp([unread(1, "run_end")], own);
  watchers.start(socket, everything, 0, []);
  expect(closed).toEqual([[1013, "the log could not be read"]]);
  expect(failures).toEqual([new Error("event 1 was read")]);
});

test("★ AP-26: a reader that keeps changing its filter is sent open items only while it has room, and never if it is silent", () => {
  let room = 2;
  const { watchers, socket, sent, state } = setUp([event(1, "llm_text")], {
    applyBackpressure: () => room-- <= 0,
  });
  state.items = [{ id: "m1", kind: "text", thread: "main", attempt: 1, text: "So far." }];
  state.seen = { ...state.seen, ready: true };
  for (let count = 0; count < 5; count++) watchers.filter(socket, { deltas: "all" });
  expect(sent.map((frame) => (frame as { type: string }).type)).toEqual(["item_state", "item_state"]);
  expect(state.seen, "it goes on from the log").toMatchObject({ deltas: "all", after: 1 });
  room = 9;
  state.seen = { ...state.seen, after: null, reader: "silent" };
  watchers.filter(socket, { deltas: "all" });
  expect(sent).toHaveLength(2);
});
