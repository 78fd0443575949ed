import { afterAll, expect, test } from "vitest";
import { executionsOf } from "../support/worker/probe.ts";
import { moments, newTally, notQuiet, playPoints, report } from "../support/worker/matrix.ts";
import type { Scenario } from "../support/worker/matrix.ts";
import type { Session } from "../support/worker/session.ts";

/** Sessions struck from outside, at moments that a client sees, and then left alone: only their alarm can finish them. */

const tally = newTally();
afterAll(() => console.info(report(tally)));

const rolesOf = async (session: Session): Promise<string[]> => {
  const { body } = await session.call("GET", "/messages");
  return (body["data"] as unknown as { role: string }[]).map(({ role }) => role);
};

const alone = { inputs: ["i1"], play: async () => undefined, end: { state: "completed" } } as const;

const scenarios: readonly Scenario[] = [
  {
    ...alone,
    agent: "text",
    check: async (session) => expect(await rolesOf(session)).toEqual(["user", "assistant"]),
  },
  {
    ...alone,
    agent: "tools",
    check: async (session) => {
      expect(await rolesOf(session)).toEqual(["user", "assistant", "tool", "tool", "tool", "assistant"]);
      const puts = executionsOf(session.id).filter(({ tool }) => tool === "put");
      expect(puts.length).toBeGreaterThan(0);
      expect(new Set(puts.map(({ key }) => key)).size, "one key for all runs of a call").toBe(1);
    },
  },
  { ...alone, agent: "broken" },
  { ...alone, agent: "retry" },
  { ...alone, agent: "long" },
];

const limit = 120_000;

test.each(scenarios)(
  "RE-P2 RE-C3 to RE-C14: $agent survives an abort at every moment",
  async (scenario) => {
    await playPoints(tally, scenario, "abort", moments(8, 30));
    expect(tally.failures).toEqual([]);
  },
  limit,
);

test.each(scenarios)(
  "RE-C39: $agent survives a storm of four aborts at every moment",
  async (scenario) => {
    await playPoints(tally, scenario, "storm", moments(8, 20));
    expect(tally.failures).toEqual([]);
  },
  limit,
);

test.each(scenarios)(
  "RE-V6: $agent goes on over an eviction at every moment, and its sockets with it",
  async (scenario) => {
    await playPoints(tally, scenario, "evict", moments(8, 0));
    await playPoints(tally, scenario, "evict and close", moments(8, 0));
    expect(tally.failures).toEqual([]);
  },
  limit,
);

test("I10: at rest no session has an alarm or a row of an open item", async () => {
  expect(await notQuiet(tally)).toEqual([]);
});
