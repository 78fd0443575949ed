import { afterEach, expect, test, vi } from "vitest";
import { createClock } from "../../durable-objects/alarms/clock.ts";
import { createTimerPool } from "../../durable-objects/alarms/timers.ts";

/** Timers of the platform that were set and not cleared, counted while `work` runs. */
const counted = async (work: (live: () => number) => Promise<void>): Promise<void> => {
  const open = new Set<unknown>();
  const set = vi.spyOn(globalThis, "setTimeout");
  const clear = vi.spyOn(globalThis, "clearTimeout");
  const live = (): number => {
    for (const { value } of set.mock.results) open.add(value);
    for (const [handle] of clear.mock.calls) open.delete(handle);
    return open.size;
  };
  try {
    await work(live);
  } finally {
    set.mockRestore();
    clear.mockRestore();
  }
};

const wait = (timers: ReturnType<typeof createTimerPool>, ms: number): Promise<void> =>
  new Promise((resolve) => void timers.after(ms, resolve));

afterEach(() => {
  vi.useRealTimers();
});

test("SE-34: waits end in their order, each once, whatever the order they began in", async () => {
  const timers = createTimerPool(Date.now);
  const ended: number[] = [];
  await Promise.all([9, 1, 5].map((ms) => wait(timers, ms).then(() => ended.push(ms))));
  expect(ended).toEqual([1, 5, 9]);
});

test("SE-34: a cancelled wait never ends, and those after it do", async () => {
  const timers = createTimerPool(Date.now);
  let ran = false;
  timers.after(1, () => (ran = true)).cancel();
  await wait(timers, 5);
  expect(ran).toBe(false);
});

test("SE-34: many waits that are cancelled in time cost one timer", () =>
  counted(async (live) => {
    const timers = createTimerPool(Date.now);
    for (let count = 0; count < 100; count++) timers.after(60_000, () => undefined).cancel();
    expect(live()).toBe(1);
    timers.rest();
    expect(live()).toBe(0);
  }));

test("SE-34: short waits beside a long one cost a timer each, and the long one ends", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  return counted(async (live) => {
    const set = vi.mocked(globalThis.setTimeout);
    const timers = createTimerPool(Date.now);
    const ended: number[] = [];
    timers.after(60, () => ended.push(60));
    for (let ms = 0; ms < 5; ms++) {
      timers.after(1, () => ended.push(ms));
      vi.advanceTimersByTime(1);
    }
    expect(set.mock.calls).toHaveLength(6);
    expect(live()).toBe(6);
    vi.advanceTimersByTime(54);
    expect(ended).toEqual([0, 1, 2, 3, 4]);
    vi.advanceTimersByTime(1);
    expect(ended).toEqual([0, 1, 2, 3, 4, 60]);
    timers.after(60_000, () => undefined);
    const short = timers.after(30_000, () => undefined);
    timers.rest();
    short.cancel();
  });
});

test("RE-I10: at rest the last cancel leaves no timer behind", () =>
  counted(async (live) => {
    const timers = createTimerPool(Date.now);
    const { cancel } = timers.after(60_000, () => undefined);
    timers.rest();
    expect(live()).toBe(1);
    cancel();
    expect(live()).toBe(0);
  }));

test("★ RE-3 SE-34: a deadline is heeded in time though its drive still waits for another object, and what then works gets an alarm", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const alarms: (number | null)[] = [];
  const storage = {
    setAlarm: (at: number) => void alarms.push(at),
    deleteAlarm: () => void alarms.push(null),
  } as unknown as DurableObjectStorage;
  const begin = Date.now();
  const pumps: number[] = [];
  const clock = createClock(storage, Date.now, () => {
    pumps.push(Date.now() - begin);
    clock.schedule(true, null);
  });
  const report = Promise.withResolvers<void>();
  const drive = clock.drive(
    () => Promise.resolve(),
    () => report.promise,
  );
  clock.schedule(true, null);
  clock.schedule(false, begin + 500);
  vi.advanceTimersByTime(5_000);
  expect(pumps).toEqual([500]);
  report.resolve();
  await drive;
  expect(alarms).toEqual([begin + 5_000]);
});

test("SE-34: of drives that follow each other in one run, only the last comes to rest", async () => {
  const storage = {
    setAlarm: () => undefined,
    deleteAlarm: () => undefined,
  } as unknown as DurableObjectStorage;
  const clock = createClock(storage, Date.now, () => undefined);
  const run = Promise.withResolvers<void>();
  const rests: string[] = [];
  const drive = (name: string): Promise<void> =>
    clock.drive(
      () => run.promise,
      async () => void rests.push(name),
    );
  const first = drive("first");
  clock.renew();
  await first;
  const second = drive("second");
  run.resolve();
  await second;
  expect(rests).toEqual(["second"]);
});

test("SE-34 AP-13: sockets that do not expire set no alarm; those that do move it, and bring none back at once after a failure", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const alarms: (number | null)[] = [];
  const storage = {
    setAlarm: (at: number) => void alarms.push(at),
    deleteAlarm: () => void alarms.push(null),
  } as unknown as DurableObjectStorage;
  const begin = Date.now();
  const clock = createClock(storage, Date.now, () => undefined);
  clock.alsoWakeAt(begin + 50);
  clock.expireAt(null);
  expect(alarms).toEqual([]);
  clock.alsoWakeAt(null);
  for (const at of [begin + 100, begin + 100, begin + 900, null, begin + 100]) clock.expireAt(at);
  expect(alarms).toEqual([begin + 100, begin + 900, null, begin + 100]);
  vi.advanceTimersByTime(200);
  clock.reset(begin + 1_200);
  expect(alarms.at(-1)).toBe(begin + 1_200);
});
