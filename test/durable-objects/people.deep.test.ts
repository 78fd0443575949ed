import { afterAll, expect, test } from "vitest";
import { executionsOf, letGo } from "../support/worker/probe.ts";
import { insist, moments, newTally, notQuiet, playPoints, range, report } from "../support/worker/matrix.ts";
import type { Moment, Scenario } from "../support/worker/matrix.ts";
import type { Session } from "../support/worker/session.ts";

/** Crashes around what people do: answers, approvals, steers, queued inputs, cancels (RE §2, C15 to C17, C25, C28). */

const tally = newTally();
afterAll(() => console.info(report(tally)));

const completed = { state: "completed", reason: "end_turn" };

const openAsk = async (session: Session): Promise<string> => {
  await session.settled();
  const { body } = await session.call("GET", "/asks?status=open");
  const [ask] = body["data"] as unknown as { id: string }[];
  return ask?.id ?? "";
};

/** Answers the ask of a session, once it waits for it; answers the same again when told nothing. */
const answer = async (session: Session, body: object): Promise<void> => {
  const ask = await openAsk(session);
  if (ask === "") return;
  expect(await insist(session, `/asks/${ask}`, body, "a1")).toBe(200);
};

const textOfResult = async (session: Session): Promise<string> => {
  const { body } = await session.call("GET", "/messages");
  const results = (body["data"] as unknown as { role: string; parts: unknown }[]).filter(
    ({ role }) => role === "tool",
  );
  return JSON.stringify(results.map(({ parts }) => parts));
};

const scenarios: readonly Scenario[] = [
  {
    agent: "ask",
    inputs: ["i1"],
    play: (session) => answer(session, { decision: "answer", text: "blue" }),
    end: completed,
    check: async (session) => {
      expect(await textOfResult(session)).toContain("blue");
      expect((await session.events()).filter(({ type }) => type === "ask_resolved")).toHaveLength(1);
      expect((await session.events()).filter(({ type }) => type === "attempt_aborted").length).toBeLessThan(
        5,
      );
    },
  },
  {
    agent: "approve",
    inputs: ["i1"],
    play: (session) => answer(session, { decision: "approve" }),
    end: completed,
    check: async (session) => {
      const fired = executionsOf(session.id).length;
      const text = await textOfResult(session);
      expect(fired, "an approved call runs once, or is reported as unknown").toBe(
        text.includes('"unknown"') ? fired : 1,
      );
      expect(fired).toBeLessThanOrEqual(1);
    },
  },
  {
    agent: "held",
    inputs: ["i1", "i2"],
    play: async (session) => {
      await insist(session, "/messages", { id: "i2", content: "Stop that", on_busy: "steer" }, "i2");
      letGo(session.id);
    },
    end: completed,
    check: async (session) => {
      const applied = (await session.events()).filter(({ type }) => type === "input_applied");
      expect(applied.map(({ data }) => data)).toMatchObject([{ input: "i1" }, { input: "i2" }]);
    },
  },
  {
    agent: "slow",
    inputs: ["i1", "i2", "i3"],
    play: async (session) => {
      await insist(session, "/messages", { id: "i2", content: "Second", on_busy: "queue" }, "i2");
      await insist(session, "/messages", { id: "i3", content: "Third", on_busy: "queue" }, "i3");
    },
    end: completed,
    check: async (session) => {
      const applied = (await session.events()).filter(({ type }) => type === "input_applied");
      expect(applied.map(({ data }) => data)).toMatchObject([
        { input: "i1" },
        { input: "i2" },
        { input: "i3" },
      ]);
      expect((await session.events()).filter(({ type }) => type === "run_end")).toHaveLength(3);
    },
  },
];

const limit = 120_000;

test.each(scenarios)(
  "RE-C15 RE-C16 RE-C17 RE-C28: $agent survives an abort at every moment",
  async (scenario) => {
    await playPoints(tally, scenario, "abort", moments(12, 30));
    expect(tally.failures).toEqual([]);
  },
  limit,
);

test.each(scenarios)(
  "RE-C39: $agent survives a storm of four aborts at every moment",
  async (scenario) => {
    await playPoints(tally, scenario, "storm", moments(12, 20));
    expect(tally.failures).toEqual([]);
  },
  limit,
);

test.each(scenarios)(
  "RE-V6: $agent goes on over an eviction at every moment",
  async (scenario) => {
    await playPoints(tally, scenario, "evict", moments(12, 0));
    await playPoints(tally, scenario, "evict and close", moments(12, 0));
    expect(tally.failures).toEqual([]);
  },
  limit,
);

/** The cancel is sent at once; the fault strikes around it. */
const cancelled = (agent: string): Scenario => ({
  agent,
  name: `${agent} cancelled`,
  inputs: ["i1"],
  play: async (session) => {
    expect(await insist(session, "/cancel", {}, "c1")).toBe(200);
  },
  end: { state: "cancelled", reason: "cancelled" },
  check: async (session) => {
    const log = await session.events();
    const asked = log.filter(({ type }) => type === "llm_request_start").map(({ attempt }) => attempt);
    expect(new Set(asked).size, "no attempt is made twice").toBe(asked.length);
  },
});

const early: readonly Moment[] = [
  ...range(25).map((turns) => ({ turns })),
  ...range(4).map((each) => ({ messages: each + 1 })),
];

test.each(["slow", "held"])(
  "RE-C25 RE-C26: a cancel of %s that was acknowledged holds over an abort",
  async (agent) => {
    await playPoints(tally, cancelled(agent), "abort", early);
    await playPoints(tally, cancelled(agent), "storm", early);
    expect(tally.failures).toEqual([]);
  },
  limit,
);

test(
  "I10: at rest no session has an alarm or a row of an open item",
  async () => {
    expect(await notQuiet(tally)).toEqual([]);
  },
  limit,
);
