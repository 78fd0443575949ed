import { expect, test } from "vitest";
import { createLazyAbort } from "../../src/driver/host.ts";

test("SE-31: an ending that is asked for aborts its signal, whenever that was made", () => {
  const early = createLazyAbort();
  const signal = early.signal();
  expect([early.asked(), signal.aborted]).toEqual([false, false]);
  early.ask();
  expect([early.asked(), signal.aborted]).toEqual([true, true]);
  expect(early.signal()).toBe(signal);
  const late = createLazyAbort();
  late.ask();
  expect(late.signal().aborted).toBe(true);
});

test("SE-31: who waits for an ending is told once, at once if it was asked for already", () => {
  const ending = createLazyAbort();
  const told: string[] = [];
  ending.whenAsked(() => told.push("before"));
  expect(told).toEqual([]);
  ending.ask();
  ending.ask();
  expect(told).toEqual(["before"]);
  ending.whenAsked(() => told.push("after"));
  expect(told).toEqual(["before", "after"]);
});
