import * as fc from "fast-check";
import { expect, test } from "vitest";
import type {
  BoardFacts,
  StoredTask,
  TaskChange,
  Tasks,
  BoardOutcome,
} from "../../../src/agent/state/board.ts";
import {
  openTaskLines,
  taskView,
  changeBoard,
  releaseBoard,
  findChangedTasks,
} from "../../../src/agent/state/board.ts";
import type { TaskStatus } from "../../../src/tools/stores.ts";

const statuses = ["pending", "in_progress", "completed", "failed", "cancelled"] as const;

const facts = (more: Partial<BoardFacts> = {}): BoardFacts => ({
  policy: "block",
  thread: "main",
  agent: "tester",
  canWork: (thread) => ["main", "t_a", "t_b"].includes(thread),
  now: 1_000,
  ...more,
});

const create = (title: string, blocked_by: readonly string[] = []): TaskChange => ({
  store: "tasks",
  op: "create",
  title,
  description: "",
  blocked_by: [...blocked_by],
  metadata: {},
});

const on = (op: "claim" | "cancel", id: string): TaskChange => ({ store: "tasks", op, id });

const update = (id: string, more: Partial<Extract<TaskChange, { op: "update" }>>): TaskChange => ({
  store: "tasks",
  op: "update",
  id,
  ...more,
});

const must = (outcome: BoardOutcome): Tasks => {
  if (!outcome.ok) throw new Error(`${outcome.code}: ${outcome.sentence}`);
  return outcome.tasks;
};

const refusal = (outcome: BoardOutcome): string => {
  if (outcome.ok) throw new Error("it was not refused");
  return `${outcome.code}: ${outcome.sentence}`;
};

/** The board after changes that must all be taken. */
const board = (changes: readonly TaskChange[], by: Partial<BoardFacts> = {}, from: Tasks = {}): Tasks =>
  changes.reduce((tasks, change) => must(changeBoard(tasks, change, facts(by))), from);

const withStatus = (status: TaskStatus): Tasks => {
  const [task] = Object.values(board([create("a")])) as [StoredTask];
  const assignee = status === "pending" ? null : "t_a";
  return { task_1: { ...task, status, assignee } };
};

const statusOf = (tasks: Tasks, id = "task_1"): string => tasks[id]?.status ?? "none";

/** The table of AG-43 for `update`, `claim` and `reassign`. */
const table: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  pending: ["in_progress", "cancelled"],
  in_progress: ["completed", "failed", "cancelled", "pending"],
  failed: ["pending", "cancelled"],
  completed: [],
  cancelled: [],
};

for (const from of statuses)
  for (const to of statuses)
    test(`AG-43: ${from} → ${to} ${table[from].includes(to) ? "is a step" : "is refused, naming what is allowed"}`, () => {
      const tasks = withStatus(from);
      const change = to === "in_progress" ? on("claim", "task_1") : update("task_1", { status: to });
      const outcome = changeBoard(tasks, change, facts());
      if (table[from].includes(to)) {
        expect(statusOf(must(outcome))).toBe(to);
        return;
      }
      expect(refusal(outcome)).toMatch(/^conflict: task_1 /);
      for (const allowed of table[from].filter((each) => each !== "in_progress" && to !== "in_progress"))
        expect(refusal(outcome)).toContain(allowed);
    });

test("AG-43 AG-44: an update never leads to in_progress", () => {
  for (const from of statuses)
    expect(
      refusal(changeBoard(withStatus(from), update("task_1", { status: "in_progress" }), facts())),
    ).toMatch(/^conflict/);
});

test("AG-43: tasks have numbers, times, a creator, and their order", () => {
  const tasks = board([create("one"), create("two", ["task_1"])]);
  expect(Object.keys(tasks)).toEqual(["task_1", "task_2"]);
  expect(tasks["task_2"]).toEqual({
    id: "task_2",
    title: "two",
    description: "",
    status: "pending",
    assignee: null,
    blocked_by: ["task_1"],
    metadata: {},
    created_by: "tester",
    created_at: 1_000,
    updated_at: 1_000,
  });
});

test("AG-43: unknown dependencies and cycles are refused, on update too", () => {
  expect(refusal(changeBoard({}, create("a", ["task_1"]), facts()))).toBe(
    "not_found: blocked_by: there is no task task_1",
  );
  const tasks = board([create("a"), create("b", ["task_1"]), create("c", ["task_2"])]);
  const depend = (id: string, ...blocked_by: string[]): string =>
    refusal(changeBoard(tasks, update(id, { blocked_by }), facts()));
  expect(depend("task_1", "task_3")).toContain("conflict: blocked_by: task_3 already waits for task_1");
  expect(depend("task_1", "task_2")).toContain("task_2 already waits for task_1");
  expect(depend("task_2", "task_2")).toContain("task_2 cannot wait for itself");
  expect(depend("task_2", "task_1", "task_9")).toContain("not_found: blocked_by: there is no task task_9");
  expect(depend("task_2", "constructor")).toContain("not_found");
  expect(
    must(changeBoard(tasks, update("task_3", { blocked_by: ["task_1", "task_1"] }), facts()))["task_3"]
      ?.blocked_by,
  ).toEqual(["task_1"]);
});

test("AG-43: metadata merges and null removes; too much of it is refused", () => {
  const tasks = board([create("a"), update("task_1", { metadata: { x: 1, y: [2] } })]);
  const next = board([update("task_1", { metadata: { x: null, z: "new" } })], {}, tasks);
  expect(next["task_1"]?.metadata).toEqual({ y: [2], z: "new" });
  const fill = update("task_1", { metadata: { a: "x".repeat(9_000) } });
  const more = update("task_1", { metadata: { b: "x".repeat(9_000) } });
  expect(refusal(changeBoard(board([fill], {}, tasks), more, facts()))).toContain("too_large: metadata");
});

test("AG-44: a claim is mine to repeat, and nobody else's", () => {
  const mine = board([create("a"), on("claim", "task_1")]);
  expect(mine["task_1"]).toMatchObject({ status: "in_progress", assignee: "main" });
  expect(must(changeBoard(mine, on("claim", "task_1"), facts()))).toBe(mine);
  expect(refusal(changeBoard(mine, on("claim", "task_1"), facts({ thread: "t_a" })))).toContain(
    "conflict: task_1 is already claimed by main",
  );
  expect(refusal(changeBoard(mine, on("claim", "task_7"), facts()))).toContain(
    "not_found: there is no task task_7",
  );
});

test("AG-44: a blocked task can be neither claimed nor given away", () => {
  const tasks = board([create("a"), create("b", ["task_1"])]);
  const give: TaskChange = { store: "tasks", op: "reassign", id: "task_2", assignee: "t_a" };
  for (const change of [on("claim", "task_2"), give])
    expect(refusal(changeBoard(tasks, change, facts()))).toContain("conflict: task_2 is blocked by task_1");
  const free = board([on("claim", "task_1"), update("task_1", { status: "completed" })], {}, tasks);
  expect(statusOf(must(changeBoard(free, give, facts())), "task_2")).toBe("in_progress");
});

test("AG-44 AG-45: the refusal of a blocked task names the way out, by what became of its dependencies", () => {
  const two = board([create("a"), create("b"), create("c", ["task_1", "task_2"])]);
  const blocked = (changes: readonly TaskChange[]): string =>
    refusal(changeBoard(board(changes, {}, two), on("claim", "task_3"), facts()));
  const taken = on("claim", "task_1");
  expect(blocked([])).toBe("conflict: task_3 is blocked by task_1, task_2; they have to be completed first");
  expect(blocked([taken, update("task_1", { status: "completed" })])).toBe(
    "conflict: task_3 is blocked by task_2; that has to be completed first",
  );
  expect(blocked([taken, update("task_1", { status: "failed" })])).toBe(
    "conflict: task_3 is blocked by task_1, task_2; task_1 has failed: set its status to pending to try it again, or take it out of blocked_by by an update of task_3",
  );
  expect(blocked([on("cancel", "task_2"), taken, update("task_1", { status: "completed" })])).toBe(
    "conflict: task_3 is blocked by task_2; task_2 is cancelled and will never be completed: take it out of blocked_by by an update of task_3",
  );
  expect(
    must(
      changeBoard(
        board([on("cancel", "task_2"), update("task_3", { blocked_by: ["task_1"] }), taken], {}, two),
        update("task_1", { status: "completed" }),
        facts(),
      ),
    )["task_3"]?.blocked_by,
  ).toEqual(["task_1"]);
});

test("AG-44: reassign takes a task away, to threads that are there only, and revives none that is over", () => {
  const give = (assignee: string): TaskChange => ({ store: "tasks", op: "reassign", id: "task_1", assignee });
  const taken = board([create("a"), on("claim", "task_1"), give("t_b")]);
  expect(taken["task_1"]).toMatchObject({ status: "in_progress", assignee: "t_b" });
  expect(refusal(changeBoard(taken, give("t_zz"), facts()))).toContain("not_found: assignee");
  for (const status of ["completed", "failed", "cancelled"] as const)
    expect(refusal(changeBoard(withStatus(status), give("t_b"), facts()))).toContain("conflict: task_1");
});

test("AG-43: who releases or retries a task no longer has it; who ended it stays known", () => {
  const taken = board([create("a"), on("claim", "task_1")]);
  expect(board([update("task_1", { status: "pending" })], {}, taken)["task_1"]?.assignee).toBeNull();
  const failed = board([update("task_1", { status: "failed" })], {}, taken);
  expect(failed["task_1"]?.assignee).toBe("main");
  expect(board([update("task_1", { status: "pending" })], {}, failed)["task_1"]?.assignee).toBeNull();
});

const view = (tasks: Tasks, id: string, policy: BoardFacts["policy"] = "block") => {
  const task = tasks[id];
  if (task === undefined) throw new Error(`no ${id}`);
  const { blocked, blocked_reason, status } = taskView(tasks, task, policy);
  return { blocked, blocked_reason, status };
};

const chain = [create("a"), create("b", ["task_1"]), create("c", ["task_2"]), on("claim", "task_1")];

test("AG-45: by default what depends on a failed or cancelled task stays blocked, and says why", () => {
  for (const status of ["failed", "cancelled"] as const) {
    const tasks = board([...chain, update("task_1", { status })]);
    expect(view(tasks, "task_2")).toEqual({
      blocked: true,
      blocked_reason: "dependency_failed",
      status: "pending",
    });
    expect(view(tasks, "task_3")).toEqual({ blocked: true, blocked_reason: null, status: "pending" });
  }
  const retried = board([
    ...chain,
    update("task_1", { status: "failed" }),
    update("task_1", { status: "pending" }),
  ]);
  expect(view(retried, "task_2")).toEqual({ blocked: true, blocked_reason: null, status: "pending" });
});

test("AG-45: with fail they fail all the way down, with ignore they are free", () => {
  const failed = board([...chain, update("task_1", { status: "failed" })], { policy: "fail" });
  expect([statusOf(failed, "task_2"), statusOf(failed, "task_3")]).toEqual(["failed", "failed"]);
  const ignored = board([...chain, update("task_1", { status: "failed" })], { policy: "ignore" });
  expect(view(ignored, "task_2", "ignore")).toEqual({
    blocked: false,
    blocked_reason: null,
    status: "pending",
  });
  expect(view(ignored, "task_3", "ignore").blocked).toBe(true);
  expect(statusOf(board([on("claim", "task_2")], { policy: "ignore" }, ignored), "task_2")).toBe(
    "in_progress",
  );
});

test("AG-45: a thread that ends gives back what it holds, and nothing that is over", () => {
  const tasks = board([
    create("a"),
    create("b"),
    create("c"),
    on("claim", "task_1"),
    on("claim", "task_2"),
    update("task_2", { status: "completed" }),
  ]);
  const others = board([on("claim", "task_3")], { thread: "t_a" }, tasks);
  const released = releaseBoard(others, "main", 5);
  expect(Object.values(released).map(({ status, assignee }) => [status, assignee])).toEqual([
    ["pending", null],
    ["completed", "main"],
    ["in_progress", "t_a"],
  ]);
  expect(releaseBoard(released, "main", 6)).toBe(released);
});

test("AG-45: a change tells of every task that is shown otherwise, of no other", () => {
  const before = board(chain);
  const after = board([update("task_1", { status: "completed" })], {}, before);
  expect(findChangedTasks(before, after, "block").map(({ id, blocked }) => `${id} ${blocked}`)).toEqual([
    "task_1 false",
    "task_2 false",
  ]);
  expect(findChangedTasks(after, after, "block")).toEqual([]);
});

test("AG-43: the board is full at 1 000 tasks", () => {
  const full = board(Array.from({ length: 1_000 }, () => create("a")));
  expect(refusal(changeBoard(full, create("b"), facts()))).toBe("limit: the board is full with 1000 tasks");
});

test("EF-22: open tasks are one line each", () => {
  const tasks = board([
    create("write\n it"),
    create("done"),
    on("claim", "task_2"),
    create("x"),
    on("cancel", "task_3"),
  ]);
  expect(openTaskLines(tasks)).toEqual(["task_1 pending: write it", "task_2 in_progress by main: done"]);
});

test("AG-43 AG-44: whatever many threads do, a task in progress has one owner and the graph no cycle", () => {
  const change = fc.record({
    op: fc.constantFrom("create", "claim", "cancel", "reassign", "update"),
    id: fc.integer({ min: 1, max: 6 }),
    deps: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 3 }),
    status: fc.option(fc.constantFrom(...statuses), { nil: undefined }),
    thread: fc.constantFrom("main", "t_a", "t_b"),
    policy: fc.constantFrom("block", "fail", "ignore"),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (steps) => {
      let tasks: Tasks = {};
      for (const { op, id, deps, status, thread, policy } of steps) {
        const task = `task_${id}`;
        const blocked_by = deps.map((each) => `task_${each}`);
        const made =
          op === "create"
            ? create("a", blocked_by)
            : op === "update"
              ? update(task, status === undefined ? { blocked_by } : { status })
              : op === "reassign"
                ? ({ store: "tasks", op, id: task, assignee: thread } as const)
                : on(op, task);
        const outcome = changeBoard(tasks, made, facts({ thread, policy }));
        if (outcome.ok) ({ tasks } = outcome);
      }
      for (const { id, status, assignee } of Object.values(tasks)) {
        if (status === "in_progress") expect(assignee, id).not.toBeNull();
        if (status === "pending") expect(assignee, id).toBeNull();
      }
      const depth = (id: string, path: readonly string[]): void => {
        expect(path).not.toContain(id);
        for (const next of tasks[id]?.blocked_by ?? []) depth(next, [...path, id]);
      };
      for (const id of Object.keys(tasks)) depth(id, []);
    }),
    { numRuns: 500 },
  );
});
