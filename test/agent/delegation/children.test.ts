import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../../src/tools/define-tool.ts";
import type { Member } from "../../support/crew.ts";
import {
  chatOf,
  childIds,
  crew,
  delegate,
  endings,
  eventsAs,
  itemsOf,
  member,
  mission,
  passTurns,
  resultsOf,
  spawn,
  task,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, replies, said } from "../../support/scripts.ts";
import { textsOf } from "../loop/play.ts";

describe("AG-18: cancel and steer", () => {
  const family = [
    member("lead", [said(delegate("coder")), done]),
    member("coder", [said(delegate("writer")), done]),
    member("writer", [said(["look", {}]), done]),
  ];

  test("AG-18 SE-31: cancel of main above three generations: all cancelled in the same commit, no step afterwards", async () => {
    const made = await crew(family);
    made.bench.send("Go");
    await passTurns(made, 2);
    const before = made.bench.requests.length;
    made.bench.ok("cancel", {});
    expect(Object.values(made.bench.state().threads).filter(({ run }) => run !== null)).toEqual([]);
    made.bench.release();
    await made.bench.idle();
    expect(endings(made)).toEqual([
      "writer cancelled:cancelled",
      "coder cancelled:cancelled",
      "lead cancelled:cancelled",
    ]);
    expect(made.bench.requests).toHaveLength(before);
    expect(resultsOf(made)[0]).toMatch(/^cancelled: /);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-18 P8: a tool below that does not stop holds the whole tree for 5 s, then all is over", async () => {
    const made = await crew(family, { instant: false });
    made.bench.send("Go");
    await made.bench.steps();
    await made.bench.steps();
    made.bench.ok("cancel", {});
    expect(endings(made)).toEqual([]);
    await made.bench.pass(5_000);
    expect(endings(made)).toEqual([
      "writer cancelled:cancelled",
      "coder cancelled:cancelled",
      "lead cancelled:cancelled",
    ]);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-18: a person cancels one child; the caller's item says so and the caller goes on", async () => {
    const made = await crew([
      member("lead", [said(spawn([task("coder"), task("writer")], { on_error: "collect" })), done]),
      member("coder", [said("Coded.")]),
      member("writer", [said("Written.")]),
    ]);
    made.bench.send("Go");
    await passTurns(made, 1);
    const [coder = ""] = childIds(made);
    expect(made.bench.ok("cancel", { thread: coder })).toMatchObject({ run: "run_2" });
    made.bench.release();
    await made.bench.idle();
    expect(itemsOf(made)).toMatchObject([
      { state: "cancelled", reason: "cancelled", error: "a person cancelled it" },
      { state: "completed", result: "Written." },
    ]);
    expect(endings(made).at(-1)).toBe("lead completed:end_turn");
    expect(made.bench.ok("cancel", { thread: coder })).toEqual({ run: null, seq: made.bench.state().head });
  });

  test("AG-18 SE-23: a person steers one child; it hears it at its next turn and the item says so", async () => {
    const made = await crew([
      member("lead", [said(spawn([task("coder")])), done]),
      member("coder", [said(["look", {}]), said("Coded.")]),
    ]);
    made.bench.send("Go");
    await passTurns(made, 1);
    const [coder = ""] = childIds(made);
    expect(made.bench.perform("send", { content: "Hm", thread: coder, on_busy: "queue" }).ok).toBe(false);
    made.bench.send("Use tabs", { thread: coder, on_busy: "steer" });
    made.bench.release();
    await made.bench.idle();
    expect(chatOf(made, coder).map(textsOf)).toContain("Use tabs");
    expect(itemsOf(made)[0]).toMatchObject({ state: "completed", warning: "a person steered it" });
    const late = made.bench.perform("send", { content: "Hm", thread: coder, on_busy: "steer" });
    expect(late).toMatchObject({ ok: false, problem: { code: "run_not_active" } });
    const unknown = made.bench.perform("send", { content: "Hm", thread: "t_none", on_busy: "steer" });
    expect(unknown).toMatchObject({ ok: false, problem: { code: "not_found" } });
  });

  test("SE-25: a person who steers the caller is heard after its children, which go on", async () => {
    const made = await crew([
      member("lead", [said(delegate("coder")), said("Heard you.")]),
      member("coder", [said("Coded.")]),
    ]);
    made.bench.send("Go");
    await passTurns(made, 1);
    made.bench.send("Hurry", { on_busy: "steer" });
    made.bench.release();
    await made.bench.idle();
    expect(resultsOf(made)).toEqual(["ok: Coded."]);
    const last = made.bench.requests.at(-1)?.messages.at(-1);
    expect(last === undefined ? "" : textsOf(last)).toBe("[STEERING] Hurry");
  });

  test("AG-22 RE-3: when the caller's time is over its children are stopped first, then it fails", async () => {
    const made = await crew(
      [
        member(
          "lead",
          [said(delegate("coder")), done],
          "middleware: [{ kind: timeout, params: { duration: 60s, count: wall } }]",
        ),
        member("coder", [said(["look", {}]), done]),
      ],
      { instant: false },
    );
    made.bench.send("Go");
    await made.bench.steps();
    await made.bench.tick(60_000);
    await made.bench.pass(5_000);
    expect(endings(made)).toEqual(["coder cancelled:cancelled", "lead failed:deadline_exceeded"]);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("SE-31: after_turn lets the children's turns end, and nothing starts in any of them", async () => {
    const made = await crew(family);
    made.bench.send("Go");
    await passTurns(made, 2);
    made.bench.ok("cancel", { mode: "after_turn" });
    const before = made.bench.requests.length;
    made.bench.release();
    await made.bench.idle();
    expect(endings(made)).toEqual([
      "writer cancelled:cancelled",
      "coder cancelled:cancelled",
      "lead cancelled:cancelled",
    ]);
    expect(made.bench.requests).toHaveLength(before);
    expect(eventsAs(made, "llm_finish")).toHaveLength(3);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("SE-23 AG-18: what a child did not hear before it failed goes back, and starts nothing", async () => {
    const made = await crew([
      member("lead", [said(spawn([task("coder")], { on_error: "collect" })), done]),
      member("coder", ["{ fail: [{ status: 503 }, { status: 400 }], reply: [{ text: Never. }] }"]),
    ]);
    made.bench.send("Go");
    await made.bench.idle();
    const [coder = ""] = childIds(made);
    made.bench.send("Use tabs", { thread: coder, on_busy: "steer" });
    await made.bench.pass(60_000);
    expect(eventsAs(made, "input_returned").map(({ thread, data }) => `${thread} ${data.input}`)).toEqual([
      `${coder} in_2`,
    ]);
    expect(endings(made)).toEqual(["coder failed:provider_error", "lead completed:end_turn"]);
    checkInvariants(made.bench, ["in_1", "in_2"]);
  });

  test("AP-1: finished threads stay readable: their messages, and their place in the tree", async () => {
    const made = await mission(family);
    const [coder = "", writer = ""] = childIds(made);
    const { data } = made.bench.ok("threads") as unknown as { data: readonly object[] };
    expect(data).toMatchObject([
      { id: "main", parent: null, depth: 0, status: "idle" },
      { id: coder, agent: "coder", depth: 1, status: "ended", state: "completed", label: "coder-the-1" },
      { id: writer, agent: "writer", depth: 2, status: "ended", parent: { thread: coder } },
    ]);
    expect(chatOf(made, writer).length).toBeGreaterThan(2);
    expect(made.bench.perform("messages", { thread: "t_none" }).ok).toBe(false);
  });
});

describe("AG-21: slots", () => {
  test("AG-21 ★: 5 concurrent spawns of 5 tasks over two generations: all finish, never more than 2 work", async () => {
    const made = await crew(
      [
        member("lead", [said(spawn(Array.from({ length: 5 }, () => task("coder")))), done]),
        member("coder", [said(spawn(Array.from({ length: 5 }, () => task("writer")))), done]),
        member("writer", [said(["look", {}]), said("Written.")]),
      ],
      { team: "sessions: { max_running_threads: 2 }" },
    );
    made.bench.send("Go");
    await made.bench.idle();
    expect(childIds(made)).toHaveLength(30);
    expect(endings(made).filter((end) => end.endsWith("completed:end_turn"))).toHaveLength(31);
    let working = 0;
    let most = 0;
    for (const { type } of made.bench.events()) {
      if (type === "llm_request_start") working += 1;
      if (type === "llm_finish") working -= 1;
      most = Math.max(most, working);
    }
    expect(most).toBe(2);
    expect(made.bench.state().queue).toEqual([]);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-21: who waits for a slot gets it first come first, also after a restart", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const made = await crew(
      [
        member("lead", [said(spawn(names.map((name) => task("coder", { task: `Work ${name}` })))), done]),
        member("coder", [done]),
      ],
      { team: "sessions: { max_running_threads: 1 }" },
    );
    made.bench.send("Go");
    await passTurns(made, 2);
    made.bench.crash();
    made.bench.release();
    await made.bench.idle();
    const order = eventsAs(made, "turn_start")
      .map(({ thread }) => thread)
      .filter((thread) => thread !== "main");
    expect(order).toEqual(childIds(made));
  });

  test("AG-21: who wakes from a wait comes behind those that wait for a slot longer", async () => {
    const made = await crew(
      [
        member("lead", [said(spawn([task("coder"), task("writer"), task("tester")])), done]),
        member("coder", [said(["ask_user", { question: "Tabs?" }]), done]),
        member("writer", [done]),
        member("tester", [done]),
      ],
      { team: "sessions: { max_running_threads: 1 }" },
    );
    made.bench.send("Go");
    await passTurns(made, 2);
    const [ask = ""] = Object.keys(made.bench.state().asks);
    made.bench.ok("answer", { ask, decision: "answer", text: "Yes" });
    made.bench.release();
    await made.bench.idle();
    const order = eventsAs(made, "turn_start").map(({ agent }) => agent.name);
    expect(order).toEqual(["lead", "coder", "writer", "tester", "coder", "lead"]);
  });

  test("RE-3 AG-21: a retry whose wait is over wakes nobody until there is a slot for it", async () => {
    const made = await crew(
      [
        member("lead", [said(spawn([task("coder"), task("writer")])), done]),
        member("coder", ["{ fail: [{ status: 529 }], reply: [{ text: Late. }] }"]),
        member("writer", [said(["fire", {}]), done]),
      ],
      { team: "sessions: { max_running_threads: 1 }", instant: false },
    );
    const { bench, probe } = made;
    bench.send("Go");
    await bench.steps();
    await bench.tick(10_000);
    expect(bench.state().queue).toHaveLength(1);
    expect(bench.alarm()).toBeNull();
    probe.calls[0]?.finish();
    await bench.idle();
    expect(endings(made)).toHaveLength(3);
    checkInvariants(bench, []);
  });

  test("RE-3 AG-22: an overdue run that waits for its children to stop wakes when their time is over, not before", async () => {
    const timeout = "middleware: [{ kind: timeout, params: { duration: 30s, count: wall } }]";
    const made = await crew(
      [member("lead", [said(delegate("coder")), done], timeout), member("coder", [said(["fire", {}]), done])],
      { instant: false },
    );
    const { bench } = made;
    bench.send("Go");
    await bench.steps();
    await bench.tick(30_000);
    expect(bench.alarm()).toBe(bench.now() + 5_000);
    await bench.pass(5_000);
    expect(endings(made)).toEqual(["coder cancelled:cancelled", "lead failed:deadline_exceeded"]);
    checkInvariants(bench, []);
  });

  test("AG-1: max_concurrency bounds the runs of one agent; others do not wait for it", async () => {
    const made = await crew([
      member("lead", [said(spawn([task("coder"), task("coder"), task("writer")])), done]),
      member("coder", [done], "max_concurrency: 1"),
      member("writer", [done]),
    ]);
    made.bench.send("Go");
    await passTurns(made, 1);
    const working = Object.values(made.bench.state().threads).filter(
      ({ run }) => run?.phase.at === "thinking",
    );
    expect(working.map(({ agent }) => agent)).toEqual(["coder", "writer"]);
    made.bench.release();
    await made.bench.idle();
    expect(itemsOf(made).map(({ state }) => state)).toEqual(["completed", "completed", "completed"]);
  });
});

describe("AG-23 to AG-25: results", () => {
  test("AG-23: task_complete beside two calls: all have results, and no model call follows", async () => {
    const report = {
      status: "completed",
      summary: "Built it.",
      caveats: ["untested"],
      files_modified: ["a.ts"],
    };
    const made = await mission([
      member("lead", [said(spawn([task("coder")])), done]),
      member("coder", [
        said(["look", {}], ["task_complete", report], ["put", { name: "x" }]),
        said("Never."),
      ]),
    ]);
    const [coder = ""] = childIds(made);
    expect(resultsOf(made, coder)).toEqual(["ok: look() done", "ok: Reported.", "ok: put(x) done"]);
    expect(made.bench.requests.filter(({ context }) => context.thread === coder)).toHaveLength(1);
    expect(itemsOf(made)[0]).toMatchObject({
      state: "completed",
      result: "Built it.\n\nCaveats:\n- untested",
      completion: report,
      files_modified: ["a.ts (claimed)"],
    });
    expect(eventsAs(made, "agent_end")[0]?.data).toMatchObject({ summary: "Built it." });
  });

  test("AG-23: a blank summary or another status is an error result, and the run goes on", async () => {
    const made = await mission([
      member("lead", [said(delegate("coder")), done]),
      member("coder", [
        said(["task_complete", { status: "completed", summary: " " }]),
        said(["task_complete", { status: "great", summary: "Yes" }]),
        said("I am done."),
      ]),
    ]);
    const [coder = ""] = childIds(made);
    const [blank = "", other = ""] = resultsOf(made, coder);
    expect(blank).toMatch(/^error: invalid_arguments: summary: summary is blank/);
    expect(other).toMatch(/^error: invalid_arguments: status:/);
    expect(resultsOf(made)).toEqual(["ok: I am done."]);
  });

  test("AG-23: the first report holds, later ones are acknowledged; a steer brings another turn and another report", async () => {
    const report = (summary: string) => ["task_complete", { status: "completed", summary }] as const;
    const made = await crew([
      member("lead", [said(delegate("coder")), done]),
      member("coder", [said(report("First."), report("Second.")), said(report("Third."))]),
    ]);
    made.bench.send("Go");
    await passTurns(made, 1);
    const [coder = ""] = childIds(made);
    made.bench.send("And this", { thread: coder, on_busy: "steer" });
    made.bench.release();
    await made.bench.idle();
    expect(resultsOf(made, coder).slice(0, 2)).toEqual([
      "skipped: skipped: Not started: a new message arrived first.",
      "skipped: skipped: Not started: a new message arrived first.",
    ]);
    expect(resultsOf(made)).toEqual(["ok: Third."]);
    const twice = await mission([
      member("lead", [said(delegate("coder")), done]),
      member("coder", [said(report("First."), report("Second."))]),
    ]);
    expect(resultsOf(twice, childIds(twice)[0])).toEqual([
      "ok: Reported.",
      "ok: You have already reported; the first report stands.",
    ]);
    expect(resultsOf(twice)).toEqual(["ok: First."]);
  });

  test("AG-11 AG-23: a report of failure is a judgement: the run completed, and cancels nobody", async () => {
    const made = await mission([
      member("lead", [said(spawn([task("coder"), task("writer")])), done]),
      member("coder", [said(["task_complete", { status: "failed", summary: "Cannot." }])]),
      member("writer", [said(["look", {}]), said("Written.")]),
    ]);
    expect(itemsOf(made)).toMatchObject([
      { state: "completed", completion: { status: "failed" } },
      { state: "completed", result: "Written." },
    ]);
  });

  test("★ AG-23: a single caller is told that its agent reports a failure", async () => {
    const made = await mission([
      member("lead", [said(delegate("coder")), done]),
      member("coder", [said(["task_complete", { status: "failed", summary: "The deploy of the harbour." }])]),
    ]);
    expect(resultsOf(made)).toEqual(["ok: [the agent reports that it failed] The deploy of the harbour."]);
  });

  test("AG-23: main has no task_complete; its call is refused", async () => {
    const made = await mission([
      member("lead", [said(["task_complete", { status: "completed", summary: "x" }]), done]),
      member("coder", [done]),
    ]);
    expect(resultsOf(made)).toEqual(["denied: not_permitted: lead may not use task_complete"]);
  });

  const limited: readonly (readonly [string, string])[] = [
    ["max_iterations", "options: { max_iterations: 2 }"],
    ["budget_exceeded", "guards: { tool_loops: false, budget: { max_tool_calls: 2 } }"],
    ["deadline_exceeded", "middleware: [{ kind: timeout, params: { duration: 60s, count: wall } }]"],
  ];
  for (const [reason, yaml] of limited) {
    test(`AG-25 ★: ${reason} gives a completion by the runtime, and siblings are untouched`, async () => {
      const looking = Array.from({ length: 6 }, (_, turn) =>
        said(`Turn ${turn}.`, ["look", { name: String(turn) }]),
      );
      const stuck: Member = { name: "coder", script: replies(...looking), yaml };
      const made = await crew(
        [
          member("lead", [said(spawn([task("coder"), task("writer")], { on_error: "collect" })), done]),
          stuck,
          member("writer", [said("Written.")]),
        ],
        { instant: reason !== "deadline_exceeded" },
      );
      made.bench.send("Go");
      await made.bench.steps();
      if (reason === "deadline_exceeded") {
        await made.bench.steps();
        await made.bench.pass(60_000);
        await made.bench.pass(5_000);
      } else await made.bench.idle();
      const [stuckItem, other] = itemsOf(made);
      expect(stuckItem).toMatchObject({ agent: "coder", state: "failed", reason });
      expect(stuckItem?.completion).toMatchObject({ status: "failed" });
      expect(stuckItem?.completion?.summary).toMatch(/^Turn \d\.$/);
      expect(stuckItem?.completion?.caveats?.[0]).toBe(stuckItem?.error);
      expect(other).toMatchObject({ state: "completed", result: "Written." });
      checkInvariants(made.bench, ["in_1"]);
    });
  }

  test("AG-24 SE-44: files that a child changed are told, claims marked so, and count as the caller's, too", async () => {
    const edit = defineTool({
      name: "edit",
      description: "Changes a file.",
      params: z.strictObject({ path: z.string().describe("Path.") }),
      run: ({ path }) => ({ content: "Changed.", changes: [{ path, op: "modify" }] }),
    });
    const report = { status: "completed", summary: "Changed.", files_modified: ["src/b.ts", "src/z.ts"] };
    const made = await mission(
      [
        member("lead", [said(["edit", { path: "src/a.ts" }]), said(spawn([task("coder")])), done]),
        member("coder", [
          said(["edit", { path: "src/b.ts" }], ["edit", { path: "src/a.ts" }]),
          said(["task_complete", report]),
        ]),
      ],
      { tools: [edit] },
    );
    expect(itemsOf(made)[0]?.files_modified).toEqual(["src/a.ts", "src/b.ts", "src/z.ts (claimed)"]);
    expect(eventsAs(made, "run_end").at(-1)?.data.result.files_modified).toEqual(["src/a.ts", "src/b.ts"]);
  });
});

test("SE-11: threads stand in the order of their creation, before a reload and after it", async () => {
  const made = await crew([
    {
      name: "lead",
      script: replies(said(spawn(Array.from({ length: 8 }, () => task("coder")))), said("Done.")),
    },
    { name: "coder", script: replies(said("Coded.")) },
  ]);
  made.bench.hold = true;
  made.bench.send("Go");
  await made.bench.steps();
  made.bench.release();
  made.bench.hold = true;
  await made.bench.steps();
  const order = (): readonly string[] => Object.keys(made.bench.state().threads);
  const before = order();
  expect(before).toEqual(["main", ...childIds(made)]);
  expect(before).toHaveLength(9);
  made.bench.crash();
  expect(order()).toEqual(before);
});
