import { expect, test } from "vitest";
import type { Run } from "../../src/agent/state/run.ts";
import type { Host } from "../../src/driver/host.ts";
import { openLiveText } from "../../src/driver/live-text.ts";

/** A host whose clock is moved by hand; it tells when which texts were shown. */
const openHost = () => {
  let time = 1_000;
  let due: { at: number; run: () => void } | null = null;
  const shown: [number, string][] = [];
  const host = {
    now: () => time,
    after: (ms: number, run: () => void) => {
      const timer = { at: time + ms, run };
      due = timer;
      return { cancel: () => void (due === timer && (due = null)) };
    },
    update: () => undefined,
    itemGrew: () => undefined,
    itemsClosed: () => undefined,
    show: (deltas: readonly { readonly data: string }[]) =>
      void shown.push([time - 1_000, deltas.map(({ data }) => data).join("|")]),
  };
  const moveTo = (at: number): void => {
    for (time = time + 0; time <= 1_000 + at; time++) {
      const timer = due;
      if (timer === null || timer.at > time) continue;
      due = null;
      timer.run();
    }
    time = 1_000 + at;
  };
  /** Lets time pass in which no timer fires, and then those that are due. */
  const skipTo = (at: number): void => {
    time = 1_000 + at;
    moveTo(at);
  };
  return { host: host as unknown as Host, moveTo, skipTo, shown };
};

const piece = (index: number, data: string) => ({ index, kind: "text", off: 0, data }) as const;

test("AP-20: the first piece of an item is shown at once, what follows it every 16 ms, the end by its event", () => {
  const { host, moveTo, shown } = openHost();
  const stream = openLiveText(host, "main", { id: "run_1", turn: 1 } as Run, 1);
  for (let at = 0; at <= 40; at += 2) {
    moveTo(at);
    stream.take([piece(0, "x")]);
  }
  moveTo(41);
  stream.take([piece(1, "new")]);
  moveTo(42);
  stream.take([piece(1, "lost")]);
  stream.close();
  moveTo(100);
  expect(shown).toEqual([
    [0, "x"],
    [16, "x".repeat(7)],
    [32, "x".repeat(8)],
    [41, "xxxxx|new"],
  ]);
});

test("AP-20: a timer that fires late makes the frames after it no later", () => {
  const { host, moveTo, skipTo, shown } = openHost();
  const stream = openLiveText(host, "main", { id: "run_1", turn: 1 } as Run, 1);
  stream.take([piece(0, "first")]);
  moveTo(1);
  stream.take([piece(0, "a")]);
  skipTo(19);
  stream.take([piece(0, "b")]);
  moveTo(70);
  stream.take([piece(0, "after a pause")]);
  moveTo(71);
  stream.take([piece(0, "c")]);
  moveTo(100);
  expect(shown).toEqual([
    [0, "first"],
    [19, "a"],
    [32, "b"],
    [70, "after a pause"],
    [86, "c"],
  ]);
});
