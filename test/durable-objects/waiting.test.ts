import { runInDurableObject } from "cloudflare:test";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { brokenInvariants } from "../support/worker/invariants.ts";
import { create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** A session that waits costs nothing: no timer, no request, no alarm but the deadline, and it leaves the memory. */

const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
/** Timers that were set and have neither fired nor been cleared. */
const timers = new Set<unknown>();
let alarms = 0;

beforeAll(() => {
  const kept = (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) => {
    const timer: unknown = real.setTimeout(
      (...args: unknown[]) => {
        timers.delete(timer);
        run(...args);
      },
      ms,
      ...given,
    );
    timers.add(timer);
    return timer;
  };
  globalThis.setTimeout = Object.assign(kept, real.setTimeout) as typeof globalThis.setTimeout;
  const cleared = (timer?: number | null) => {
    timers.delete(timer);
    real.clearTimeout(timer ?? null);
  };
  globalThis.clearTimeout = cleared as typeof globalThis.clearTimeout;
});
afterAll(() => {
  Object.assign(globalThis, real);
});
beforeEach(() => timers.clear());

/** Counts the alarms of all sessions from now on; gives back what stops it. */
const countAlarms = (session: Session): Promise<() => void> =>
  runInDurableObject(session.stub(), (instance) => {
    const whole = Object.getPrototypeOf(instance) as { alarm: () => Promise<void> };
    const { alarm } = whole;
    alarms = 0;
    whole.alarm = function counted(this: unknown) {
      alarms += 1;
      return alarm.call(this as never);
    };
    return () => {
      whole.alarm = alarm;
    };
  });

const openCalls = async (session: Session): Promise<number> => {
  const log = await session.events();
  const count = (type: string): number => log.filter((event) => event.type === type).length;
  return count("llm_request_start") - count("llm_finish");
};

const day = 24 * 3_600_000;

test.each([
  ["a person", "ask", ["ask"]],
  ["a child that waits for a child that asks a person", "elder", ["elder", "heir", "ask"]],
])(
  "AG-9 SE-34: whoever waits for %s has no timer, request or alarm, and is evicted",
  async (_what, agent, waiting) => {
    const session = await create(agent, "Go");
    await session.settled();
    const { head, alarm } = await session.peek();
    expect((alarm ?? 0) - Date.now(), "the question's deadline is all that is armed").toBeGreaterThan(
      day / 2,
    );
    expect(await openCalls(session)).toBe(0);
    expect(timers.size).toBe(0);

    const stop = await countAlarms(session);
    await scheduler.wait(60);
    await session.evict();
    await scheduler.wait(60);
    const { body } = await session.call("GET", "/threads");
    const threads = body["data"] as unknown as { agent: string; status: string }[];
    expect(threads.filter(({ status }) => status === "waiting").map((thread) => thread.agent)).toEqual(
      waiting,
    );
    expect(await session.peek()).toMatchObject({ head, alarm });
    expect(alarms, "alarms while nothing could happen").toBe(0);
    expect(timers.size).toBe(0);
    stop();

    const asks = await session.call("GET", "/asks?status=open");
    const [ask] = asks.body["data"] as unknown as { id: string }[];
    const answer = { decision: "answer", text: "blue" };
    expect((await session.call("POST", `/asks/${ask?.id}`, { body: answer })).status).toBe(200);
    await session.quiet();
    const ends = (await session.events()).flatMap((event) => (event.type === "run_end" ? [event] : []));
    expect(ends.map((event) => `${event.agent.name} ${event.data.state}`)).toEqual(
      waiting.toReversed().map((name) => `${name} completed`),
    );
    expect(await brokenInvariants(session, ["i1"], [])).toEqual([]);
  },
);
