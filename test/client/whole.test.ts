import { afterEach, expect, test, vi } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { createClient } from "../../src/client/index.ts";
import type { OpenSession } from "../../src/client/index.ts";

/** What events show in part and a page asks for as a whole, against a server that the test plays. */

const eventOf = (seq: number, type: StoredEvent["type"], data: object, call?: string): StoredEvent =>
  ({
    v: 1,
    id: `e${seq}`,
    seq,
    at: seq,
    session: "s_1",
    thread: "main",
    agent: { name: "a", prefix: "" },
    run: "run_1",
    turn: 1,
    type,
    data,
    ...(call !== undefined && { call }),
  }) as unknown as StoredEvent;

/** The message of a call's result, as its event has it, and as the session keeps it. */
const resultOf = (pos: number, text?: string) => ({
  id: `m${pos}`,
  pos,
  role: "tool",
  origin: "system",
  at: pos,
  run: "run_1",
  turn: 1,
  parts: [
    {
      type: "tool_result",
      call: `call_${pos}`,
      name: "look",
      status: "ok",
      ...(text !== undefined && { content: [{ type: "text", text }] }),
    },
  ],
});

const endOf = (seq: number, pos: number): readonly StoredEvent[] => [
  eventOf(seq, "message_added", { message: resultOf(pos), final: false }),
  eventOf(
    seq + 1,
    "tool_call_end",
    { tool: "look", outcome: "ok", output: "the beginning", truncated: true },
    `call_${pos}`,
  ),
];

/** So many events came before those that are read at first. */
const earlier = 50;

const log: readonly StoredEvent[] = [
  ...Array.from({ length: earlier + 396 }, (_, at) =>
    eventOf(at + 1, "error", { code: "internal", message: `Number ${at + 1}`, retryable: false }),
  ),
  ...endOf(earlier + 397, 1),
  ...endOf(earlier + 399, 2),
];

const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0, calls: 0, cost_usd: 0 };

const thread = { id: "main", agent: "a", parent: null, depth: 0, run: null, last_run: null, status: "idle" };

const snapshot = {
  seq: log.length,
  session: { id: "s_1", prefix: "", usage, head_seq: log.length, updated_at: 0 },
  threads: [thread],
  asks: [],
  inputs: [],
  runs: [],
};

/** The stream of a server: what came after a number, and no end. */
const streamAfter = (after: number): Response => {
  const blocks = log.slice(after).map((event) => `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`);
  const text = [...blocks, `data: ${JSON.stringify({ type: "live", seq: log.length })}\n\n`].join("");
  const body = new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(text)) });
  return new Response(body);
};

/** Opens the session; a whole message is answered when the test says so. */
const openPlayed = async () => {
  vi.stubGlobal("WebSocket", undefined);
  const asked: string[] = [];
  const waiting = new Map<number, (response: Response) => void>();
  const answer = (address: string, signal: AbortSignal | null | undefined): Response | Promise<Response> => {
    const { pathname, searchParams, search } = new URL(address);
    const numberOf = (name: string): number => Number(searchParams.get(name));
    if (pathname.endsWith("/snapshot")) return Response.json(snapshot);
    if (!pathname.endsWith("/messages") && !searchParams.has("before")) return streamAfter(numberOf("after"));
    asked.push(`${pathname.split("/").at(-1)}${search}`);
    if (pathname.endsWith("/events")) {
      const page = log.slice(numberOf("after"), numberOf("before") - 1);
      return Response.json({ data: page, next_after: numberOf("before") - 1 });
    }
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    waiting.set(numberOf("before") - 1, resolve);
    signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    return promise;
  };
  const open = createClient({
    url: "http://limpet.test",
    fetch: async (address, init) =>
      answer(address instanceof Request ? address.url : String(address), init?.signal),
  })
    .sessions.get("s_1")
    .open();
  const shown = Promise.withResolvers<void>();
  open.subscribe(() => open.getSnapshot().status === "live" && shown.resolve());
  await shown.promise;
  const give = (pos: number): void =>
    waiting.get(pos)?.(Response.json({ data: [resultOf(pos, `all of ${pos}`)] }));
  return { open, asked, waiting, give };
};

const outputsOf = (open: OpenSession): readonly unknown[] =>
  (open.getSnapshot().threads[0]?.entries ?? []).flatMap((entry) =>
    entry.kind === "call" ? [[entry.output, entry.truncated]] : [],
  );

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("AP-51: two outputs that are asked for at once are both shown as a whole, and stay so when earlier entries come", async () => {
  const { open, asked, waiting, give } = await openPlayed();
  expect(outputsOf(open)).toEqual([
    ["the beginning", true],
    ["the beginning", true],
  ]);
  const both = [open.loadWhole("main", "call_1"), open.loadWhole("main", "call_2")];
  await vi.waitUntil(() => waiting.size === 2);
  give(2);
  give(1);
  await Promise.all(both);
  const whole = [
    ["all of 1", false],
    ["all of 2", false],
  ];
  await vi.waitUntil(() => open.getSnapshot().seq === log.length);
  await vi.waitFor(() => expect(outputsOf(open)).toEqual(whole));
  expect(asked, "each is one message").toHaveLength(2);
  expect(await open.loadEarlier()).toBe(false);
  await vi.waitFor(() => expect(open.getSnapshot().threads[0]?.entries[0]?.seq).toBe(1));
  expect(outputsOf(open)).toEqual(whole);
  open.close();
});

test("AP-52: a whole output that the server never gives is given up after a minute", async () => {
  const { open, waiting } = await openPlayed();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const asked = open.loadWhole("main", "call_1");
  const outcome = expect(asked).rejects.toMatchObject({ problem: { code: "server_silent" } });
  await vi.waitUntil(() => waiting.size === 1);
  await vi.advanceTimersByTimeAsync(60_000);
  await outcome;
  open.close();
});
