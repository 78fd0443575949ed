import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import { createHelloTimers } from "../../durable-objects/sockets/hello-timers.ts";
import { create, request } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** Sockets that do not say hello, and those that say it twice (AP-25). */

afterEach(() => void vi.restoreAllMocks());

/** A socket that says nothing. */
const mute = async (session: Session): Promise<WebSocket> => {
  const upgrade = { headers: { Upgrade: "websocket" } };
  const { webSocket: socket } = await request("GET", `/sessions/${session.id}/ws`, upgrade);
  if (socket === null) throw new Error("no socket");
  socket.accept();
  return socket;
};

/** The timers of so many milliseconds that are set from now on and not cleared. */
const spyOnTimers = (length: number): (() => readonly unknown[]) => {
  const cleared = vi.spyOn(globalThis, "clearTimeout");
  const set = vi.spyOn(globalThis, "setTimeout");
  return () => {
    const gone: readonly unknown[] = cleared.mock.calls.map(([timer]) => timer);
    const timers: readonly unknown[] = set.mock.results.map(({ value }) => value as unknown);
    return timers.filter((timer, call) => set.mock.calls[call]?.[1] === length && !gone.includes(timer));
  };
};

test("AP-25: a socket without hello is closed 4408; one that said it is not, and leaves no timer behind", async () => {
  const session = await create("text");
  const awaiting = spyOnTimers(15);
  const codes = await runInDurableObject(session.stub(), async (_, state) => {
    const hellos = createHelloTimers(15);
    const open = () => {
      const [client, server] = Object.values(new WebSocketPair());
      if (client === undefined || server === undefined) throw new Error("no pair");
      state.acceptWebSocket(server);
      client.accept();
      const closed = new Promise<CloseEvent>((resolve) => client.addEventListener("close", resolve));
      hellos.expect(server);
      return { client, server, closed };
    };
    const [polite, silent] = [open(), open()];
    expect(awaiting()).toHaveLength(2);
    hellos.forget(polite.server);
    const { code, reason } = await silent.closed;
    const { readyState } = polite.client;
    polite.client.close(1000);
    return { code, reason, readyState };
  });
  expect(codes).toEqual({ code: 4408, reason: "no hello", readyState: WebSocket.OPEN });
  expect(awaiting()).toEqual([]);
});

test("AP-25: an opened socket has 10 s for its hello; its hello, or its end, takes the timer away, so that the session may sleep", async () => {
  const session = await create("text");
  const awaiting = spyOnTimers(10_000);
  const socket = await mute(session);
  expect(awaiting()).toHaveLength(1);
  socket.send(JSON.stringify({ type: "hello", after: 0 }));
  await vi.waitUntil(() => awaiting().length === 0);
  const other = await mute(session);
  expect(awaiting()).toHaveLength(1);
  other.close(1000);
  await vi.waitUntil(() => awaiting().length === 0);
  socket.close(1000);
});

test("AP-25: a second hello is an error frame, and changes nothing", async () => {
  const session = await create("text");
  const watch = await session.watch({ after: 0, types: ["run_end"] });
  await watch.until(({ type }) => type === "live");
  watch.send({ type: "hello", after: 0 });
  const error = await watch.until(({ type }) => type === "error");
  expect(error["problem"]).toMatchObject({
    code: "invalid_request",
    detail: expect.stringMatching(/hello.*set/),
  });
  await session.send("i1", "Go");
  await watch.event("run_end");
  expect(watch.events.map(({ type }) => type)).toEqual(["run_end"]);
  expect(watch.frames.filter(({ type }) => type === "welcome" || type === "live")).toHaveLength(2);
  expect(watch.ended).toBeNull();
  watch.close();
});
