import { expect } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import type { Probe } from "../../support/probe.ts";
import { createProbe } from "../../support/probe.ts";
import { scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { insist, settleSoon } from "../../support/power-cut.ts";

/** What happens to a session, and what must have come of it whenever the power was cut. */
export interface Scenario {
  readonly name: string;
  readonly replies: string;
  readonly play: (bench: Bench, probe: Probe) => Promise<void>;
  readonly inputs: readonly string[];
  readonly instant?: boolean;
  /** YAML of the agent. */
  readonly agent?: string;
}

const answerAsk = async (bench: Bench, params: object, key: string): Promise<void> => {
  await settleSoon(bench);
  const [ask] = Object.keys(bench.state().asks);
  if (ask === undefined) throw new Error("no ask is open");
  insist(bench, "answer", { ask, ...params }, key);
  await settleSoon(bench);
};

const approving = "options: { plan_before_execute: approve }";

const lastEnd = (bench: Bench): string => {
  const end = bench.events().findLast(({ type }) => type === "run_end");
  return end?.type === "run_end" ? `${end.data.state}:${end.data.reason}` : "none";
};

export const scenarios: readonly Scenario[] = [
  {
    name: "text",
    inputs: ["i1"],
    replies: "replies: [{ reply: [{ reasoning: Hm. }, { text: Hello there. }] }]",
    play: async (bench) => {
      insist(bench, "send", { id: "i1", content: "Hi" }, "i1");
      await settleSoon(bench);
      expect(lastEnd(bench)).toBe("completed:end_turn");
      expect(bench.chat().map(({ role }) => role)).toEqual(["user", "assistant"]);
    },
  },
  {
    name: "three parallel tools of every class",
    inputs: ["i1"],
    replies: `
replies:
  - reply:
      - { call: look, args: { name: a } }
      - { call: fire, args: { name: b } }
      - { call: put, args: { name: c } }
  - reply: [{ text: Done. }]`,
    play: async (bench, probe) => {
      insist(bench, "send", { id: "i1", content: "Go" }, "i1");
      await settleSoon(bench);
      expect(lastEnd(bench)).toBe("completed:end_turn");
      expect(bench.chat().map(({ role }) => role)).toEqual([
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "assistant",
      ]);
      const puts = probe.calls.filter(({ tool }) => tool === "put");
      expect(puts.length).toBeGreaterThanOrEqual(1);
      expect(new Set(puts.map(({ key }) => key)).size).toBe(1);
    },
  },
  {
    name: "an ask, answered",
    inputs: ["i1"],
    replies: `
replies:
  - reply: [{ call: ask_user, args: { question: "Which colour?" } }]
  - reply: [{ text: Thanks. }]`,
    play: async (bench) => {
      insist(bench, "send", { id: "i1", content: "Go" }, "i1");
      await settleSoon(bench);
      const [ask] = Object.keys(bench.state().asks);
      if (ask === undefined) throw new Error("no ask is open");
      insist(bench, "answer", { ask, decision: "answer", text: "blue" }, "a1");
      await settleSoon(bench);
      expect(lastEnd(bench)).toBe("completed:end_turn");
      expect(bench.requests.at(-1)?.messages.at(-1)?.parts[0]).toMatchObject({ content: [{ text: "blue" }] });
    },
  },
  {
    name: "a steer while tools run",
    inputs: ["i1", "i2"],
    instant: false,
    replies: `
replies:
  - reply: [{ call: put, args: { name: a } }, { call: put, args: { name: b } }]
  - reply: [{ text: Heard you. }]`,
    play: async (bench, probe) => {
      insist(bench, "send", { id: "i1", content: "Go" }, "i1");
      await bench.steps();
      insist(bench, "send", { id: "i2", content: "Stop that", on_busy: "steer" }, "i2");
      probe.instant = true;
      for (const call of probe.calls) call.finish();
      await settleSoon(bench);
      expect(lastEnd(bench)).toBe("completed:end_turn");
      const texts = JSON.stringify(bench.requests.at(-1)?.messages);
      expect(texts).toContain("[STEERING] Stop that");
    },
  },
  {
    name: "a steer in the tick of the final text",
    inputs: ["i1", "i2"],
    replies: "replies: [{ reply: [{ text: One. }] }, { reply: [{ text: Two. }] }]",
    play: async (bench) => {
      insist(bench, "send", { id: "i1", content: "Go" }, "i1");
      insist(bench, "send", { id: "i2", content: "More", on_busy: "steer" }, "i2");
      await settleSoon(bench);
      expect(lastEnd(bench)).toBe("completed:end_turn");
      expect(bench.types().filter((type) => type === "input_applied")).toHaveLength(2);
      expect(bench.types().filter((type) => type === "run_end")).toHaveLength(1);
    },
  },
  {
    name: "a cancel while a tool runs",
    inputs: ["i1"],
    instant: false,
    replies: `
replies:
  - reply: [{ call: fire, args: { name: a } }, { call: put, args: { name: b } }]
  - reply: [{ text: Never said. }]`,
    play: async (bench, probe) => {
      insist(bench, "send", { id: "i1", content: "Go" }, "i1");
      await bench.steps();
      const state = bench.state().threads["main"];
      insist(bench, "cancel", {}, "c1");
      probe.instant = true;
      for (const call of probe.calls) call.finish();
      await settleSoon(bench);
      expect(lastEnd(bench)).toBe(state?.run === null ? "completed:end_turn" : "cancelled:cancelled");
    },
  },
  {
    name: "a queue of two",
    inputs: ["i1", "i2"],
    replies: "replies: [{ reply: [{ text: One. }] }, { reply: [{ text: Two. }] }]",
    play: async (bench) => {
      insist(bench, "send", { id: "i1", content: "First" }, "i1");
      insist(bench, "send", { id: "i2", content: "Second", on_busy: "queue" }, "i2");
      await settleSoon(bench);
      expect(bench.types().filter((type) => type === "run_end")).toHaveLength(2);
    },
  },
  {
    name: "a plan, denied, changed and carried out",
    inputs: ["i1"],
    agent: approving,
    replies:
      "replies: [{ reply: [{ text: One. }] }, { reply: [] }, { reply: [{ text: Two. }] }, { reply: [{ call: fire }] }, { reply: [{ text: Done. }] }]",
    play: async (bench, probe) => {
      insist(bench, "send", { id: "i1", content: "Go" }, "i1");
      await answerAsk(bench, { decision: "deny", message: "No" }, "a1");
      await answerAsk(bench, { decision: "edit", input: { plan: "Three." } }, "a2");
      expect(lastEnd(bench)).toBe("completed:end_turn");
      const texts = bench.chat().flatMap(({ parts }) => (parts[0]?.type === "text" ? parts[0].text : []));
      expect(texts).toEqual([
        "Go",
        "One.",
        "The plan was not approved: No\nMake another plan.",
        "Two.",
        "The plan was changed. Carry out this one now:\nThree.",
        "Done.",
      ]);
      expect(probe.calls.length).toBeLessThanOrEqual(1);
      expect(bench.types().filter((type) => type === "plan_created")).toHaveLength(2);
    },
  },
  {
    name: "a plan that is steered, then denied",
    inputs: ["i1", "i2"],
    agent: approving,
    replies: "replies: [{ reply: [{ text: One. }] }, { reply: [{ text: Two. }] }]",
    play: async (bench) => {
      insist(bench, "send", { id: "i1", content: "Go" }, "i1");
      await settleSoon(bench);
      insist(bench, "send", { id: "i2", content: "Not so", on_busy: "steer" }, "i2");
      await answerAsk(bench, { decision: "deny" }, "a1");
      expect(lastEnd(bench)).toBe("cancelled:plan_denied");
      expect(bench.chat().map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
      expect(bench.types().filter((type) => type === "ask_user")).toHaveLength(2);
    },
  },
  {
    name: "an overloaded provider",
    inputs: ["i1"],
    replies: "replies: [{ fail: [{ status: 529, retry_after: 1, times: 2 }], reply: [{ text: Finally. }] }]",
    play: async (bench) => {
      insist(bench, "send", { id: "i1", content: "Go" }, "i1");
      await settleSoon(bench);
      expect(lastEnd(bench)).toBe("completed:end_turn");
    },
  },
];

/** Opens a bench without a session. */
export const openScenario = async (scenario: Scenario): Promise<{ bench: Bench; probe: Probe }> => {
  const probe = createProbe(scenario.instant ?? true);
  return {
    probe,
    bench: openBench({
      engine: await engineOf(scripted(scenario.replies, scenario.agent), { toolboxes: [probe.toolbox] }),
    }),
  };
};

/** Plays a scenario without a cut and returns how often it wrote. */
export const writesOf = async (scenario: Scenario): Promise<number> => {
  const { bench, probe } = await openScenario(scenario);
  insist(bench, "create", {}, "create");
  await scenario.play(bench, probe);
  checkInvariants(bench, scenario.inputs, probe);
  return bench.writes();
};
