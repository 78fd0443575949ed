import { afterEach, expect, test, vi } from "vitest";
import { createGatherer } from "../../src/protocols/gather.ts";

/** A body that is fed by hand, and what its reader did to it. */
const bodyByHand = () => {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const seen = { pulls: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => void (controller = given),
      pull: () => void (seen.pulls += 1),
      cancel: () => void (seen.cancelled = true),
    },
    { highWaterMark: 0 },
  );
  const push = (...texts: readonly string[]): void => {
    for (const text of texts) controller?.enqueue(Buffer.from(text));
  };
  return {
    body,
    seen,
    push,
    close: () => controller?.close(),
    fail: (error: Error) => controller?.error(error),
  };
};
const textOf = (chunks: readonly Uint8Array[] | null): readonly string[] | null =>
  chunks?.map((chunk) => Buffer.from(chunk).toString()) ?? null;

afterEach(() => void vi.useRealTimers());

test("MO-2: the first bytes come at once, those of a fast stream together", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const { body, push, close } = bodyByHand();
  const gatherer = createGatherer(body, 30);
  push("a");
  expect(textOf(await gatherer.next())).toEqual(["a"]);
  push("b", "c");
  const lot = gatherer.next();
  push("d");
  await vi.advanceTimersByTimeAsync(29);
  push("e");
  await vi.advanceTimersByTimeAsync(1);
  push("f");
  expect(textOf(await lot)).toEqual(["b", "c", "d", "e"]);
  close();
  expect(textOf(await gatherer.next())).toEqual(["f"]);
  expect(await gatherer.next()).toBeNull();
});

test("MO-2: the end of the stream is not waited for", async () => {
  const { body, push, close } = bodyByHand();
  const gatherer = createGatherer(body, 60_000);
  push("a");
  await gatherer.next();
  push("b");
  close();
  expect(textOf(await gatherer.next())).toEqual(["b"]);
  expect(await gatherer.next()).toBeNull();
});

test("MO-19: what came before a failure is handed out first", async () => {
  const { body, push, fail } = bodyByHand();
  const gatherer = createGatherer(body, 0);
  push("a");
  const first = gatherer.next();
  expect(textOf(await first)).toEqual(["a"]);
  fail(new Error("reset"));
  await expect(gatherer.next()).rejects.toThrow("reset");
});

test("MO-20: reading pauses while a mebibyte waits", async () => {
  const half = new Uint8Array(512 * 1024);
  let pulls = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        pulls += 1;
        controller.enqueue(half);
      },
    },
    { highWaterMark: 0 },
  );
  const gatherer = createGatherer(body, 0);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect(pulls).toBe(2);
  expect((await gatherer.next())?.length).toBe(2);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect(pulls).toBe(4);
  await gatherer.stop(false);
});

test("MO-15: a wait ends without bytes, and stopping a stream that is not whole cancels it", async () => {
  const { body, seen } = bodyByHand();
  const gatherer = createGatherer(body, 0);
  expect(await gatherer.next(5)).toBeNull();
  await gatherer.stop(false);
  expect(seen.cancelled).toBe(true);
});

test("MO-19: a whole body may end by itself, bytes after its end cancel it", async () => {
  const quiet = bodyByHand();
  const first = createGatherer(quiet.body, 0);
  await first.stop(true);
  quiet.close();
  await new Promise(setImmediate);
  expect(quiet.seen.cancelled).toBe(false);
  const loud = bodyByHand();
  const second = createGatherer(loud.body, 0);
  await second.stop(true);
  loud.push("more");
  await expect.poll(() => loud.seen.cancelled).toBe(true);
});
