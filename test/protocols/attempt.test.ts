import { systemTimers } from "../../src/model/deadlines.ts";
import { describe, expect, test } from "vitest";
import type { ModelEvent } from "../../src/model/completer.ts";
import { createFaults, readAnswerFailure, readReply } from "../../src/protocols/attempt.ts";
import type { Decoder } from "../../src/protocols/protocol.ts";
import { framesOfKind } from "../support/fake-provider.ts";
import { requestOf, wireOf } from "../support/fake-provider-client.ts";
import type { Kind } from "../support/fake-provider-fields.ts";

const faults = createFaults({ provider: "p", model: "m" }, new Headers(), () => 0);

/** Knows two frames: `text`, and `finish`, after which only usage may follow. */
const plainDecoder = (): Decoder => {
  let state: "open" | "finished" = "open";
  return {
    frame: ({ data }, events) => {
      if (data === "finish") {
        state = "finished";
        events.push({ type: "finish", reason: "stop", raw: "stop" });
      } else events.push({ type: "text", item: 0, text: data });
    },
    state: () => state,
  };
};

/** A body that says `texts`, then what `more` gives for each pull: a piece, or an error. */
const bodyOf = (texts: string, more: () => Promise<string | Error>): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from(texts)),
    pull: async (controller) => {
      const next = await more();
      if (typeof next === "string") controller.enqueue(Buffer.from(next));
      else controller.error(next);
    },
  });

const eventsOf = async (body: ReadableStream<Uint8Array>, timers = systemTimers): Promise<ModelEvent[]> => {
  const deadlines = { read: () => undefined, timers };
  return (await Array.fromAsync(readReply(body, plainDecoder(), faults, deadlines, {}))).flat();
};

test("MO-15: usage is awaited for a bounded time after the end was told, whatever else the server sends", async () => {
  let comments = 0;
  const body = bodyOf("data: hello\n\ndata: finish\n\n", async () => {
    await new Promise((done) => void setImmediate(done));
    comments += 1;
    return comments > 200 ? new Error("read to the end") : ": keep-alive\n\n";
  });
  const timers = { ...systemTimers, now: () => comments * 200 };
  expect((await eventsOf(body, timers)).map(({ type }) => type)).toEqual(["text", "finish"]);
  expect(comments).toBeLessThan(50);
});

test("MO-15: a connection that breaks after the end was told does not undo the reply, before it does", async () => {
  const reset = async () => new Error("reset");
  const told = bodyOf("data: hello\n\ndata: finish\n\n", reset);
  expect((await eventsOf(told)).map(({ type }) => type)).toEqual(["text", "finish"]);
  await expect(eventsOf(bodyOf("data: hello\n\n", reset))).rejects.toThrow("reset");
});

/** Returns whether the last bytes show that a model works: pings after the first frames of a reply. */
const showsWork = async (
  kind: Kind,
  frames: readonly string[],
  ping: string,
): Promise<boolean | undefined> => {
  const reads: boolean[] = [];
  let pings = 0;
  const body = bodyOf(frames.join(""), async () => {
    await new Promise((done) => void setImmediate(done));
    pings += 1;
    return pings > 20 ? new Error("cut") : ping;
  });
  const { protocol, target } = wireOf(kind);
  const decoder = protocol.decoder(requestOf(kind), target, faults);
  const deadlines = { read: (content: boolean) => void reads.push(content), timers: systemTimers };
  await expect(Array.fromAsync(readReply(body, decoder, faults, deadlines, {}))).rejects.toThrow("cut");
  return reads.at(-1);
};

describe.each([
  ["anthropic", 'event: ping\ndata: {"type":"ping"}\n\n'],
  ["responses", 'event: keepalive\ndata: {"type":"keepalive","sequence_number":9}\n\n'],
] as const)("%s", (kind, ping) => {
  const frames = framesOfKind(kind, { pieces: [{ reasoning: "Hidden." }, { text: "Done." }] }, "m");
  const reasoned = frames.findIndex((frame) => /_stop"|item\.done"/.test(frame)) + 1;

  test.each([
    ["pings", ping],
    ["comments of a gateway", ": keep-alive\n\n"],
  ])("MO-20: %s show that the model works while it reasons, and not afterwards", async (_, sign) => {
    expect(await showsWork(kind, frames.slice(0, 3), sign)).toBe(true);
    expect(await showsWork(kind, frames.slice(0, reasoned), sign)).toBe(false);
    expect(await showsWork(kind, frames.slice(0, 1), sign)).toBe(false);
  });
});

const origin = { provider: "p", model: "m" };
const untilAborted = new AbortController().signal;

test("MO-25: of a refusal whose text does not end, what has come counts after 5 s, and the rest is not awaited", async () => {
  const error = {
    type: "invalid_request_error",
    message: "prompt is too long: 250000 tokens > 200000 maximum",
  };
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from(JSON.stringify({ type: "error", error }))),
    cancel: () => cancelled.resolve(),
  });
  const started: number[] = [];
  const timers = {
    now: () => 0,
    after: (ms: number, run: () => void) => {
      started.push(ms);
      setImmediate(run);
      return { cancel: () => undefined };
    },
  };
  const watch = { signal: untilAborted, timers };
  const { failure } = await readAnswerFailure(new Response(body, { status: 400 }), origin, watch, {});
  expect(failure).toMatchObject({ code: "context_overflow" });
  expect(new Set(started)).toEqual(new Set([5_000]));
  await cancelled.promise;
});

test("MO-25 MO-26: a refusal whose text breaks off keeps its status and the wait that it asks for", async () => {
  const body = bodyOf('{"type":"err', async () => new Error("reset"));
  const response = new Response(body, { status: 429, headers: { "Retry-After": "120" } });
  const watch = { signal: untilAborted, timers: systemTimers };
  const { failure } = await readAnswerFailure(response, origin, watch, {});
  expect(failure).toMatchObject({ code: "rate_limited", status: 429, retryAfterMs: 120_000 });
});

test("MO-20: a frame without data says nothing", async () => {
  const body = bodyOf(
    "data: hello\n\nevent: ping\ndata: \n\ndata:\n\ndata: finish\n\n",
    async () => new Error("reset"),
  );
  expect((await eventsOf(body)).map(({ type }) => type)).toEqual(["text", "finish"]);
});
