import { expect, test } from "vitest";
import type { LeaseAnswer, LeaseRequest } from "../../../src/agent/budgets/lease.ts";
import { beginWithLease, findRunLeaseRequest } from "../../../src/agent/budgets/lease.ts";
import { estimateCost } from "../../../src/agent/budgets/bounds.ts";
import { drawLease } from "../../../src/engine/access/tenant/days.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import { openBench } from "../../support/bench.ts";
import { createProbe } from "../../support/probe.ts";
import { scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf, ends } from "../loop/play.ts";

/** A lease that is fetched before its run begins (RE-4). */

const done = "{ reply: [{ text: Done. }], usage: { input: 890, output: 10 } }";

/** A session that fetches a lease for its next run, and what its tenant was asked besides. */
const open = async (limits: string) => {
  const yaml = scripted(
    `replies: [${done}, ${done}]`,
    "max_tokens: 500",
    `budgets: { tenant: { ${limits} } }`,
  );
  const engine = await engineOf(yaml, { toolboxes: [createProbe().toolbox] });
  const { tables } = memoryTables();
  const later: LeaseRequest[] = [];
  const bench = openBench({
    engine,
    lease: async (request) => {
      later.push(request);
      return drawLease(tables, request, bench.now());
    },
  });
  bench.ok("create");
  const findRequest = (): LeaseRequest | null => {
    const state = bench.state();
    const agent = engine.agent("tester", state);
    const [target] = agent.targets;
    if (target === undefined) throw new Error("the agent has no model");
    const tokens = agent.system({ depth: 0, light: false }).tokens + (state.threads["main"]?.tokens ?? 0);
    return findRunLeaseRequest(state, engine.budgets.tenant, bench.now(), estimateCost(target, tokens));
  };
  const fetch = (): LeaseAnswer | null => {
    const request = findRequest();
    if (request === null) return null;
    const answer = drawLease(tables, request, bench.now());
    bench.around = (draft, change) => beginWithLease(draft, request, answer, change);
    return answer;
  };
  const go = async (): Promise<void> => {
    bench.send("Go");
    bench.around = (_, change) => change();
    await bench.idle();
  };
  return { bench, later, tables, findRequest, fetch, go };
};

test("★ RE-4: a run that begins with a lease asks for none, and gives it back when it has ended", async () => {
  const { bench, later, fetch, go } = await open("max_tokens: 640000");
  for (const id of ["1", "2"]) {
    expect(fetch()).toMatchObject({ ok: true });
    await go();
    const { lease } = bench.state().funds.tenant;
    expect(lease).toMatchObject({ id, closed: true, used: { tokens: 900 } });
  }
  expect(later).toEqual([]);
  expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
});

test("RE-4: nothing is fetched where the day bounds nothing that the run's model costs", async () => {
  for (const limits of ["max_cost_usd: 'off'", "max_cost_usd: 3"])
    expect((await open(limits)).findRequest(), limits).toBeNull();
  expect((await open("max_cost_usd: 3, max_tokens: 9000")).findRequest()).toMatchObject({ id: "1" });
});

test("RE-4: where too little is left of the day the run begins without a lease, and ends as its own request says", async () => {
  const { bench, later, fetch, go } = await open("max_tokens: 40");
  expect(fetch()).toMatchObject({ ok: false, kind: "tokens" });
  await go();
  expect(later).toHaveLength(1);
  expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
});

test("RE-4: a command that is refused keeps the session as it was; the same lease is fetched again", async () => {
  const { bench, tables, fetch, go } = await open("max_tokens: 640000");
  const first = fetch();
  expect(bench.perform("send", { content: "Go", thread: "nobody" })).toMatchObject({ ok: false });
  expect(bench.state().funds.tenant.lease).toBeNull();
  expect(fetch()).toMatchObject(first?.ok === true ? { granted: first.granted } : {});
  expect(tables.read("SELECT count(*) AS n FROM leases")).toEqual([{ n: 1 }]);
  await go();
  expect(bench.state().funds.tenant.lease).toMatchObject({ id: "1" });
});

test("RE-4: a command that begins no run closes the lease that was fetched for one", async () => {
  const { bench, fetch } = await open("max_tokens: 640000");
  fetch();
  bench.ok("patch", { title: "Named" });
  expect(bench.state().funds.tenant.lease).toMatchObject({ closed: true, used: { tokens: 0 } });
});

test("EF-38 RE-4: a run that begins with a lease is warned of a day that is nearly used up", async () => {
  const { bench, tables, fetch, go } = await open("max_tokens: 100000");
  const other = { session: "s_other", id: "1", limits: { tokens: 100_000 }, settles: null };
  drawLease(tables, { ...other, need: { tokens: 90_000 }, least: {} }, bench.now());
  fetch();
  await go();
  expect(dataOf(bench, "budget_warning")).toMatchObject([{ scope: "tenant", kind: "max_tokens" }]);
});
