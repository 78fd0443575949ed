import { expect, test } from "vitest";
import type { Task } from "../../../src/tools/stores.ts";
import type { Crew, Member } from "../../support/crew.ts";
import {
  childIds,
  crew,
  delegate,
  endings,
  eventsAs,
  itemsOf,
  mission,
  resultsOf,
  spawn,
  task,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { replies, said } from "../../support/scripts.ts";
import { tasksOf } from "../stores/store-play.ts";

/** Called agents and the task board: tasks that are given with a call, claims, releases (AG-12, AG-44, AG-45). */

const boxes = "toolboxes: [probe, tasks]";

const lead = (...each: readonly string[]): Member => ({
  name: "lead",
  script: replies(...each),
  yaml: boxes,
});

const member = (name: string, ...each: readonly string[]): Member => ({
  name,
  script: replies(...each),
  yaml: boxes,
});

const create = (title: string, more: object = {}) => ["shared_tasks_create", { title, ...more }] as const;

const claim = (id: string) => ["shared_tasks_claim", { id }] as const;

const update = (id: string, more: object) => ["shared_tasks_update", { id, ...more }] as const;

const complete = (more: object = {}) =>
  ["task_complete", { status: "completed", summary: "Dug.", ...more }] as const;

const board = ({ bench }: Pick<Crew, "bench">): readonly string[] =>
  tasksOf(bench).map(({ id, status, assignee }: Task) => `${id} ${status} ${assignee ?? "-"}`);

/** Statuses a task went through, with who had it. */
const story = (made: Crew, id: string): readonly string[] =>
  eventsAs(made, "task_changed").flatMap(({ data }) => (data.task.id === id ? [data.task.status] : []));

test("AG-44: of 20 threads that claim one task one gets it, and the others are told who has it", async () => {
  const worker = member("worker", said(claim("task_1")), said("Tried."));
  const call = spawn(Array.from({ length: 20 }, () => task("worker")));
  const made = await mission(
    [
      {
        ...lead(said(create("Dig")), said(call), said("Done.")),
        yaml: `${boxes}\ndelegation: { max_children_per_call: 20 }`,
      },
      worker,
    ],
    { team: "sessions: { max_running_threads: 20 }" },
  );
  const children = childIds(made);
  expect(children).toHaveLength(20);
  const claims = children.flatMap((child) => resultsOf(made, child));
  expect(claims.filter((result) => result.startsWith("ok: "))).toHaveLength(1);
  const owner = children.find((child) => resultsOf(made, child)[0]?.startsWith("ok: ")) ?? "";
  expect(claims.filter((result) => result.includes(`already claimed by ${owner}`)).length).toBeGreaterThan(0);
  // Whoever ended first gave it back; in between nobody else had it.
  const owners = eventsAs(made, "task_changed").flatMap(({ data }) => data.task.assignee ?? []);
  expect(new Set(owners)).toEqual(new Set([owner]));
  checkInvariants(made.bench, ["in_1"]);
});

test("AG-12: a task goes to the child before it starts, even away from its caller, and ends with it", async () => {
  const made = await mission([
    lead(
      said(create("Dig")),
      said(claim("task_1")),
      said(delegate("digger", { task_id: "task_1" })),
      said("Ok."),
    ),
    member("digger", said(complete())),
  ]);
  const [child = ""] = childIds(made);
  expect(board(made)).toEqual([`task_1 completed ${child}`]);
  const types = made.bench
    .events()
    .map(({ type, thread }) => `${type} ${thread === "main" ? "" : "child"}`.trim());
  expect(types.lastIndexOf("task_changed", types.indexOf("run_start child"))).toBeGreaterThan(
    types.indexOf("tool_call_parked"),
  );
  expect(resultsOf(made).at(-1)).toBe("ok: Dug.");
});

test.each([
  ["reports failure", [said(complete({ status: "failed" }))], "failed", "completed"],
  ["answers without a report", [said("Dug.")], "completed", "completed"],
  ["fails", [said("Cut he").replace("] }", "], finish: refusal }")], "failed", "failed"],
] as const)("AG-12: the task of a child that %s", async (_name, script, status, state) => {
  const made = await mission([
    lead(
      said(create("Dig")),
      said(spawn([task("digger", { task_id: "task_1" })], { on_error: "collect" })),
      said("Ok."),
    ),
    member("digger", ...script),
  ]);
  expect(board(made)).toEqual([`task_1 ${status} ${childIds(made)[0]}`]);
  expect(itemsOf(made)[0]).toMatchObject({ state });
  expect(itemsOf(made)[0]?.warning).toBeUndefined();
});

test("AG-12: a task that is over, blocked, unknown or named twice is an error item, and its child never runs", async () => {
  const made = await mission([
    lead(
      said(create("A"), create("B", { blocked_by: ["task_1"] }), create("C")),
      said(["shared_tasks_cancel", { id: "task_3" }]),
      said(
        spawn(
          ["task_9", "task_3", "task_2", "task_1", "task_1"].map((id) => task("digger", { task_id: id })),
          { on_error: "collect" },
        ),
      ),
      said("Ok."),
    ),
    member("digger", said("Dug.")),
  ]);
  expect(itemsOf(made).map(({ state, error }) => `${state} ${error ?? ""}`)).toEqual([
    "failed not_found: task_id: there is no task task_9; list the tasks to see them",
    "failed conflict: task_id: task_3 is cancelled, and that is final",
    "failed conflict: task_id: task_2 is blocked by task_1; that has to be completed first",
    "completed ",
    "failed conflict: task_id: task_1 is named twice in this call",
  ]);
  expect(childIds(made)).toHaveLength(1);
  const refused = await mission([
    lead(
      said(create("A")),
      said(spawn([task("digger"), task("digger", { task_id: "task_9" })])),
      said("Ok."),
    ),
    member("digger", said("Dug.")),
  ]);
  expect([childIds(refused), board(refused)]).toEqual([[], ["task_1 pending -"]]);
});

test("AG-12: a task cancelled while its child runs: child cancelled, item task cancelled, board cancelled", async () => {
  const made = await crew(
    [
      lead(
        said(create("Dig"), create("Rest")),
        said(delegate("digger", { task_id: "task_1" }), delegate("stopper")),
        said("Ok."),
      ),
      member("digger", said(["fire", {}]), said("Never.")),
      member("stopper", said(["shared_tasks_cancel", { id: "task_1" }]), said("Stopped it.")),
    ],
    { instant: false },
  );
  made.bench.send("Go");
  await made.bench.steps();
  made.probe.calls[0]?.finish();
  await made.bench.idle();
  const digger = eventsAs(made, "agent_start").find(({ agent }) => agent.name === "digger")?.thread;
  expect(board(made)).toEqual([`task_1 cancelled ${digger}`, "task_2 pending -"]);
  expect(resultsOf(made).slice(2)).toEqual([
    expect.stringMatching(/^error: cancelled: digger \(t_\w+\) ended with cancelled: task cancelled$/),
    "ok: Stopped it.",
  ]);
  expect(endings(made)).toContain("digger cancelled:cancelled");
  expect(story(made, "task_1")).toEqual(["pending", "in_progress", "cancelled"]);
});

test("AG-12: a board that refuses the end is a warning, never an error", async () => {
  const taken = await mission([
    lead(said(create("Dig")), said(spawn([task("digger", { task_id: "task_1" })])), said("Ok.")),
    member("digger", said(["shared_tasks_reassign", { id: "task_1", assignee: "main" }]), said("Dug.")),
  ]);
  expect(itemsOf(taken)[0]).toMatchObject({
    state: "completed",
    warning: "task_1 is not completed: it went to main",
  });
  expect(board(taken)).toEqual(["task_1 in_progress main"]);
  const undone = await mission([
    lead(said(create("Dig")), said(spawn([task("digger", { task_id: "task_1" })])), said("Ok.")),
    member("digger", said(update("task_1", { status: "pending" })), said("Dug.")),
  ]);
  expect(itemsOf(undone)[0]?.warning).toContain("task_1 is not completed: task_1 is pending");
  const own = await mission([
    lead(said(create("Dig")), said(spawn([task("digger", { task_id: "task_1" })])), said("Ok.")),
    member("digger", said(update("task_1", { status: "completed" })), said("Dug.")),
  ]);
  expect(itemsOf(own)[0]?.warning).toBeUndefined();
});

test("AG-12 AG-26: a peer takes the task with it", async () => {
  const made = await mission([
    lead(said(create("Dig")), said(delegate("digger", { task_id: "task_1" })), said("Ok.")),
    {
      ...member("digger", said(["handoff", { agent: "miner", reason: "Rock", context: "Deep." }])),
      yaml: `${boxes}\noptions: { max_handoffs: 2 }`,
    },
    member("miner", said("Dug.")),
  ]);
  const [, peer] = childIds(made);
  expect(board(made)).toEqual([`task_1 completed ${peer}`]);
  expect(story(made, "task_1")).toEqual(["pending", "in_progress", "in_progress", "completed"]);
});

test("AG-45: a thread that ends gives back the tasks it still holds, in the commit of its end", async () => {
  const made = await mission([
    lead(said(create("A"), create("B")), said(delegate("digger")), said(claim("task_1")), said("Ok.")),
    member(
      "digger",
      said(claim("task_1"), claim("task_2")),
      said(update("task_2", { status: "completed" })),
      said("Tired."),
    ),
  ]);
  const [child] = childIds(made);
  expect(board(made)).toEqual(["task_1 in_progress main", `task_2 completed ${child}`]);
  expect(story(made, "task_1")).toEqual(["pending", "in_progress", "pending", "in_progress"]);
  const end =
    made.bench.commits.find(
      (lines) => lines.includes('"type":"run_end"') && lines.includes(`"thread":"${child}"`),
    ) ?? "";
  expect(end).toContain('"type":"task_changed"');
});

test("AG-45: main keeps its tasks from run to run", async () => {
  const made = await mission([lead(said(create("A")), said(claim("task_1")), said("Ok."))]);
  expect(board(made)).toEqual(["task_1 in_progress main"]);
});

test("AG-46: a caller that watches a background agent's task wakes when that ends", async () => {
  const made = await mission([
    {
      ...lead(
        said(create("Dig")),
        said(delegate("digger", { task_id: "task_1", async: true }), [
          "shared_tasks_watch",
          { id: "task_1" },
        ]),
        said("Ok."),
        said("Heard."),
      ),
      yaml: `${boxes}\ndelegation: { async: true }`,
    },
    member("digger", said("Dug.")),
  ]);
  expect(resultsOf(made)[2]).toContain('"status":"completed"');
  expect(made.bench.alarm()).toBeNull();
});

test("AG-12 AG-15: the power is cut at every write: one child, its task assigned and ended once", async () => {
  const members = [
    lead(said(create("Dig")), said(delegate("digger", { task_id: "task_1" })), said("Ok.")),
    member("digger", said(complete())),
  ];
  const whole = await crew(members);
  const before = whole.bench.writes();
  whole.bench.send("Go");
  await whole.bench.idle();
  const total = whole.bench.writes() - before;
  for (let cut = 1; cut <= total; cut++) {
    const made = await crew(members);
    const send = (): void => void made.bench.ok("send", { content: "Go" }, "key1");
    made.bench.cutAt(cut);
    try {
      send();
    } catch {
      send();
    }
    await made.bench.idle();
    made.bench.cutAt(null);
    const [child, ...more] = childIds(made);
    expect(more, `cut ${cut}`).toEqual([]);
    expect(board(made), `cut ${cut}`).toEqual([`task_1 completed ${child}`]);
    expect(story(made, "task_1"), `cut ${cut}`).toEqual(["pending", "in_progress", "completed"]);
    checkInvariants(made.bench, ["in_1"]);
  }
});

test("AG-46 SE-46: a run that goes on says whether a task that it watches or a called agent moved it", async () => {
  const watch = ["shared_tasks_watch", { id: "task_1" }] as const;
  const made = await mission([
    lead(said(create("Dig")), said(watch, delegate("coder")), said("Done.")),
    member("coder", said(claim("task_1")), said(update("task_1", { status: "completed" })), said("Dug.")),
  ]);
  const main = eventsAs(made, "run_resumed").filter(({ thread }) => thread === "main");
  expect(main.map(({ data }) => data.by)).toEqual(["task", "task", "thread"]);
});
