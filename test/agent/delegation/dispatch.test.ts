import { expect, test } from "vitest";
import type { Member } from "../../support/crew.ts";
import { chatOf, childIds, endings, eventsAs, lead, member, mission, resultsOf } from "../../support/crew.ts";
import { textsOf } from "../loop/play.ts";
import {
  dispatch,
  dispatched,
  done,
  finish,
  leads,
  names,
  node,
  progress,
  rawly,
  report,
  worker,
} from "./graph-play.ts";
import { replies, said } from "../../support/scripts.ts";

/** Task graphs from YAML (AG-33 to AG-36). */

const hand = (agent: string) => said(["handoff", { agent, reason: "It fits", context: "The plan" }]);

test("AG-34: a chain runs one after the other", async () => {
  const made = await dispatched([
    leads([node("c", ["b"]), node("b", ["a"]), node("a")]),
    worker(done("a", "b", "c")),
  ]);
  expect(names(made)).toEqual(["a"]);
  await finish(made, "a");
  expect(names(made)).toEqual(["a", "b"]);
  await finish(made, "b");
  await finish(made, "c");
  await made.bench.idle();
  expect(report(made)).toEqual(["c success", "b success", "a success"]);
});

test("AG-34: the middle of a diamond runs together, three strangers all at once", async () => {
  const tasks = [node("a"), node("b", ["a"]), node("c", ["a"]), node("d", ["b", "c"])];
  const diamond = await dispatched([leads(tasks), worker(done("a", "b", "c", "d"))]);
  await finish(diamond, "a");
  expect(names(diamond)).toEqual(["a", "b", "c"]);
  await finish(diamond, "c");
  expect(names(diamond)).toEqual(["a", "b", "c"]);
  await finish(diamond, "b");
  await finish(diamond, "d");
  await diamond.bench.idle();
  expect(report(diamond)).toEqual(["a success", "b success", "c success", "d success"]);
  const strangers = await dispatched([leads([node("a"), node("b"), node("c")]), worker(done("a", "b", "c"))]);
  expect(names(strangers)).toEqual(["a", "b", "c"]);
});

test("AG-34: a blocking failure cancels what hangs on it; the other branch succeeds and the call is an error", async () => {
  const made = await mission([
    leads([node("bad"), node("b", ["bad"]), node("c", ["b"]), node("x"), node("y", ["x"])]),
    worker({ ...done("x", "y"), bad: { finish: "refusal" } }, false),
  ]);
  expect(report(made)).toEqual(["bad failed", "b cancelled", "c cancelled", "x success", "y success"]);
  const [result = ""] = resultsOf(made);
  expect(result).toMatch(/^error: 5 tasks: 2 success, 1 failed, 2 cancelled\n/);
  expect(result).toContain(
    "## b (worker) cancelled 0.0s\ncancelled, since a task it depends on did not succeed",
  );
  expect(childIds(made)).toHaveLength(3);
  expect(progress(made).toSorted()).toEqual([
    "1/5 bad failed",
    "2/5 b cancelled",
    "3/5 c cancelled",
    "4/5 x success",
    "5/5 y success",
  ]);
});

test("AG-34 AG-35: what depends on a failure that does not block runs, and reads the reason", async () => {
  const made = await mission([
    leads([node("bad", [], { blocking: false }), node("b", ["bad"], { message: "Do b. {{bad.output}}" })]),
    worker({ ...done("b"), bad: { finish: "refusal" } }, false),
  ]);
  expect(resultsOf(made)[0]).toMatch(/^ok: /);
  expect(report(made)).toEqual(["bad failed", "b success"]);
  const [, child = ""] = childIds(made);
  expect(chatOf(made, child).map(textsOf)[0]).toBe("Do b. [task bad failed: the model refused]");
});

test("AG-35: outputs are filled into message and context once: what they hold stays text", async () => {
  const made = await mission([
    leads([
      node("t1"),
      node("t2", ["t1"]),
      node("t3", ["t2"], { message: "Do t3. {{t2.output}}|{{t1.output}}", context: "See {{ t1.output }}" }),
      node("t4", ["t1"], { message: "Do t4. {{t1.output}}", interpolate: false }),
    ]),
    worker({ t1: { text: "one" }, t2: { summary: "two {{t1.output}} <b>" }, ...done("t3", "t4") }, false),
  ]);
  const heard = childIds(made).map((child) => chatOf(made, child).map(textsOf).slice(0, -1));
  expect(heard).toContainEqual([
    "<delegation_context>\nSee one\n</delegation_context>",
    "Do t3. two {{t1.output}} <b>|one",
  ]);
  expect(heard).toContainEqual(["Do t4. {{t1.output}}"]);
});

test("AG-34: a task that takes too long has the state timeout and, if it blocks, cancels its heirs", async () => {
  const tasks = [node("slow", [], { timeout_seconds: 30 }), node("b", ["slow"]), node("x")];
  const made = await dispatched([leads(tasks), worker(done("slow", "b", "x"))]);
  await finish(made, "x");
  await made.bench.tick(30_000);
  await made.bench.idle();
  expect(report(made)).toEqual(["slow timeout", "b cancelled", "x success"]);
  expect(resultsOf(made)[0]).toContain("## slow (worker) timeout 30.0s\n");
  expect(resultsOf(made)[0]).toMatch(/^error: /);
});

test("AG-34: never more than delegation.max_concurrent at once", async () => {
  const ids = ["a", "b", "c", "d", "e"];
  const made = await dispatched(
    [
      leads(
        ids.map((id) => node(id)),
        {},
        "delegation: { max_concurrent: 2 }",
      ),
      worker(done(...ids)),
    ],
    { team: "sessions: { max_running_threads: 10 }" },
  );
  for (const [at, id] of ids.entries()) {
    expect(names(made)).toEqual(ids.slice(0, at + 2));
    await finish(made, id);
  }
  await made.bench.idle();
  expect(report(made)).toEqual(ids.map((id) => `${id} success`));
});

test("AG-36 AP-27: each end is an event with its task, and the threads of a task name it", async () => {
  const made = await mission([leads([node("a"), node("b", ["a"])]), worker(done("a", "b"), false)]);
  const [first, second] = eventsAs(made, "dispatch_progress");
  expect(first?.data).toEqual({ done: 1, total: 2, task: { id: "a", agent: "worker", state: "success" } });
  expect(second).toMatchObject({ thread: "main", data: { done: 2, total: 2 } });
  for (const event of made.bench.events())
    expect(event.node, event.type).toBe(
      event.thread === "main" ? undefined : event.thread === childIds(made)[0] ? "a" : "b",
    );
  expect(resultsOf(made)[0]).toBe(
    "ok: 2 tasks: 2 success\n\n## a (worker) success 0.0s\na is done\n\n## b (worker) success 0.0s\nb is done",
  );
});

test("AG-17 AG-34: the end of a task and the start of the next are one commit", async () => {
  const made = await mission([leads([node("a"), node("b", ["a"])]), worker(done("a", "b"), false)]);
  const [first, second] = childIds(made);
  const end =
    made.bench.commits.find(
      (lines) => lines.includes('"type":"run_end"') && lines.includes(`"thread":"${first}"`),
    ) ?? "";
  expect(end).toContain('"type":"dispatch_progress"');
  expect(end).toMatch(new RegExp(`"type":"run_start","thread":"${second}"`));
});

test("AG-33: every mistake is told at once and nothing starts", async () => {
  const wrong = [
    node("a", ["zz"], { message: " " }),
    { ...node("b", ["b"]), blocking: undefined },
    node("c", [], { agent: "lead" }),
    node("d", [], { agent: "wroker" }),
    node("e", [], { message: "Do e. {{c.output}}" }),
  ];
  const made = await mission([leads(wrong), worker(done("z"))]);
  const [result = ""] = resultsOf(made);
  expect(result).toMatch(/^error: self_delegation: /);
  for (const part of [
    "task a: message: must not be blank",
    "task b: blocking: ",
    "task c: agent: an agent cannot call itself",
    'task d: agent: there is no agent "wroker"; did you mean "worker"?',
    "task a: depends_on names zz",
    "task e: {{c.output}} needs c in depends_on",
    "tasks wait for each other: b → b",
    "Nothing was started",
  ])
    expect(result).toContain(part);
  expect(childIds(made)).toEqual([]);
});

test("AG-33: task_graph and agent_id are read, auto takes the agent that fits best", async () => {
  const { agent: _, ...rest } = node("a") as Record<string, unknown>;
  const graph = {
    task_graph: {
      tasks: [{ ...rest, agent_id: "WORKER" }, node("b", [], { agent: "auto", message: "Do b. Review it" })],
    },
  };
  const made = await mission([
    lead([said(["dispatch_tasks", graph]), said("Over.")]),
    { ...worker(done("a"), false) },
    { name: "critic", script: replies(said("Fine.")), yaml: "capabilities: [{ name: review }]" },
  ]);
  expect(resultsOf(made)[0]).toContain("## a (worker) success");
  expect(resultsOf(made)[0]).toContain("## b (critic) success 0.0s\nFine.");
});

test("AG-33: an agent that fits nothing, a graph below the depth, and one that the tree has no room for are refused", async () => {
  const auto = await mission([leads([node("a", [], { agent: "auto" })]), worker(done("z"))]);
  expect(resultsOf(auto)[0]).toContain(
    "task a: agent: no agent's capabilities fit the message; name one: worker",
  );
  const full = await mission([leads([node("a"), node("b"), node("c")]), worker(done("a", "b", "c"), false)], {
    team: "limits: { threads: { per_run: 2 } }",
  });
  expect(resultsOf(full)[0]).toContain("error: too_many_children: 0 of 2 agents of this run");
  expect(childIds(full)).toEqual([]);
});

test("AG-20: without depth there is no dispatch_tasks at all", async () => {
  const made = await mission([
    { ...leads([node("a")]), yaml: "options: { max_delegation_depth: 0 }" },
    worker(done("z")),
  ]);
  expect(resultsOf(made)[0]).toContain("denied: depth_exceeded");
});

test("TB-7: a rule about an agent holds for graphs, too", async () => {
  const rules =
    "permissions: { preset: open, rules: [{ tool: dispatch_tasks, match: critic, action: deny }] }";
  const members = (agent: string): readonly Member[] => [
    lead([said(dispatch([node("a", [], { agent })])), said("Over.")]),
    { ...worker(done("a"), false) },
    { name: "critic", script: replies(said("Fine.")) },
  ];
  const denied = await mission(members("critic"), { team: rules });
  expect(resultsOf(denied)[0]).toMatch(/^denied: /);
  expect(childIds(denied)).toEqual([]);
  expect(resultsOf(await mission(members("worker"), { team: rules }))[0]).toMatch(/^ok: /);
});

test("AG-21: five dispatches of five tasks at the same time all finish", async () => {
  const ids = ["a", "b", "c", "d", "e"];
  const made = await mission([
    lead([said(...ids.map(() => dispatch(ids.map((id) => node(id))))), said("All over.")]),
    worker(done(...ids), false),
  ]);
  expect(resultsOf(made).map((result) => result.split("\n")[0])).toEqual(
    ids.map(() => "ok: 5 tasks: 5 success"),
  );
  expect(childIds(made)).toHaveLength(25);
});

test("AG-26: a peer that takes a task over ends it for the graph", async () => {
  const made = await mission([
    lead([
      rawly("dispatch_tasks", { tasks: [node("a"), node("b", ["a"], { message: "Do b. {{a.output}}" })] }),
      said("Over."),
    ]),
    {
      name: "worker",
      script:
        'scenes: [{ name: hand, when: { input: { contains: "Do a." } }, reply: [{ call: handoff, args: { agent: peer, reason: Rock, context: Deep } }] }, { name: other, reply: [{ text: Fine. }] }]',
      yaml: "options: { max_handoffs: 1 }",
    },
    { name: "peer", script: replies(said("The peer did a.")) },
  ]);
  expect(report(made)).toEqual(["a success", "b success"]);
  expect(resultsOf(made)[0]).toContain("The peer did a.");
  expect(endings(made)).toEqual([
    "worker completed:terminal_tool",
    "peer completed:end_turn",
    "worker completed:end_turn",
    "lead completed:end_turn",
  ]);
  expect(made.bench.alarm()).toBeNull();
});

test("TB-4: the toolbox agents can be narrowed to task graphs", async () => {
  const boss = leads([node("a")], {}, "toolboxes: [{ name: agents, tools: [dispatch_tasks] }]");
  const { bench } = await mission([boss, worker(done("a"), false)]);
  const declared = bench.requests[0]?.tools.map(({ name }) => name) ?? [];
  expect(declared).toContain("dispatch_tasks");
  expect(declared).not.toContain("spawn_agents");
  expect(bench.requests[0]?.system).toContain("<available_agents>\n- worker: ");
});

test("AG-26 AG-36: the report names the agent that did the task in the end, if it was handed over", async () => {
  const made = await mission([
    leads([node("a")]),
    member("worker", [hand("heir")], "options: { max_handoffs: 1 }"),
    member("heir", [said("Done by the heir.")]),
  ]);
  expect(resultsOf(made)[0]).toContain("## a (heir) success 0.0s\nDone by the heir.");
});

test("AG-11 AG-35 AG-36: an agent that reports its own failure cancels nobody; its heirs and the report are told of it", async () => {
  const failed = said(["task_complete", { status: "failed", summary: "No chart was found." }]);
  const made = await mission([
    leads([node("a"), node("b", ["a"], { agent: "heir", message: "Go on after: {{a.output}}" })]),
    { name: "worker", script: replies(failed) },
    { name: "heir", script: replies(said("Went on.")) },
  ]);
  expect(report(made)).toEqual(["a success", "b success"]);
  const told = "[the agent reports that it failed] No chart was found.";
  expect(resultsOf(made)[0]).toContain(`## a (worker) success 0.0s\n${told}`);
  expect(chatOf(made, childIds(made)[1] ?? "").map(textsOf)).toContain(`Go on after: ${told}`);
});

test("AG-28 AG-33 (decision): whoever works on a graph's task cannot ask its caller, also where other children can", async () => {
  const both = [
    said(["dispatch_tasks", { tasks: [node("a")] }]),
    said(["delegate_to_agent", { agent: "worker", task: "Do b.", context: "" }]),
    said("All over."),
  ];
  const made = await mission([
    lead(both, "options: { interaction_mode: interactive }"),
    worker(done("a", "b"), false),
  ]);
  const canAsk = childIds(made).map((id) =>
    made.bench.requests
      .find(({ context }) => context.thread === id)
      ?.tools.some(({ name }) => name === "request_input"),
  );
  expect(canAsk).toEqual([false, true]);
});
