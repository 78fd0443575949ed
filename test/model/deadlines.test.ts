import { expect, test } from "vitest";
import { startDeadlines } from "../../src/model/deadlines.ts";
import type { Timers } from "../../src/model/deadlines.ts";
import { ModelError } from "../../src/model/error.ts";

const timeouts = { connect: 60, idle: 90, content_idle: 300, total: 1000 };

/** A clock that is moved by hand; counts the timers that were ever set. */
const clock = () => {
  let now = 0;
  let pending: { at: number; callback: () => void } | undefined;
  const counts = { set: 0 };
  const timers: Timers = {
    now: () => now,
    after: (ms, callback) => {
      counts.set++;
      const timer = { at: now + ms, callback };
      pending = timer;
      return {
        cancel: () => {
          if (timer === pending) pending = undefined;
        },
      };
    },
  };
  const moveTo = (time: number): void => {
    while (pending !== undefined && pending.at <= time) {
      const due = pending;
      pending = undefined;
      now = due.at;
      due.callback();
    }
    now = time;
  };
  return { timers, counts, moveTo, waiting: () => pending !== undefined };
};

const begin = (cancel = new AbortController()) => {
  const time = clock();
  const deadlines = startDeadlines(timeouts, { provider: "p", model: "m" }, cancel.signal, time.timers);
  const reason = () => {
    const error: unknown = deadlines.signal.reason;
    return error instanceof ModelError ? `${error.failure.code}: ${error.message.split(":")[0]}` : undefined;
  };
  return { ...time, ...deadlines, reason, cancel };
};

test("MO-20: without headers the attempt ends by connect, no earlier", () => {
  const attempt = begin();
  attempt.moveTo(59);
  expect(attempt.reason()).toBeUndefined();
  attempt.moveTo(60);
  expect(attempt.reason()).toBe("timeout: timeout connect");
});

test("MO-20 RE-F12: silence ends it by idle, counted from the last byte", () => {
  const attempt = begin();
  attempt.headers();
  attempt.moveTo(80);
  attempt.read(true);
  attempt.moveTo(169);
  expect(attempt.reason()).toBeUndefined();
  attempt.moveTo(170);
  expect(attempt.reason()).toBe("timeout: timeout idle");
});

test("MO-20 RE-F12: pings only end it by content_idle", () => {
  const attempt = begin();
  attempt.headers();
  for (let at = 50; at <= 350; at += 50) {
    attempt.moveTo(at);
    attempt.read(false);
  }
  expect(attempt.reason()).toBe("timeout: timeout content_idle");
});

test("MO-20 RE-F12: an endless reply ends by total, whatever it sends", () => {
  const attempt = begin();
  attempt.headers();
  for (let at = 10; at <= 990; at += 10) {
    attempt.moveTo(at);
    attempt.read(true);
  }
  expect(attempt.reason()).toBeUndefined();
  attempt.moveTo(1000);
  expect(attempt.reason()).toBe("timeout: timeout total");
});

test("MO-20: reads set no timers: one coarse timer serves thousands of them", () => {
  const attempt = begin();
  attempt.headers();
  for (let i = 0; i < 5000; i++) {
    attempt.moveTo(i / 10);
    attempt.read(true);
  }
  expect(attempt.counts.set).toBeLessThan(15);
});

test("MO-1: a cancel ends it at once as cancelled, also one that came before", () => {
  const attempt = begin();
  attempt.cancel.abort();
  expect(attempt.reason()).toBe("cancelled: The call was cancelled.");
  const cancel = new AbortController();
  cancel.abort();
  expect(begin(cancel).reason()).toBe("cancelled: The call was cancelled.");
});

test("MO-20: after stop nothing ends the attempt and no timer is left", () => {
  const attempt = begin();
  attempt.headers();
  attempt.stop();
  expect(attempt.waiting()).toBe(false);
  attempt.cancel.abort();
  attempt.moveTo(5000);
  expect(attempt.signal.aborted).toBe(false);
});

test("MO-20: an attempt that ended leaves no timer", () => {
  const attempt = begin();
  attempt.moveTo(60);
  expect(attempt.signal.aborted).toBe(true);
  expect(attempt.waiting()).toBe(false);
});
