import { expect, test } from "vitest";
import type { Run } from "../../src/agent/state/run.ts";
import type { Host } from "../../src/driver/host.ts";
import { openLiveText } from "../../src/driver/think.ts";

/** A host whose clock is moved by hand; it tells when which texts were shown, and what failed. */
const openHost = (update: () => void = () => undefined) => {
  let time = 1_000;
  let due: { at: number; run: () => void } | null = null;
  const shown: [number, string][] = [];
  const failures: unknown[] = [];
  const host = {
    now: () => time,
    after: (ms: number, run: () => void) => {
      const timer = { at: time + ms, run };
      due = timer;
      return { cancel: () => void (due === timer && (due = null)) };
    },
    update,
    failed: (error: unknown) => void failures.push(error),
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
  return { host: host as unknown as Host, moveTo, skipTo, shown, failures };
};

const piece = (index: number, data: string) => ({ index, kind: "text", off: 0, data }) as const;

test("AP-20: the first piece of an item is shown at once, what follows it every 13 ms, the end by its event", () => {
  const { host, moveTo, shown } = openHost();
  const stream = openLiveText(host, "main", { id: "run_1", turn: 1 } as Run, 1);
  for (let at = 0; at <= 40; at += 2) {
    moveTo(at);
    stream.take([piece(0, "x")], false);
  }
  moveTo(41);
  stream.take([piece(1, "new")], false);
  moveTo(42);
  stream.take([piece(1, "lost")], false);
  stream.close();
  moveTo(100);
  expect(shown).toEqual([
    [0, "x"],
    [13, "x".repeat(6)],
    [26, "x".repeat(6)],
    [39, "x".repeat(7)],
    [41, "x|new"],
  ]);
});

test("AP-20: a timer that fires late makes the frames after it no later", () => {
  const { host, moveTo, skipTo, shown } = openHost();
  const stream = openLiveText(host, "main", { id: "run_1", turn: 1 } as Run, 1);
  stream.take([piece(0, "first")], false);
  moveTo(1);
  stream.take([piece(0, "a")], false);
  skipTo(19);
  stream.take([piece(0, "b")], false);
  moveTo(70);
  stream.take([piece(0, "after a pause")], false);
  moveTo(71);
  stream.take([piece(0, "c")], false);
  moveTo(100);
  expect(shown).toEqual([
    [0, "first"],
    [19, "a"],
    [26, "b"],
    [70, "after a pause"],
    [83, "c"],
  ]);
});

test("AP-20: a first piece that cannot be stored fails the session, and not the model that sent it", () => {
  const full = new Error("full");
  const { host, shown, failures } = openHost(() => {
    throw full;
  });
  const stream = openLiveText(host, "main", { id: "run_1", turn: 1 } as Run, 1);
  stream.take([piece(0, "x")], false);
  expect([shown, failures]).toEqual([[], [full]]);
});

test("AP-20: of a reply that is there at once nothing is shown before its event", () => {
  const { host, moveTo, shown } = openHost();
  const stream = openLiveText(host, "main", { id: "run_1", turn: 1 } as Run, 1);
  stream.take([piece(0, "x")], true);
  stream.close();
  moveTo(100);
  expect(shown).toEqual([]);
});
