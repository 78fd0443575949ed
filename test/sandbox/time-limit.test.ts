import { setImmediate } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { limitTime, startTimeLimit, unlessAborted } from "../../src/sandbox/time-limit.ts";

test("a time limit aborts when its time is over, or with the signal around it, and not after it was stopped", () => {
  vi.useFakeTimers();
  const around = new AbortController();
  const [short, outer, stopped] = [startTimeLimit(50), startTimeLimit(50, around.signal), startTimeLimit(50)];
  stopped.stop();
  around.abort(new Error("cancelled"));
  expect(outer.signal.reason).toMatchObject({ message: "cancelled" });
  expect(short.signal.aborted).toBe(false);
  vi.advanceTimersByTime(50);
  expect(short.signal.reason).toMatchObject({ name: "TimeoutError" });
  expect(stopped.signal.aborted).toBe(false);
  outer.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test("work under a time limit leaves no timer, whether it succeeds or fails", async () => {
  vi.useFakeTimers();
  await expect(limitTime(1_000, undefined, () => Promise.resolve(1))).resolves.toBe(1);
  const failing = limitTime(1_000, undefined, () => Promise.reject(new Error("broken")));
  await expect(failing).rejects.toThrow("broken");
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test("a time limit whose outer signal has aborted, before or meanwhile, has no timer", () => {
  vi.useFakeTimers();
  startTimeLimit(1_000, AbortSignal.abort());
  const outer = new AbortController();
  startTimeLimit(1_000, outer.signal);
  outer.abort();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test("a wait ends with its signal, also with one that had aborted, and a failure after that is no unhandled one", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  for (const isEarly of [true, false]) {
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = new AbortController();
    if (isEarly) cancel.abort(new Error("cancelled"));
    const wait = unlessAborted(promise, cancel.signal);
    cancel.abort(new Error("cancelled"));
    await expect(wait).rejects.toThrow("cancelled");
    reject(new Error("too late"));
    await setImmediate();
  }
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});
