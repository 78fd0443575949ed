import { expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { crewYaml, spawn, task } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import type { Probe } from "../../support/probe.ts";
import { createProbe } from "../../support/probe.ts";
import { replies, said, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { insist, settleSoon } from "../../support/power-cut.ts";
import { ends } from "../loop/play.ts";

/** Power cuts at every write of runs that come to the edge of a budget (RE-C35): at most the reserved call. */

interface Scenario {
  readonly name: string;
  readonly yaml: string;
  readonly play: (bench: Bench, probe: Probe) => Promise<void>;
  /** Model calls of an undisturbed run. */
  readonly calls: number;
  /** Calls under way at the same time, at most. */
  readonly atOnce?: number;
  readonly end: string;
}

const claims = (total: number, piece = "{ call: put }"): string =>
  `{ reply: [${piece}], usage: { input: ${total - 10}, output: 10 } }`;

const done = "{ reply: [{ text: Done. }], usage: { input: 490, output: 10 } }";

const listed = (...each: readonly string[]): string => `replies: [${each.join(", ")}]`;

const budget = (keys: string): string =>
  `max_tokens: 300\nguards: { tool_loops: false, budget: { ${keys} } }`;

const many = (count: number, reply: string): readonly string[] => Array.from({ length: count }, () => reply);

const start = async (bench: Bench): Promise<void> => {
  insist(bench, "send", { id: "i1", content: "Go" }, "i1");
  await settleSoon(bench);
};

const answer = async (bench: Bench, more: object): Promise<void> => {
  const [ask] = Object.keys(bench.state().asks);
  if (ask === undefined) throw new Error("nobody asks");
  insist(bench, "answer", { ask, ...more }, "a1");
  await settleSoon(bench);
};

const claiming = (total: number, reply: string): string =>
  reply.replace(/ \}$/, `, usage: { input: ${total - 10}, output: 10 } }`);

const scenarios: readonly Scenario[] = [
  {
    name: "a run that spends its tokens",
    yaml: scripted(listed(...many(9, claims(2_000))), budget("max_tokens: 7000")),
    play: start,
    calls: 3,
    end: "failed:budget_exceeded",
  },
  {
    name: "a last answer over the cap",
    yaml: scripted(listed(claims(2_000), claims(9_000, "{ text: Done. }")), budget("max_tokens: 7000")),
    play: start,
    calls: 2,
    end: "failed:budget_exceeded",
  },
  {
    name: "a raise",
    yaml: scripted(listed(...many(3, claims(2_000)), done), budget("max_tokens: 4900, on_exceeded: ask")),
    play: async (bench) => {
      await start(bench);
      await answer(bench, { decision: "approve", limit: 50_000 });
    },
    calls: 4,
    end: "completed:end_turn",
  },
  {
    name: "an ask that nobody answers",
    yaml: scripted(
      listed(...many(3, claims(2_000)), done),
      budget("max_tokens: 4900, on_exceeded: ask"),
      "limits: { asks: { timeout: 1m } }",
    ),
    play: start,
    calls: 2,
    end: "failed:budget_exceeded",
  },
  {
    name: "calls that wait for more",
    yaml: scripted(
      listed("{ reply: [{ call: fire, args: { name: a } }, { call: fire, args: { name: b } }] }", done),
      budget("max_tool_calls: 1, on_exceeded: ask"),
    ),
    play: async (bench) => {
      await start(bench);
      await answer(bench, { decision: "approve", limit: 5 });
    },
    calls: 2,
    end: "completed:end_turn",
  },
  {
    name: "a day of the tenant",
    yaml: scripted(
      listed(...many(9, claims(1_500))),
      budget("warn_at: 0.5"),
      "budgets: { tenant: { max_tokens: 7000 } }",
    ),
    play: start,
    calls: 4,
    end: "failed:budget_exceeded",
  },
  {
    name: "children on one budget",
    yaml: crewYaml([
      {
        name: "lead",
        script: replies(
          said(spawn([task("coder"), task("coder"), task("coder")], { on_error: "collect" })),
          said("Done."),
        ),
        yaml: "guards: { tool_loops: false, budget: { max_tokens: 12000 } }",
      },
      {
        name: "coder",
        script: replies(...many(9, claiming(1_500, said(["put", {}])))),
        yaml: "max_tokens: 600",
      },
    ]),
    play: start,
    calls: 6,
    atOnce: 3,
    end: "failed:budget_exceeded",
  },
];

const open = async (scenario: Scenario): Promise<{ bench: Bench; probe: Probe }> => {
  const probe = createProbe();
  return {
    probe,
    bench: openBench({ engine: await engineOf(scenario.yaml, { toolboxes: [probe.toolbox] }) }),
  };
};

/** What must hold after any cut: the invariants, books that add up, and no more calls than the cuts account for. */
const check = (bench: Bench, probe: Probe, { end, calls, atOnce = 1 }: Scenario, cuts: number): void => {
  checkInvariants(bench, ["i1"], probe);
  expect(ends(bench).at(-1)).toBe(end);
  const ledger = bench.ledger().reduce((sum, { usage }) => sum + usage.total, 0);
  const {
    spent,
    funds: { tenant },
  } = bench.state();
  expect(spent.usage.total, "what was spent is what the ledger holds").toBe(ledger);
  if (tenant.lease !== null) expect(tenant.lease.closed, "the lease went back").toBe(true);
  expect(bench.requests.length, "at most the reserved calls more").toBeLessThanOrEqual(calls + cuts * atOnce);
  for (const type of ["budget_warning", "budget_reached"] as const) {
    const said = bench.events().filter((event) => event.type === type);
    const kinds = said.map(({ run, data }) => `${run} ${JSON.stringify((data as { kind: string }).kind)}`);
    expect(new Set(kinds).size, `${type} once per run and kind`).toBe(kinds.length);
  }
};

/** Many plays in one test, on a machine that may be busy. */

const writesOf = async (scenario: Scenario): Promise<number> => {
  const { bench, probe } = await open(scenario);
  insist(bench, "create", {}, "create");
  await scenario.play(bench, probe);
  check(bench, probe, scenario, 0);
  expect(bench.requests).toHaveLength(scenario.calls);
  return bench.writes();
};

test.each(scenarios)("RE-C35: $name survives a power cut at every single write", async (scenario) => {
  const total = await writesOf(scenario);
  for (let cut = 1; cut <= total; cut++) {
    const { bench, probe } = await open(scenario);
    bench.cutAt(cut);
    insist(bench, "create", {}, "create");
    await scenario.play(bench, probe);
    check(bench, probe, scenario, 1);
  }
});

test.each(scenarios)("RE-C35 RE-C39: $name survives two cuts in a row", async (scenario) => {
  const total = await writesOf(scenario);
  for (let cut = 1; cut <= total; cut += 3) {
    const { bench, probe } = await open(scenario);
    bench.cutAt(cut);
    insist(bench, "create", {}, "create");
    bench.cutAt(3);
    await scenario.play(bench, probe);
    check(bench, probe, scenario, 2);
  }
});
