import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import { createTimerPool } from "../../durable-objects/alarms/timers.ts";
import { createGates } from "../../durable-objects/gates.ts";
import { createGrants } from "../../durable-objects/grants.ts";
import { createSizeMeter } from "../../durable-objects/rows/archive.ts";
import { createOpenItems } from "../../durable-objects/sockets/open-items.ts";
import type { Session } from "../../src/agent/state/session.ts";
import { create } from "../support/worker/session.ts";

/** What an object in memory does when its clock is set back by an hour. */

const hour = 3_600_000;

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("RE-C38: ★ a wait lasts as long as it was to, although the clock steps back meanwhile", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let now = hour;
  const timers = createTimerPool(() => now);
  const ended: number[] = [];
  for (const ms of [60, 90]) timers.after(ms, () => ended.push(ms));
  now = 0;
  vi.advanceTimersByTime(60);
  expect(ended).toEqual([60]);
  timers.after(50, () => ended.push(50));
  vi.advanceTimersByTime(30);
  expect(ended).toEqual([60, 90]);
  vi.advanceTimersByTime(20);
  expect(ended).toEqual([60, 90, 50]);
});

test("TB-8 RE-C38: ★ grants are read again within 30 s, although the clock steps back meanwhile", async () => {
  let now = hour;
  let reads = 0;
  const answer = async () => {
    reads += 1;
    return { agents: [], revoked: [] };
  };
  const grants = createGrants(
    () => ({ grants: answer }),
    () => now,
  );
  const session = { tenant: "t1", id: "s", grants: [] } as unknown as Session;
  await grants.refresh(session);
  await grants.refresh(session);
  expect(reads).toBe(1);
  now = 0;
  await grants.refresh(session);
  expect(reads).toBe(2);
});

test("MO-28 RE-C38: ★ the health of providers is read again, although the clock steps back meanwhile", async () => {
  let now = hour;
  let reads = 0;
  const health = async () => {
    reads += 1;
    return [];
  };
  const gates = createGates(() => ({ health }) as never, { now: () => now, whileDriving: () => null });
  const targets = [{ provider: "script", model: "play" }];
  gates.refresh(targets);
  gates.refresh(targets);
  expect(reads).toBe(1);
  now = 0;
  gates.refresh(targets);
  expect(reads).toBe(2);
});

test("RE-3 RE-C38: ★ what a session holds is measured again, although the clock steps back meanwhile", async () => {
  const session = await create("text");
  await runInDurableObject(session.stub(), (_, { storage }) => {
    let now = hour;
    const stored = createSizeMeter(storage.sql, () => now);
    const before = stored();
    storage.sql.exec("INSERT INTO blobs VALUES ('big', 0, ?)", "x".repeat(100_000));
    now = 0;
    expect(stored()).toBeGreaterThanOrEqual(before + 100_000);
  });
});

test("AP-20 RE-C38: ★ what an open item shows is stored, although the clock steps back meanwhile", async () => {
  const session = await create("text");
  await runInDurableObject(session.stub(), (_, { storage }) => {
    let now = hour;
    const items = createOpenItems(storage.sql, () => now);
    const grow = (text: string): void =>
      items.grow({ id: "i1", kind: "text", thread: "main", attempt: 1, text });
    grow("One");
    now = 0;
    grow("One, two");
    const stored = createOpenItems(storage.sql, () => now).find("i1");
    expect(stored).toMatchObject({ text: "One, two" });
  });
});

test("AP-25 RE-C38: ★ a socket is not closed for its rate because the clock steps back", async () => {
  const session = await create("text");
  const watch = await session.watch();
  watch.send({ type: "set", deltas: "text" }, { type: "ping" });
  await watch.until(({ type }) => type === "pong");
  const before = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => before - hour);
  const command = { type: "command", id: "c1", op: "rename", params: { title: "Later" } };
  watch.send(command);
  expect(await watch.until(({ type }) => ["result", "error", "bye"].includes(type))).toMatchObject({
    id: "c1",
  });
  watch.close();
});
