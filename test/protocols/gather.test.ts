import { expect, test } from "vitest";
import { systemTimers } from "../../src/model/deadlines.ts";
import { createBodyGatherer } from "../../src/protocols/body-gatherer.ts";

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

test("MO-2: bytes are handed out as they come, those that came meanwhile together", async () => {
  const { body, push, close } = bodyByHand();
  const gatherer = createBodyGatherer(body, systemTimers);
  push("a");
  expect(textOf(await gatherer.next())).toEqual(["a"]);
  push("b", "c");
  await new Promise(setImmediate);
  expect(textOf(await gatherer.next())).toEqual(["b", "c"]);
  const next = gatherer.next();
  push("d");
  expect(textOf(await next)).toEqual(["d"]);
  close();
  expect(await gatherer.next()).toBeNull();
});

test("MO-19: what came before a failure is handed out first", async () => {
  const { body, push, fail } = bodyByHand();
  const gatherer = createBodyGatherer(body, systemTimers);
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
  const gatherer = createBodyGatherer(body, systemTimers);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect(pulls).toBe(2);
  expect((await gatherer.next())?.length).toBe(2);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect(pulls).toBe(4);
  await gatherer.stop(false);
});

test("MO-15: a wait ends without bytes, and stopping a stream that is not whole cancels it", async () => {
  const { body, seen } = bodyByHand();
  const gatherer = createBodyGatherer(body, systemTimers);
  expect(await gatherer.next(5)).toBeNull();
  await gatherer.stop(false);
  expect(seen.cancelled).toBe(true);
});

test("MO-19: a whole body may end by itself, bytes after its end cancel it", async () => {
  const quiet = bodyByHand();
  const first = createBodyGatherer(quiet.body, systemTimers);
  await first.stop(true);
  quiet.close();
  await new Promise(setImmediate);
  expect(quiet.seen.cancelled).toBe(false);
  const loud = bodyByHand();
  const second = createBodyGatherer(loud.body, systemTimers);
  await second.stop(true);
  loud.push("more");
  await expect.poll(() => loud.seen.cancelled).toBe(true);
});
