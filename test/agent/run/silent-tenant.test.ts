import { expect, test } from "vitest";
import { drawLease } from "../../../src/engine/access/tenant/days.ts";
import { writeNote } from "../../../src/engine/access/tenant/notes.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import { openBench } from "../../support/bench.ts";
import { crewYaml, delegate } from "../../support/crew.ts";
import { createProbe } from "../../support/probe.ts";
import { done, replies, said, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf, ends, results } from "../loop/play.ts";

/** A tenant's object that gives no answer holds up nothing for ever. */

const never = (): Promise<never> => new Promise(() => undefined);

/** A session on a tenant's day, whose leases are drawn once so many requests for one had no answer. */
const onDay = async (unanswered: number, silence: () => Promise<never>) => {
  const yaml = scripted(
    `replies: [${done}]`,
    "max_tokens: 500",
    "budgets: { tenant: { max_tokens: 640000 } }",
  );
  const { tables } = memoryTables();
  let asked = 0;
  const bench = openBench({
    engine: await engineOf(yaml, { toolboxes: [createProbe().toolbox] }),
    lease: async (request) => {
      asked += 1;
      return asked > unanswered ? drawLease(tables, request, bench.now()) : silence();
    },
  });
  bench.ok("create");
  return { bench, asked: () => asked };
};

test("RE-4 SE-27: a lease that is never answered is asked for again, and its run goes on once it is", async () => {
  const { bench, asked } = await onDay(1, never);
  bench.send("Go");
  await bench.steps();
  await bench.pass(10_000);
  await bench.pass((bench.alarm() ?? 0) - bench.now());
  expect(asked()).toBe(2);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("RE-4: an isolate that dies after leases that were not answered is counted by itself, and its run goes on", async () => {
  const { bench, asked } = await onDay(9, () => Promise.reject(new Error("no answer")));
  bench.hold = true;
  bench.send("Go");
  await bench.steps();
  for (let tries = 1; tries < 10; tries++) await bench.pass((bench.alarm() ?? 0) - bench.now());
  expect(asked()).toBe(10);
  bench.crash();
  bench.hold = false;
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("AG-39: lessons whose delivery gets no answer are delivered again, and nothing stays under way meanwhile", async () => {
  const failing = said([
    "task_complete",
    { status: "failed", summary: "Broke it.", caveats: ["Lock first."] },
  ]);
  const lead = [said(delegate("coder", { task: "Migrate" })), said("Done.")];
  const members = [
    { name: "lead", script: replies(...lead) },
    { name: "coder", script: replies(failing) },
  ];
  const taken: string[] = [];
  let tries = 0;
  const bench = openBench({
    engine: await engineOf(crewYaml(members, "reflections: { scope: tenant }"), {
      toolboxes: [createProbe().toolbox],
    }),
    memory: {
      addReflections: async (rows) => {
        tries += 1;
        if (tries === 1) return never();
        taken.push(...rows.map(({ id }) => id));
      },
    },
  });
  bench.ok("create");
  bench.send("Go");
  await bench.steps();
  await bench.pass(30_000);
  await bench.pass((bench.alarm() ?? 0) - bench.now());
  expect(tries).toBe(2);
  expect(taken).toHaveLength(1);
  expect(bench.state().outbox).toBeNull();
  expect(bench.leftTimers()).toBe(0);
});

/** A session with notes of its tenant, whose first call is under way. */
const openNotes = async (write: (key: string) => Promise<string | null>) => {
  const probe = createProbe(false);
  const call = "{ reply: [{ call: look, args: { name: a } }] }";
  const bench = openBench({
    engine: await engineOf(scripted(`replies: [${call}, ${done}]`, "", "notes: { scope: tenant }"), {
      toolboxes: [probe.toolbox],
    }),
    memory: { writeNote: (_, __, key) => write(key) },
  });
  bench.ok("create");
  bench.send("Go");
  await bench.steps();
  const finish = (): void =>
    probe.calls[0]?.finish({
      content: "Noted.",
      stores: [{ store: "notes", op: "write", name: "tide", content: "high" }],
    });
  return { bench, probe, finish };
};

test("AG-47: a call whose shared note gets no answer ends with an unknown outcome", async () => {
  const { bench, finish } = await openNotes(never);
  finish();
  await bench.steps();
  await bench.pass(10_000);
  expect(results(bench)[0]).toMatch(/^unknown: unknown: The shared notes did not answer in time\./);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("AG-47 SE-16: the time limit of a tool that has returned ends no write of its notes", async () => {
  const { tables } = memoryTables();
  const written = Promise.withResolvers<string | null>();
  const { bench, probe, finish } = await openNotes(() => written.promise);
  const { deadline } = probe.calls[0]?.context ?? { deadline: 0 };
  await bench.tick(deadline - bench.now() - 1);
  finish();
  await bench.steps();
  await bench.tick(1_000);
  written.resolve(writeNote(tables, { agent: null }, { name: "tide", content: "high", key: "k", now: 1 }));
  await bench.idle();
  expect(results(bench)[0]).toBe("ok: Noted.");
  expect(dataOf(bench, "tool_call_end")[0]).toMatchObject({ outcome: "ok" });
});
