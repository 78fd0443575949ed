import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { GraphOutcome } from "../../../src/agent/stores/graphs.ts";
import {
  interpolateOutputs,
  formatGraphReport,
  scheduleGraph,
  shortenText,
} from "../../../src/agent/stores/graphs.ts";
import type { GraphState } from "../../../src/agent/state/events.ts";
import type { CheckedGraph, GraphTask } from "../../../src/tools/task-graph.ts";
import type { Refusal } from "../../../src/tools/errors.ts";
import { refuse } from "../../../src/tools/errors.ts";
import { ancestorsOf, checkGraph } from "../../../src/tools/task-graph.ts";

const task = (id: string, depends_on: string[] = [], more: Partial<GraphTask> = {}): GraphTask => ({
  id,
  agent: "worker",
  message: "Do it.",
  context: "",
  depends_on,
  blocking: true,
  interpolate: true,
  ...more,
});

const raw = (id: string, depends_on: readonly string[] = [], more: object = {}): object => ({
  id,
  agent: "worker",
  message: "Do it.",
  depends_on,
  blocking: true,
  ...more,
});

const resolve = (agent: string): string | Refusal => {
  if (agent === "auto") return "worker";
  return agent === "worker" ? agent : refuse("unknown_agent", `there is no agent "${agent}"`);
};

const check = (...tasks: readonly unknown[]): CheckedGraph => checkGraph({ tasks }, resolve);

const problemsOf = (checked: CheckedGraph): readonly string[] => (checked.ok ? [] : checked.problems);

test("AG-33: a sound graph comes back with its defaults filled in and its agents resolved", () => {
  const checked = check(raw("a", [], { agent: "auto" }), raw("b", ["a"], { message: "Use {{a.output}}." }));
  expect(checked).toEqual({
    ok: true,
    async: false,
    tasks: [task("a"), task("b", ["a"], { message: "Use {{a.output}}." })],
  });
});

test("AG-33: task_graph and agent_id are other spellings", () => {
  const { agent: _, ...nameless } = raw("a") as Record<string, unknown>;
  const checked = checkGraph({ task_graph: { tasks: [{ ...nameless, agent_id: "worker" }] } }, resolve);
  expect(checked).toEqual({ ok: true, async: false, tasks: [task("a")] });
});

test("AG-33: every mistake of every task is named at once", () => {
  const problems = problemsOf(
    check(
      raw("a", ["nowhere"], { message: "  " }),
      raw("b", ["b"]),
      raw("c d", [], { blocking: undefined }),
      raw("a", [], { agent: "nobody" }),
      raw("e", [], { message: "{{b.output}} {{x.output}}", colour: "red" }),
      raw("f", [], { agent: "nobody", blocking: undefined }),
    ),
  );
  expect(problems).toEqual([
    "task a: message: must not be blank",
    "tasks.2: id: 1 to 64 letters, digits, _ and -",
    'tasks.2: blocking: "blocking" is required here',
    'task a: agent: there is no agent "nobody"',
    'task e: "colour" is not known here',
    'task f: blocking: "blocking" is required here',
    'task f: agent: there is no agent "nobody"',
    "task a: depends_on names nowhere, which is not a task of this graph",
    "task a: the id is used twice",
    "task e: {{b.output}} needs b in depends_on, directly or not",
    "task e: {{x.output}} needs x in depends_on, directly or not",
    "tasks wait for each other: b → b",
  ]);
});

test("AG-33: a cycle is named task by task", () => {
  expect(problemsOf(check(raw("a"), raw("b", ["a", "d"]), raw("c", ["b"]), raw("d", ["c"])))).toEqual([
    "tasks wait for each other: b → d → c → b",
  ]);
});

test.each([0, 65])("AG-33: a graph of %d tasks is refused", (count) => {
  const tasks = Array.from({ length: count }, (_, at) => raw(`t${at}`));
  expect(problemsOf(check(...tasks))).toEqual([`tasks: a graph has 1 to 64 tasks, not ${count}`]);
});

test("AG-33: too many tasks hide no other mistake", () => {
  const tasks = Array.from({ length: 64 }, (_, at) => raw(`t${at}`));
  const last = raw("z", ["nobody"], { agent: "wroker" });
  expect(problemsOf(checkGraph({ tasks: [...tasks, last], colour: 1 }, resolve))).toEqual([
    '"colour" is not known here',
    "tasks: a graph has 1 to 64 tasks, not 65",
    'task z: agent: there is no agent "wroker"',
    "task z: depends_on names nobody, which is not a task of this graph",
  ]);
  expect(problemsOf(checkGraph({ tasks: 7, colour: 1 }, resolve))).toEqual([
    '"colour" is not known here',
    "tasks: a list of tasks is required",
  ]);
});

test("AG-33: of far too many tasks only that is said", () => {
  const tasks = Array.from({ length: 5_000 }, (_, at) => raw(`t${at}`, at === 0 ? [] : [`t${at - 1}`]));
  expect(problemsOf(check(...tasks))).toEqual(["tasks: a graph has 1 to 64 tasks, not 5000"]);
});

test.each([[undefined], [null], [7], [{}], [{ tasks: {} }], [{ task_graph: 3 }]])(
  "AG-33: %j is no graph",
  (args) => {
    expect(problemsOf(checkGraph(args, resolve))).toEqual(["tasks: a list of tasks is required"]);
  },
);

test("AG-33: a wrong field beside the tasks is named with the rest", () => {
  expect(problemsOf(checkGraph({ tasks: [raw("a")], async: "yes", colour: 1 }, resolve))).toEqual([
    '"colour" is not known here',
    "async: must be true or false",
  ]);
  expect(problemsOf(checkGraph({ task_graph: { tasks: [raw("a")], name: "x" } }, resolve))).toEqual([
    '"name" is not known here',
  ]);
  expect(checkGraph({ tasks: [raw("a")], async: true }, resolve)).toMatchObject({ ok: true, async: true });
});

test("AG-33: tasks that are no objects are named by their place", () => {
  expect(problemsOf(check(null, 7, raw("a"))).map((problem) => problem.split(":")[0])).toEqual([
    "tasks.0",
    "tasks.1",
  ]);
});

test("AG-33: an output is at hand from far up the graph, and is not looked for without interpolation", () => {
  expect(check(raw("a"), raw("b", ["a"]), raw("c", ["b"], { context: "{{a.output}}" })).ok).toBe(true);
  expect(check(raw("a"), raw("c", [], { message: "{{a.output}}", interpolate: false })).ok).toBe(true);
});

/** Plays a graph to its end: each running task ends as `verdict` says, in the order `pick` chooses. */
const playGraph = (
  tasks: readonly GraphTask[],
  verdict: (id: string) => GraphState,
  pick: (running: readonly string[]) => string,
  most: number,
): {
  readonly states: Record<string, GraphState>;
  readonly starts: readonly string[];
  readonly peak: number;
} => {
  const states: Record<string, GraphState> = Object.create(null) as Record<string, GraphState>;
  const starts: string[] = [];
  let peak = 0;
  for (let round = 0; round <= tasks.length * 2; round++) {
    const running = tasks.filter(({ id }) => states[id] === "running").map(({ id }) => id);
    const step = scheduleGraph(tasks, states, most - running.length);
    for (const { id } of step.cancel) states[id] = "cancelled";
    if (step.done) return { states, starts, peak };
    for (const { id, depends_on: depends } of step.start) {
      const settled = depends.every((each) => !["pending", "running"].includes(states[each] ?? ""));
      if (!settled) throw new Error(`${id} started before ${depends.join()} settled`);
      states[id] = "running";
      starts.push(id);
    }
    const now = tasks.filter(({ id }) => states[id] === "running").map(({ id }) => id);
    peak = Math.max(peak, now.length);
    if (now.length === 0) throw new Error("nothing runs and the graph is not done");
    const ended = pick(now);
    states[ended] = verdict(ended);
  }
  throw new Error("the graph never ended");
};

const first = (running: readonly string[]): string => running[0] ?? "";

const success = (): GraphState => "success";

test("AG-34: a chain runs one after the other, a diamond with its middle together, three strangers at once", () => {
  const chain = playGraph([task("c", ["b"]), task("b", ["a"]), task("a")], success, first, 5);
  expect([chain.starts, chain.peak]).toEqual([["a", "b", "c"], 1]);
  const diamond = [task("a"), task("b", ["a"]), task("c", ["a"]), task("d", ["b", "c"])];
  expect(playGraph(diamond, success, first, 5)).toMatchObject({ starts: ["a", "b", "c", "d"], peak: 2 });
  expect(playGraph([task("a"), task("b"), task("c")], success, first, 5).peak).toBe(3);
});

test("AG-34: a blocking failure cancels what hangs on it, and the other branch succeeds", () => {
  const tasks = [
    task("a"),
    task("b", ["a"]),
    task("c", ["b"], { blocking: false }),
    task("d", ["c"]),
    task("x"),
    task("y", ["x"]),
  ];
  for (const end of ["failed", "timeout", "cancelled"] as const) {
    const { states } = playGraph(tasks, (id) => (id === "a" ? end : "success"), first, 5);
    expect(states).toEqual({
      a: end,
      b: "cancelled",
      c: "cancelled",
      d: "cancelled",
      x: "success",
      y: "success",
    });
  }
});

test("AG-34: what depends on a failure that does not block runs all the same", () => {
  const tasks = [task("a", [], { blocking: false }), task("b", ["a"])];
  const { states } = playGraph(tasks, (id) => (id === "a" ? "failed" : "success"), first, 5);
  expect(states).toEqual({ a: "failed", b: "success" });
});

/** A random graph without cycles: a task depends on earlier ones only; the list is shuffled by the seed. */
const graphs = fc
  .array(
    fc.record({
      edges: fc.nat(),
      blocking: fc.boolean(),
      end: fc.constantFrom("success", "failed", "timeout"),
    }),
    {
      minLength: 1,
      maxLength: 14,
    },
  )
  .chain((specs) =>
    fc.record({
      ends: fc.constant(specs.map(({ end }) => end as GraphState)),
      tasks: fc.shuffledSubarray(
        specs.map(({ edges, blocking }, at) =>
          task(
            `t${at}`,
            Array.from({ length: at }, (_, each) => `t${each}`).filter(
              (_, each) => ((edges >> (each % 16)) & 1) === 1,
            ),
            { blocking },
          ),
        ),
        { minLength: specs.length },
      ),
      most: fc.integer({ min: 1, max: 4 }),
      picks: fc.infiniteStream(fc.nat()),
    }),
  );

test("AG-34: any graph ends; nothing starts early, twice or above the bound; only heirs of a blocking failure are cancelled", () => {
  fc.assert(
    fc.property(graphs, ({ tasks, ends, most, picks }) => {
      const verdict = (id: string): GraphState => ends[Number(id.slice(1))] ?? "success";
      const pick = (running: readonly string[]): string => running[picks.next().value % running.length] ?? "";
      const { states, starts, peak } = playGraph(tasks, verdict, pick, most);
      expect(peak).toBeLessThanOrEqual(most);
      expect(new Set(starts).size).toBe(starts.length);
      const broken = tasks
        .filter(({ id, blocking }) => blocking && starts.includes(id) && verdict(id) !== "success")
        .map(({ id }) => id);
      for (const { id } of tasks) {
        const heir = broken.some((each) => ancestorsOf(tasks, id).has(each));
        expect(states[id], id).toBe(heir ? "cancelled" : verdict(id));
        expect(starts.includes(id), id).toBe(!heir);
      }
    }),
    { numRuns: 500 },
  );
});

test("AG-34: after a restart the scheduler says the same: what runs is not started again", () => {
  const tasks = [task("a"), task("b"), task("c", ["a"])];
  expect(scheduleGraph(tasks, { a: "running" }, 4)).toEqual({
    start: [task("b")],
    cancel: [],
    done: false,
  });
  expect(scheduleGraph(tasks, { a: "success", b: "running" }, 0)).toEqual({
    start: [],
    cancel: [],
    done: false,
  });
  expect(scheduleGraph(tasks, { a: "success", b: "success", c: "success" }, 5)).toEqual({
    start: [],
    cancel: [],
    done: true,
  });
});

test("AG-34: ids that every object has are names like others", () => {
  const tasks = [task("__proto__"), task("constructor", ["__proto__"])];
  expect(playGraph(tasks, success, first, 2).starts).toEqual(["__proto__", "constructor"]);
  expect(formatGraphReport(tasks, {}).text).toContain("2 cancelled");
});

const outcome = (text: string, state: GraphState = "success", ms = 0): GraphOutcome => ({ text, state, ms });

test("AG-35: an output that looks like a reference stays text", () => {
  const known: Record<string, GraphOutcome> = {
    t1: outcome("one"),
    t2: outcome("see {{t1.output}} and $& $1"),
  };
  expect(interpolateOutputs("{{t2.output}}, {{ t1.output }}, {{t3.output}}", (id) => known[id] ?? null)).toBe(
    "see {{t1.output}} and $& $1, one, {{t3.output}}",
  );
});

test("AG-35: a failed task stands there with its reason, a long output is cut at 4 000 characters with its length", () => {
  expect(interpolateOutputs("{{a.output}}", () => outcome("no disk", "failed"))).toBe(
    "[task a failed: no disk]",
  );
  const long = interpolateOutputs("{{a.output}}", () => outcome("😀".repeat(5_000)));
  expect([...long].length).toBe(4_000);
  expect(long).toMatch(/^😀+… \[39\d\d of 5000 characters shown\]$/u);
  expect(interpolateOutputs("{{a.output}}", () => outcome("y".repeat(4_000)))).toBe("y".repeat(4_000));
});

test("AG-36: the report counts, then says each task in the order it was given; a blocking failure makes it an error", () => {
  const tasks = [task("z"), task("a", ["z"], { agent: "coder" }), task("m", ["a"])];
  const report = formatGraphReport(tasks, {
    m: outcome("cancelled: a did not succeed", "cancelled"),
    a: outcome("boom", "failed", 12_345),
    z: outcome("done", "success", 500),
  });
  expect(report).toEqual({
    isError: true,
    text: [
      "3 tasks: 1 success, 1 failed, 1 cancelled",
      "## z (worker) success 0.5s\ndone",
      "## a (coder) failed 12.3s\nboom",
      "## m (worker) cancelled 0.0s\ncancelled: a did not succeed",
    ].join("\n\n"),
  });
  const soft = formatGraphReport([task("a", [], { blocking: false })], { a: outcome("boom", "timeout") });
  expect(soft.isError).toBe(false);
  expect(formatGraphReport([task("a")], { a: outcome("late", "timeout") }).isError).toBe(true);
});

test("AG-36: the report shows at most 2 000 characters of a task", () => {
  const { text } = formatGraphReport([task("a")], { a: outcome("x".repeat(3_000)) });
  expect(text.split("\n").at(-1)?.length).toBe(2_000);
  expect(shortenText("short", 2_000)).toBe("short");
});
