import { expect, test } from "vitest";
import * as z from "zod";
import { defineEffect } from "../../../src/agent/definition/effect.ts";
import type { StoreChange, Task } from "../../../src/tools/stores.ts";
import { openBench } from "../../support/bench.ts";
import { withEffects } from "../../support/effects.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { engineOf } from "../../support/teams.ts";
import type { Play } from "../loop/play.ts";
import { dataOf, ends, results, typesAfter } from "../loop/play.ts";
import { call, changing, script, storePlay, storeRun, storeYaml, tasksOf } from "./store-play.ts";

/** The task board from YAML (AG-43 to AG-46); its table of statuses is in board.test.ts. */

const create = (title: string, more: object = {}): string => call("shared_tasks_create", { title, ...more });

const update = (id: string, more: object): string => call("shared_tasks_update", { id, ...more });

const claim = (id: string): string => call("shared_tasks_claim", { id });

const watch = (id: string, more: object = {}): string => call("shared_tasks_watch", { id, ...more });

const board = ({ bench }: Play): readonly string[] =>
  tasksOf(bench).map(({ id, status, assignee }) => `${id} ${status} ${assignee ?? "-"}`);

test("AG-43 AG-44: a task is made, claimed, completed and listed as JSON; each change is an event", async () => {
  const played = await storeRun(
    script(
      create("Build", { description: "All of it.", metadata: { area: "x" } }),
      create("Ship", { blocked_by: ["task_1"] }),
      claim("task_2"),
      claim("task_1"),
      update("task_1", { status: "completed", metadata: { area: null, by: "me" } }),
      call("shared_tasks_list", { blocked: false, status: "pending" }),
    ),
  );
  const { bench } = played;
  const now = bench.now();
  const built: Task = {
    id: "task_1",
    title: "Build",
    description: "All of it.",
    status: "pending",
    assignee: null,
    blocked_by: [],
    metadata: { area: "x" },
    created_by: "tester",
    created_at: now,
    updated_at: now,
    blocked: false,
    blocked_reason: null,
  };
  const said = results(bench);
  expect(said[0]).toBe(`ok: ${JSON.stringify(built)}`);
  expect(said[2]).toBe("error: conflict: task_2 is blocked by task_1; that has to be completed first");
  expect(JSON.parse(said[4]?.slice(4) ?? "")).toEqual({
    ...built,
    status: "completed",
    assignee: "main",
    metadata: { by: "me" },
  });
  expect((JSON.parse(said[5]?.slice(4) ?? "") as Task[]).map(({ id }) => id)).toEqual(["task_2"]);
  expect(
    dataOf(bench, "task_changed").map(({ task }) => `${task.id} ${task.status} ${task.blocked}`),
  ).toEqual([
    "task_1 pending false",
    "task_2 pending true",
    "task_1 in_progress false",
    "task_1 completed false",
    "task_2 pending false",
  ]);
  expect(board(played)).toEqual(["task_1 completed main", "task_2 pending -"]);
});

test("AG-43: canceled is read as cancelled, in updates and in lists", async () => {
  const played = await storeRun(
    script(
      create("A"),
      update("task_1", { status: "canceled" }),
      call("shared_tasks_list", { status: "canceled" }),
    ),
  );
  expect(board(played)).toEqual(["task_1 cancelled -"]);
  expect(results(played.bench)[2]).toContain('"id":"task_1"');
});

test.each([
  ["a status", { status: "completed" }],
  ["an assignee", { assignee: "main" }],
  ["a blank title", { title: "  " }],
  ["a title of 201 characters", { title: "x".repeat(201) }],
])("AG-43: create refuses %s", async (_name, args) => {
  const played = await storeRun(script(call("shared_tasks_create", { title: "A", ...args })));
  expect(results(played.bench)[0]).toContain("error: invalid_arguments");
  expect(board(played)).toEqual([]);
});

test("AG-43: a → b → a on update is refused from YAML, too", async () => {
  const { bench } = await storeRun(
    script(
      create("A"),
      create("B", { blocked_by: ["task_1"] }),
      update("task_1", { blocked_by: ["task_2"] }),
    ),
  );
  expect(results(bench)[2]).toContain("error: conflict: blocked_by: task_2 already waits for task_1");
});

test("AG-45: tasks.on_dependency_failure says what a failure does: block, fail, ignore", async () => {
  const replies = script(
    create("A"),
    create("B", { blocked_by: ["task_1"] }),
    create("C", { blocked_by: ["task_2"] }),
    claim("task_1"),
    update("task_1", { status: "failed" }),
    claim("task_2"),
  );
  const outcome = async (team: string): Promise<readonly string[]> => {
    const played = await storeRun(replies, { team });
    return tasksOf(played.bench).map((task) => `${task.status} ${task.blocked_reason}`);
  };
  expect(await outcome("")).toEqual(["failed null", "pending dependency_failed", "pending null"]);
  expect(await outcome("tasks: { on_dependency_failure: fail }")).toEqual([
    "failed null",
    "failed dependency_failed",
    "failed dependency_failed",
  ]);
  expect(await outcome("tasks: { on_dependency_failure: ignore }")).toEqual([
    "failed null",
    "in_progress null",
    "pending null",
  ]);
});

test("AG-45: the failure and all that follows from it are told in one commit", async () => {
  const { bench } = await storeRun(
    script(
      create("A"),
      create("B", { blocked_by: ["task_1"] }),
      claim("task_1"),
      update("task_1", { status: "failed" }),
    ),
  );
  const last = bench.commits.find((lines) => /"type":"task_changed".*"status":"failed"/.test(lines)) ?? "";
  expect(last).toContain('"blocked_reason":"dependency_failed"');
  expect(last).toContain('"tool_call_end"');
});

test("EF-22: effects are told of the open tasks", async () => {
  const told: (readonly string[])[] = [];
  const look = defineEffect({
    kind: "look",
    description: "Looks.",
    phase: "before_complete",
    order: "inject",
    params: z.strictObject({}),
    run: ({ records }) => {
      told.push(records.tasks);
      return {};
    },
  });
  const replies = script([create("A"), create("B")].join(", "), claim("task_1"));
  const engine = withEffects(await engineOf(storeYaml(replies, "", "[tasks]")), { effects: [look] });
  const bench = openBench({ engine });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  expect(told).toEqual([
    [],
    ["task_1 pending: A", "task_2 pending: B"],
    ["task_1 in_progress by main: A", "task_2 pending: B"],
  ]);
});

/** A session whose main thread watches task_1 while a probe of its own runs. */
const watching = async (more: object = {}): Promise<Play> => {
  const replies = script(create("A"), [watch("task_1", more), "{ call: fire }"].join(", "));
  const played = await storePlay(replies, { instant: false });
  played.bench.send("Go");
  await played.bench.steps();
  return played;
};

const changed = async ({ bench, probe }: Play, ...stores: readonly StoreChange[]): Promise<void> => {
  probe.calls[0]?.finish({ content: "", stores });
  await bench.steps();
};

const claimed: StoreChange = { store: "tasks", op: "claim", id: "task_1" };

test("AG-46: watch parks, and gives the task back in the commit that ends it", async () => {
  const played = await watching();
  const { bench } = played;
  expect(dataOf(bench, "tool_call_parked")).toEqual([
    { tool: "shared_tasks_watch", on: "task", until: bench.now() + 60_000 },
  ]);
  const before = bench.state().head;
  await changed(played, claimed, { store: "tasks", op: "update", id: "task_1", status: "completed" });
  await bench.idle();
  expect(typesAfter(bench, before).slice(0, 3)).toEqual(["task_changed", "task_changed", "tool_call_end"]);
  expect(results(bench)[1]).toContain('"status":"completed","assignee":"main"');
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(bench.alarm()).toBeNull();
});

test("AG-46: it waits for the task alone when nothing else is open, and the session rests", async () => {
  const { bench } = await storePlay(script([create("A"), watch("task_1")].join(", "), watch("task_1")));
  bench.send("Go");
  await bench.idle();
  expect(bench.ok("get")["status"]).toBe("waiting");
  expect(dataOf(bench, "run_waiting").at(-1)).toEqual({
    on: [{ kind: "task", until: bench.now() + 60_000 }],
  });
  expect(bench.alarm()).toBe(bench.now() + 60_000);
});

test("AG-46: after a minute without anybody it is an error, restarted when somebody has had it", async () => {
  const played = await watching();
  const { bench } = played;
  await bench.tick(50_000);
  await changed(played, claimed);
  await bench.tick(20_000);
  expect(results(bench)).toHaveLength(1);
  await bench.tick(1_000_000);
  await bench.idle();
  expect(results(bench)[1]).toBe("error: timeout: task_1 is still in_progress after 600 s; watch it again");

  const alone = await watching();
  await alone.bench.tick(59_999);
  expect(results(alone.bench)).toHaveLength(1);
  alone.probe.calls[0]?.finish();
  await alone.bench.tick(1);
  await alone.bench.idle();
  expect(results(alone.bench)[1]).toMatch(/^error: unclaimed: task_1 has had no assignee for a minute; /);
});

test("AG-46: the minute begins anew when it is released", async () => {
  const replies = script(create("A"), [watch("task_1"), "{ call: fire }", "{ call: fire }"].join(", "));
  const { bench, probe } = await storePlay(replies, { instant: false });
  bench.send("Go");
  await bench.steps();
  await bench.tick(20_000);
  probe.calls[0]?.finish({ content: "", stores: [claimed] });
  await bench.steps();
  await bench.tick(20_000);
  probe.calls[1]?.finish({
    content: "",
    stores: [{ store: "tasks", op: "update", id: "task_1", status: "pending" }],
  });
  await bench.steps();
  await bench.tick(59_000);
  expect(results(bench)).toHaveLength(1);
  await bench.tick(1_000);
  await bench.idle();
  expect(results(bench)[1]).toMatch(/^error: unclaimed/);
});

test("AG-46: a task that is over, or unknown, is answered at once", async () => {
  const { bench } = await storeRun(
    script(create("A"), call("shared_tasks_cancel", { id: "task_1" }), watch("task_1"), watch("task_2")),
  );
  expect(results(bench)[2]).toContain('ok: {"id":"task_1"');
  expect(results(bench)[3]).toBe("error: not_found: there is no task task_2; list the tasks to see them");
  expect(bench.types()).not.toContain("tool_call_parked");
});

test("AG-46: a task that ends between the look and the wait is not waited for", async () => {
  const done: StoreChange = { store: "tasks", op: "update", id: "task_1", status: "completed" };
  const both = [call("change", { n: 0 }), watch("task_1")].join(", ");
  const { bench } = await storeRun(script(create("A"), both), { tools: [changing([[claimed, done]])] });
  expect(dataOf(bench, "tool_call_parked").map(({ until }) => until)).toEqual([bench.now()]);
  expect(results(bench)[2]).toContain('"status":"completed"');
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("AG-46: timeout_seconds counts from the first start, over every change and a crash", async () => {
  const played = await watching({ timeout_seconds: 100 });
  const { bench } = played;
  await bench.tick(20_000);
  await changed(played, claimed);
  bench.crash();
  await bench.tick(79_000);
  expect(results(bench)).toHaveLength(1);
  await bench.tick(1_000);
  await bench.idle();
  expect(results(bench)[1]).toContain("error: timeout: task_1 is still in_progress after 100 s");
});

test("AG-46: a cancel of the run ends the watch, and the session rests", async () => {
  const { bench } = await storePlay(script(create("A"), watch("task_1")));
  bench.send("Go");
  await bench.idle();
  bench.ok("cancel");
  await bench.idle();
  expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  expect(bench.alarm()).toBeNull();
});

test("AG-46 RE-C15: the power is cut at every write of a watch: it wakes once, with the task", async () => {
  const replies = script(create("A"), [claim("task_1"), watch("task_1"), "{ call: look }"].join(", "));
  const playOut = async (cut: number | null): Promise<Play & { readonly writes: number }> => {
    const played = await storePlay(replies, { instant: false });
    const { bench, probe } = played;
    const before = bench.writes();
    bench.cutAt(cut);
    try {
      bench.ok("send", { content: "Go" }, "key1");
    } catch {
      bench.ok("send", { content: "Go" }, "key1");
    }
    for (let round = 0; round < 20 && ends(bench).length === 0; round++) {
      await bench.tick(100);
      for (const each of probe.calls)
        each.finish({
          content: "",
          stores: [{ store: "tasks", op: "update", id: "task_1", status: "completed" }],
        });
    }
    return { ...played, writes: bench.writes() - before };
  };
  const whole = await playOut(null);
  for (let cut = 1; cut <= whole.writes; cut++) {
    const { bench, probe } = await playOut(cut);
    bench.cutAt(null);
    await bench.idle();
    expect(
      results(bench).filter((each) => each.includes('"status":"completed"')),
      `cut ${cut}`,
    ).toHaveLength(2);
    expect(ends(bench), `cut ${cut}`).toEqual(["completed:end_turn"]);
    checkInvariants(bench, ["in_1"], probe);
  }
});
