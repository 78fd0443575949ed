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
  return { host: host as unknown as Host, moveTo, shown };
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
