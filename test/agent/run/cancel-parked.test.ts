import { expect, test } from "vitest";
import * as z from "zod";
import type { Tool } from "../../../src/tools/define-tool.ts";
import { defineTool, parkCallOn } from "../../../src/tools/define-tool.ts";
import type { Crew, Member } from "../../support/crew.ts";
import {
  chatOf,
  childIds,
  coder,
  crew,
  crewOf,
  delegate,
  endings,
  eventsAs,
  itemsOf,
  lead,
  member,
  passTurns,
  resultsOf,
  spawn,
  task,
  toRest,
  writer,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { settle } from "../../support/power-cut.ts";
import { done, look, said, scripted } from "../../support/scripts.ts";
import type { Play } from "../loop/play.ts";
import { ends, openAsks, play, refused, results } from "../loop/play.ts";

/** A tool that looks every five seconds whether its work is over, which takes twenty. */
const poll = (on: "exec" | "time"): Tool =>
  defineTool({
    name: `poll_${on}`,
    description: "Waits.",
    params: z.strictObject({}),
    safety: "read",
    workspace: "none",
    run: (_, { memo, now }) => {
      const end = (memo.get() as number | null) ?? now() + 20_000;
      memo.set(end);
      return now() < end ? parkCallOn({ on, until: now() + 5_000 }) : { content: `${on} is over` };
    },
  });

const tools = [poll("exec"), poll("time")];

const watch = "{ call: shared_tasks_create, args: { title: T } }";

const script = (...calls: string[]): string =>
  `replies: [{ reply: [${calls.join(", ")}] }, { reply: [{ text: Done. }] }, { reply: [{ text: Done. }] }]`;

const begun = async (replies: string, agent = ""): Promise<Play> => {
  const yaml = scripted(replies, agent).replace("toolboxes: [probe]", "toolboxes: [probe, tasks]");
  const played = await play("", { yaml, tools, instant: false });
  played.bench.send("Go");
  await played.bench.steps();
  return played;
};

const cancelledNow = "cancelled: cancelled: It was running; it may have taken effect.";

test.each(["exec", "time"])(
  "SE-31: after_turn lets a call go on that is parked until its work (%s) is over; nothing else starts",
  async (on) => {
    const { bench, probe } = await begun(
      script(`{ call: poll_${on} }`, "{ call: fire, args: { name: a } }", "{ call: put, args: { name: b } }"),
    );
    expect(probe.names()).toEqual(["fire(a)"]);
    bench.ok("cancel", { mode: "after_turn" });
    probe.calls[0]?.finish();
    await bench.steps();
    expect(ends(bench)).toEqual([]);
    for (let second = 0; second < 20; second += 5) {
      expect(ends(bench)).toEqual([]);
      await bench.pass(5_000);
    }
    expect(results(bench)).toEqual([
      `ok: ${on} is over`,
      "ok: fire(a) done",
      "cancelled: cancelled: It did not run.",
    ]);
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(bench.requests).toHaveLength(1);
    expect(bench.alarm()).toBeNull();
  },
);

test("SE-31 SE-33: so it does over a crash, before and after the cancel, with its original deadline", async () => {
  const { bench } = await begun(script("{ call: poll_exec }"));
  bench.crash();
  bench.ok("cancel", { mode: "after_turn" });
  bench.crash();
  await bench.pass(10_000);
  bench.crash();
  expect(ends(bench)).toEqual([]);
  await bench.pass(10_000);
  expect(results(bench)).toEqual(["ok: exec is over"]);
  expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  expect(bench.requests).toHaveLength(1);
});

test("SE-31 SE-33: a crash after after_turn cuts off what ran, and not what was parked", async () => {
  const { bench, probe } = await begun(script("{ call: fire, args: { name: a } }", "{ call: poll_exec }"));
  bench.ok("cancel", { mode: "after_turn" });
  bench.crash();
  await bench.pass(20_000);
  expect(probe.names()).toEqual(["fire(a)"]);
  expect(results(bench)).toEqual([cancelledNow, "ok: exec is over"]);
  expect(ends(bench)).toEqual(["cancelled:cancelled"]);
});

test("SE-31: a call that is running when the cancel comes may park afterwards", async () => {
  const given = Promise.withResolvers<null>();
  const slow = defineTool({
    name: "slow",
    description: "Waits.",
    params: z.strictObject({}),
    run: async (_, { attempt, now }) => {
      if (attempt === 1) await given.promise;
      return attempt === 1 ? parkCallOn({ on: "exec", until: now() + 5_000 }) : { content: "over" };
    },
  });
  const { bench } = await play(script("{ call: slow }"), { tools: [slow] });
  bench.send("Go");
  await bench.steps();
  bench.ok("cancel", { mode: "after_turn" });
  given.resolve(null);
  await bench.idle();
  expect(ends(bench)).toEqual([]);
  await bench.pass(5_000);
  expect(results(bench)).toEqual(["ok: over"]);
  expect(ends(bench)).toEqual(["cancelled:cancelled"]);
});

test("SE-31 AG-46: a watch of a task goes on after after_turn, to its own time-out", async () => {
  const replies = `replies: [{ reply: [${watch}] }, { reply: [{ call: shared_tasks_claim, args: { id: task_1 } }, { call: shared_tasks_watch, args: { id: task_1, timeout_seconds: 60 } }] }, { reply: [{ text: Done. }] }]`;
  const { bench } = await begun(replies);
  bench.ok("cancel", { mode: "after_turn" });
  await bench.idle();
  expect(ends(bench)).toEqual([]);
  await bench.pass(60_000);
  expect(results(bench).at(-1)).toMatch(/^error: timeout: task_1 is still in_progress/);
  expect(ends(bench)).toEqual(["cancelled:cancelled"]);
});

test("SE-31: now ends parked calls at once, also after after_turn", async () => {
  for (const first of ["now", "after_turn"]) {
    const { bench } = await begun(script("{ call: poll_exec }"));
    bench.ok("cancel", { mode: first });
    if (first === "after_turn") bench.ok("cancel", { mode: "now" });
    await bench.idle();
    expect(results(bench)).toEqual([cancelledNow]);
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    await bench.pass(60_000);
    expect(bench.alarm()).toBeNull();
  }
});

test("SE-31: what waits for a person is cancelled by after_turn, and takes no answer", async () => {
  for (const [call, agent] of [
    ["{ call: ask_user, args: { question: q } }", ""],
    ["{ call: fire }", "permissions: { preset: open, rules: [{ tool: fire, action: ask }] }"],
  ] as const) {
    const yaml = (text: string): string =>
      agent === "" ? text : text.replace("    permissions: { preset: open }\n", "");
    const { bench } = await play("", {
      yaml: yaml(scripted(script(call, "{ call: poll_time }"), agent)),
      tools,
    });
    bench.send("Go");
    await bench.steps();
    const [ask] = openAsks(bench);
    bench.ok("cancel", { mode: "after_turn" });
    expect(refused(bench, "answer", { ask, decision: "deny" })).toBe("ask_already_resolved");
    await bench.pass(20_000);
    expect(results(bench)).toEqual(["cancelled: cancelled: It did not run.", "ok: time is over"]);
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  }
});

test("SE-31: the run's own deadline holds for a call that goes on after after_turn", async () => {
  const { bench } = await begun(
    script("{ call: poll_exec }"),
    "middleware: [{ kind: timeout, params: { duration: 8s, count: wall } }]",
  );
  bench.ok("cancel", { mode: "after_turn" });
  await bench.pass(8_000);
  expect(ends(bench)).toEqual(["failed:deadline_exceeded"]);
  expect(results(bench)).toEqual([cancelledNow]);
});

test("SE-31 AG-18: a called agent's parked call goes on after after_turn, and its caller waits for it", async () => {
  const open = await crewOf(
    [
      member("lead", [said(delegate("coder")), said("Done.")]),
      member("coder", [said(["poll_exec", {}]), said("Coded.")]),
    ],
    { tools },
  );
  const { bench } = open();
  bench.send("Go");
  await bench.steps();
  bench.ok("cancel", { mode: "after_turn" });
  await bench.pass(15_000);
  bench.crash();
  expect(ends(bench)).toEqual([]);
  await bench.pass(5_000);
  expect(ends(bench)).toEqual(["cancelled:cancelled", "cancelled:cancelled"]);
  expect(bench.requests).toHaveLength(2);
  const outputs = bench.events().filter(({ type }) => type === "tool_call_end");
  expect(outputs[0]?.data).toMatchObject({ tool: "poll_exec", outcome: "ok" });
});

/** A team that is stopped gracefully after a number of turns, while its last model calls are under way. */
const stoppedAfter = async (turns: number, members: readonly Member[]): Promise<Crew> => {
  const made = await crew(members);
  made.bench.send("Go");
  await passTurns(made, turns);
  made.bench.ok("cancel", { mode: "after_turn" });
  made.bench.release();
  await settle(made.bench);
  checkInvariants(made.bench, ["in_1"]);
  return made;
};

test("SE-31 AG-18: a called agent that completes its task after after_turn is not reported as cut off", async () => {
  const made = await stoppedAfter(1, [lead([said(delegate("coder")), done]), coder([said("Coded.")])]);
  expect(endings(made)).toEqual(["coder completed:end_turn", "lead cancelled:cancelled"]);
  expect(resultsOf(made)).toEqual(["ok: Coded."]);
});

const report = ["task_complete", { status: "completed", summary: "All of it." }] as const;

test("SE-31 AG-23: a report in the model call that after_turn lets finish is taken, and reaches the caller", async () => {
  const made = await stoppedAfter(1, [lead([said(delegate("coder")), done]), coder([said(report)])]);
  expect(endings(made)).toEqual(["coder completed:terminal_tool", "lead cancelled:cancelled"]);
  expect(resultsOf(made)).toEqual(["ok: All of it."]);
  expect(made.bench.requests).toHaveLength(2);
});

test("SE-31 AG-23: after_turn takes no report beside a call that it keeps from starting", async () => {
  const made = await stoppedAfter(1, [
    lead([said(delegate("coder")), done]),
    coder([said(["put", { name: "a" }], report)]),
  ]);
  expect(endings(made)).toEqual(["coder cancelled:cancelled", "lead cancelled:cancelled"]);
  const [id = ""] = childIds(made);
  expect(resultsOf(made, id)).toEqual([
    "cancelled: cancelled: It did not run.",
    "cancelled: cancelled: It did not run.",
  ]);
});

test.each([
  ["was made", "look"],
  ["waits for it", "put"],
])("SE-31 AG-23: a report that %s while a call runs counts after after_turn", async (_, tool) => {
  const made = await crew([lead([said(delegate("coder")), done]), coder([said([tool, {}], report)])], {
    instant: false,
  });
  made.bench.send("Go");
  await made.bench.steps();
  made.bench.ok("cancel", { mode: "after_turn" });
  await made.bench.steps();
  expect(endings(made)).toEqual([]);
  await toRest(made);
  checkInvariants(made.bench, ["in_1"]);
  expect(endings(made)).toEqual(["coder completed:terminal_tool", "lead cancelled:cancelled"]);
  expect(resultsOf(made)).toEqual(["ok: All of it."]);
});

test("SE-31 AG-23: a call that is cut off, by a crash or by now, leaves the report beside it untaken", async () => {
  for (const how of ["crash", "now"]) {
    const made = await crew([lead([said(delegate("coder")), done]), coder([said(["fire", {}], report)])], {
      instant: false,
    });
    made.bench.send("Go");
    await made.bench.steps();
    made.bench.ok("cancel", { mode: "after_turn" });
    if (how === "crash") made.bench.crash();
    else made.bench.ok("cancel", {});
    await made.bench.pass(5_000);
    await toRest(made);
    expect(endings(made)).toEqual(["coder cancelled:cancelled", "lead cancelled:cancelled"]);
  }
});

test("SE-31 AG-26: after_turn starts no peer for a hand-over that was asked for", async () => {
  const over = ["handoff", { agent: "writer", reason: "r", context: "c" }] as const;
  const made = await crew(
    [
      lead([said(delegate("coder")), done]),
      coder([said(["look", {}], over)], "options: { max_handoffs: 2 }"),
      writer([done]),
    ],
    { instant: false },
  );
  made.bench.send("Go");
  await made.bench.steps();
  made.bench.ok("cancel", { mode: "after_turn" });
  await toRest(made);
  expect(endings(made)).toEqual(["coder cancelled:cancelled", "lead cancelled:cancelled"]);
});

test("SE-31 AG-30: a called agent that has answered before after_turn has completed, though its own agent works", async () => {
  const made = await stoppedAfter(3, [
    lead([said(delegate("coder")), done]),
    coder([said(delegate("writer", { async: true })), said("Coded.")], "delegation: { async: true }"),
    writer([look, look, look, done]),
  ]);
  expect(endings(made)).toEqual([
    "writer cancelled:cancelled",
    "coder completed:end_turn",
    "lead cancelled:cancelled",
  ]);
  expect(resultsOf(made)).toEqual(["ok: Coded."]);
});

test("SE-31 AG-30: so has one that answers in the model call that after_turn lets finish", async () => {
  const made = await stoppedAfter(2, [
    lead([said(delegate("coder")), done]),
    coder([said(delegate("writer", { async: true })), said("Coded.")], "delegation: { async: true }"),
    writer([look, look, done]),
  ]);
  expect(endings(made)).toEqual([
    "writer cancelled:cancelled",
    "coder completed:end_turn",
    "lead cancelled:cancelled",
  ]);
  expect(resultsOf(made)).toEqual(["ok: Coded."]);
});

test("SE-31 AG-10: of several agents, after_turn keeps the results of those that complete their tasks", async () => {
  const made = await stoppedAfter(1, [
    lead([said(spawn([task("coder"), task("writer")], { on_error: "collect" })), done]),
    coder([said("Coded.")]),
    writer([look, done]),
  ]);
  expect(itemsOf(made)).toMatchObject([
    { agent: "coder", state: "completed", result: "Coded." },
    { agent: "writer", state: "cancelled", error: "its caller was cancelled" },
  ]);
});

test("SE-31 AG-36: after_turn keeps the report of a graph of which a task succeeds", async () => {
  const tasks = [
    { id: "a", agent: "coder", message: "Code", blocking: true },
    { id: "b", agent: "coder", message: "Test", blocking: true, depends_on: ["a"] },
  ];
  const made = await stoppedAfter(1, [
    lead([said(["dispatch_tasks", { tasks }]), done]),
    coder([said("Coded.")]),
  ]);
  const [report = ""] = resultsOf(made);
  expect(report).toContain("2 tasks: 1 success, 1 cancelled");
  expect(report).toContain("Coded.");
});

test.each([
  ["before its caller's run ends", said(delegate("coder", { async: true })), "probe"],
  ["after it", said(delegate("coder", { async: true }), ["ask_user", { question: "Go on?" }]), "ask"],
])(
  "SE-31 AG-30: a background agent that completes its task %s is told once, and starts nothing",
  async (when, first, toolbox) => {
    const yaml = `delegation: { async: true }\ntoolboxes: [${toolbox}]`;
    const made = await stoppedAfter(1, [lead([first, look, done], yaml), coder([said("Coded.")])]);
    const ended = ["coder completed:end_turn", "lead cancelled:cancelled"];
    expect(endings(made)).toEqual(when === "after it" ? ended.toReversed() : ended);
    const told = chatOf(made, "main").filter(({ parts }) => JSON.stringify(parts).includes("Coded."));
    expect(told.map(({ role, origin }) => `${role} ${origin}`)).toEqual(["assistant agent"]);
    expect(made.bench.requests).toHaveLength(when === "after it" ? 2 : 3);
  },
);

test("SE-31 AG-30: what a stopped background agent completes does not steer its caller's next run", async () => {
  const ask = said(delegate("coder", { async: true }), ["ask_user", { question: "Go on?" }]);
  const made = await crew([
    lead([ask, done, done], "delegation: { async: true }\ntoolboxes: [ask]"),
    coder([said("Coded.")]),
  ]);
  made.bench.send("Go");
  await passTurns(made, 1);
  made.bench.ok("cancel", { mode: "after_turn" });
  await made.bench.steps();
  made.bench.send("Next", { on_busy: "queue" });
  await made.bench.steps();
  made.bench.release();
  await settle(made.bench);
  expect(endings(made).toSorted()).toEqual([
    "coder completed:end_turn",
    "lead cancelled:cancelled",
    "lead completed:end_turn",
  ]);
  expect(made.bench.requests).toHaveLength(3);
  expect(JSON.stringify(chatOf(made, "main")).split("Coded.")).toHaveLength(2);
});

test("SE-31 AG-30: a called agent whose own background agent completes its task finds the result in its chat", async () => {
  const made = await stoppedAfter(2, [
    lead([said(delegate("coder")), done]),
    coder([said(delegate("writer", { async: true })), look, done], "delegation: { async: true }"),
    writer([said("Written.")]),
  ]);
  expect(endings(made)).toContain("writer completed:end_turn");
  const [id = ""] = childIds(made);
  expect(
    chatOf(made, id)
      .map(({ role, origin }) => `${role} ${origin}`)
      .at(-1),
  ).toBe("assistant agent");
  expect(made.bench.types()).not.toContain("input_returned");
});

test("SE-31 AG-36: after_turn leaves the report of a background graph of which a task succeeds, and starts nothing", async () => {
  const tasks = ["a", "b"].map((id) => ({ id, agent: "coder", message: "Code", blocking: true }));
  const made = await stoppedAfter(1, [
    lead([said(["dispatch_tasks", { tasks, async: true }]), done, done], "delegation: { async: true }"),
    coder([said("Coded.")]),
  ]);
  const [report = "", ...more] = chatOf(made, "main")
    .filter(({ role, origin }) => role === "assistant" && origin === "agent")
    .map(({ parts }) => JSON.stringify(parts))
    .filter((text) => text.includes("Coded."));
  expect(report).toContain("2 tasks: 2 success");
  expect(more).toEqual([]);
  expect(eventsAs(made, "run_start").filter(({ thread }) => thread === "main")).toHaveLength(1);
});
