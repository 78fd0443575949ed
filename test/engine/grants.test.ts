import { expect, test } from "vitest";
import { createGrants, createGrantReporter } from "../../durable-objects/grants.ts";
import { grantLifeMs } from "../../src/agent/calls/grants.ts";
import type { Session } from "../../src/agent/state/session.ts";
import { listGrants, revokeGrant } from "../../src/engine/access/tenant/grants.ts";
import type { GrantInfo } from "../../src/engine/access/tenant/grants.ts";
import type { Tables } from "../../src/engine/access/database.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { memoryTables } from "./access/tables.ts";
import { eventsOf, lastEvent } from "./harness.ts";

const fire = "{ reply: [{ call: fire }] }";
const done = "{ reply: [{ text: done }] }";
const yaml = (rules = ""): string => {
  const one = scripted(`replies: [${[fire, done, fire, done, fire, done].join(", ")}]`)
    .replace("    permissions: { preset: open }\n", "")
    .trimEnd();
  const other = one.slice(one.indexOf("  - name: tester")).replace("tester", "other");
  return `${one}\n${other}\n${rules}\n`;
};

interface Opened {
  readonly tables: Tables;
  readonly open: (id: string, who?: { readonly agent?: string; readonly rules?: string }) => Promise<Bench>;
}

/** Sessions that share a tenant. */
const shared = (): Opened => {
  const { tables } = memoryTables();
  return {
    tables,
    open: async (id, { agent = "tester", rules } = {}) => {
      const engine = await engineOf(yaml(rules), { toolboxes: [createProbe().toolbox] });
      const bench = openBench({ engine, id: `s_${id.repeat(26)}`, tables });
      bench.ok("create", { agent });
      return bench;
    },
  };
};

const asks = (bench: Bench): number => eventsOf(bench, "ask_user").length;

const say = async (bench: Bench, text = "Go"): Promise<void> => {
  bench.send(text);
  await bench.idle();
};

/** Has the call asked for, and approved for good. */
const approved = async (bench: Bench, remember: "session" | "agent" = "agent"): Promise<void> => {
  await say(bench);
  const [ask] = Object.keys(bench.state().asks);
  bench.ok("answer", { ask, decision: "approve", remember });
  await bench.idle();
};

const granted = (tables: Tables): readonly GrantInfo[] =>
  listGrants(tables, "t1", { limit: 50 }, 1_700_000_000_000).data;

test("★ TB-8: what an answer grants an agent holds in all sessions of the tenant, and for no other agent", async () => {
  const { open, tables } = shared();
  await approved(await open("a"));
  expect(granted(tables)).toMatchObject([
    {
      scope: "agent",
      agent: "tester",
      tool: "fire",
      pattern: "*",
      by: "key1",
      session: `s_${"a".repeat(26)}`,
    },
  ]);
  const second = await open("b");
  await say(second);
  expect(asks(second)).toBe(0);
  expect(lastEvent(second, "tool_call_start")).toMatchObject({
    permission: { verdict: "allow", by: expect.stringMatching(/^grant grant_/) as string },
  });
  const stranger = await open("c", { agent: "other" });
  await say(stranger);
  expect(asks(stranger)).toBe(1);
});

test("TB-8: a grant of a session stays in it, is listed, and a deny beats every grant", async () => {
  const { open, tables } = shared();
  const first = await open("a");
  await approved(first, "session");
  await say(first, "Again");
  expect(asks(first)).toBe(1);
  const second = await open("b");
  await approved(second);
  expect(asks(second)).toBe(1);
  expect(
    granted(tables)
      .map(({ scope }) => scope)
      .toSorted(),
  ).toEqual(["agent", "session"]);
  const strict = await open("d", { rules: "permissions: { rules: [{ tool: fire, action: deny }] }" });
  await say(strict);
  expect(lastEvent(strict, "tool_call_end")).toMatchObject({ outcome: "denied" });
});

test("TB-8: a revoked grant is gone within 30 s, in the session that gave it too, and nobody brings it back", async () => {
  const { open, tables } = shared();
  const first = await open("a");
  await approved(first);
  const second = await open("b");
  await say(second);
  const [grant] = granted(tables);
  revokeGrant(tables, grant?.id ?? "");
  for (const bench of [first, second]) {
    await bench.tick(31_000);
    await say(bench, "Again");
    expect(Object.keys(bench.state().asks)).toHaveLength(1);
    bench.crash();
    await bench.idle();
  }
  expect(first.state().grants).toEqual([]);
  expect(granted(tables)).toEqual([]);
});

test("TB-8: a grant of an agent ends after 30 days, in its own session too", async () => {
  const { open } = shared();
  const bench = await open("a");
  await approved(bench);
  await bench.tick(grantLifeMs - 60_000);
  await say(bench, "Again");
  expect(asks(bench)).toBe(1);
  await bench.tick(60_000);
  await say(bench, "And again");
  expect(asks(bench)).toBe(2);
});

test("★ TB-8: a crash at any write after the answer loses no grant that was acknowledged", async () => {
  for (let write = 1; write < 12; write++) {
    const { open, tables } = shared();
    const bench = await open("a");
    await say(bench);
    const [ask] = Object.keys(bench.state().asks);
    const answer = { ask, decision: "approve", remember: "agent" };
    bench.cutAt(write);
    try {
      bench.ok("answer", answer);
    } catch {
      bench.crash();
      bench.ok("answer", answer);
    }
    bench.cutAt(null);
    bench.crash();
    await bench.idle();
    expect(bench.state().grants).toHaveLength(1);
    await say(bench, "Again");
    expect(asks(bench)).toBe(1);
    expect(granted(tables)).toHaveLength(1);
  }
});

test("TB-8: a team that does not answer holds nobody up for long: what is known stays, and a person is asked", async () => {
  const session = { tenant: "t1", id: "s", grants: [] } as unknown as Session;
  let fails = false;
  const grant = { id: "g", scope: "agent", agent: "a", tool: "t", pattern: "*", by: "k", at: 1 } as const;
  let now = 0;
  const grants = createGrants(
    () => ({
      grants: async () => {
        if (fails) throw new Error("away");
        return { agents: [grant], revoked: [] };
      },
    }),
    () => now,
  );
  expect(await grants.refresh(session)).toEqual([]);
  expect(grants.known()).toEqual([grant]);
  fails = true;
  now = 60_000;
  expect(await grants.refresh(session)).toEqual([]);
  expect(grants.known()).toEqual([grant]);
});

test.each([
  ["in the middle of a run tells its grants again, since an isolate may have died before it did", {}, 1],
  ["at rest tells nothing", null, 0],
])("TB-8: a session that wakes %s", async (_, run, times) => {
  const grants = [{ id: "g", scope: "agent" }];
  const session = { grants, threads: { main: { run } } } as unknown as Session;
  let reads = 0;
  const refresh = async (): Promise<readonly string[]> => {
    reads += 1;
    return [];
  };
  const live = { read: () => session, update: () => undefined as never };
  createGrantReporter({ refresh }, live, (error) => {
    throw error;
  });
  expect(reads).toBe(times);
});

test("TB-8: an agent that asks nobody never asks the team either", async () => {
  const { open } = shared();
  const { tables, database } = memoryTables();
  const engine = await engineOf(yaml("permissions: { preset: open }"), {
    toolboxes: [createProbe().toolbox],
  });
  const bench = openBench({ engine, tables });
  bench.ok("create");
  await say(bench);
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
  expect(database.all("SELECT name FROM sqlite_master")).toEqual([]);
  const asking = await open("a");
  await say(asking);
  expect(asks(asking)).toBe(1);
});
