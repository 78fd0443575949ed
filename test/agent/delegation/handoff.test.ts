import { expect, test } from "vitest";
import type { ToolOutput } from "../../../src/tools/define-tool.ts";
import type { Member } from "../../support/crew.ts";
import {
  chatOf,
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
import { done, replies, said } from "../../support/scripts.ts";
import { textsOf } from "../loop/play.ts";

const member = (name: string, each: readonly string[], yaml = "options: { max_handoffs: 2 }"): Member => ({
  name,
  script: replies(...each),
  yaml,
});

const hand = (agent: string, more: object = {}) =>
  ["handoff", { agent, reason: "It fits better", context: "I read the plan", ...more }] as const;

test("AG-26: the child ends and a peer takes over at its depth, with hand-over, context and task", async () => {
  const made = await mission([
    member("lead", [said(spawn([task("coder", { task: "Write it", context: "Use tabs" })])), done]),
    member("coder", [said(hand("writer")), said("Never.")]),
    member("writer", [said("Written.")]),
  ]);
  const [coder = "", writer = ""] = childIds(made);
  expect(eventsAs(made, "agent_start").map(({ agent, data }) => `${agent.name} ${data.depth}`)).toEqual([
    "lead 0",
    "coder 1",
    "writer 1",
  ]);
  const [coderEnd, writerEnd] = eventsAs(made, "agent_end");
  expect(coderEnd?.data.parent).toEqual(writerEnd?.data.parent);
  expect(chatOf(made, writer).map(textsOf).slice(0, 3)).toEqual([
    "<handoff_context>\ncoder worked on this task before you and handed it over: It fits better\n\nI read the plan\n</handoff_context>",
    "<delegation_context>\nUse tabs\n</delegation_context>",
    "Write it",
  ]);
  expect(itemsOf(made)).toMatchObject([
    { agent: "writer", child: writer, state: "completed", result: "Written.", handoffs: 1 },
  ]);
  expect(resultsOf(made, coder)).toEqual(["ok: writer takes over."]);
  expect(endings(made)).toEqual([
    "coder completed:terminal_tool",
    "writer completed:end_turn",
    "lead completed:end_turn",
  ]);
  checkInvariants(made.bench, ["in_1"]);
});

test("AG-26: it beats task_complete in one batch, whichever comes first", async () => {
  const report = ["task_complete", { status: "completed", summary: "Mine." }] as const;
  for (const batch of [said(hand("writer"), report), said(report, hand("writer"))]) {
    const made = await mission([
      member("lead", [said(delegate("coder")), done]),
      member("coder", [batch]),
      member("writer", [said("Written.")]),
    ]);
    expect(resultsOf(made)).toEqual(["ok: Written."]);
  }
});

test("AG-26 AG-37 AG-39: a report that a handoff beats is told to nobody, and leaves no lesson", async () => {
  const report = ["task_complete", { status: "failed", summary: "SECRET no paint" }] as const;
  const yaml = `options: { max_handoffs: 1 }
middleware: [{ kind: output_guardrail, params: { must_not_contain: [SECRET] } }]`;
  for (const batch of [said(hand("writer"), report), said(report, hand("writer"))]) {
    const made = await mission(
      [
        member("lead", [said(delegate("coder")), done]),
        member("coder", [batch], yaml),
        member("writer", [said("Written.")]),
      ],
      { team: "reflections: { scope: session }" },
    );
    expect(resultsOf(made)).toEqual(["ok: Written."]);
    expect(eventsAs(made, "agent_end").map(({ data }) => data.summary)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(made.bench.rows("entries").filter(({ store }) => store === "reflections")).toEqual([]);
  }
});

test("AG-26: self, unknown, forbidden and empty fields are error results, and the run goes on", async () => {
  const made = await mission([
    member("lead", [said(delegate("coder")), done]),
    member(
      "coder",
      [
        said(hand("CODER")),
        said(hand("writr")),
        said(hand("lead")),
        said(hand("writer", { reason: " " })),
        said(hand("writer", { context: "" })),
        said("I did it myself."),
      ],
      "options: { max_handoffs: 2 }\ndelegation: { may_call: [writer] }",
    ),
    member("writer", [done]),
  ]);
  const [coder = ""] = childIds(made);
  expect(resultsOf(made, coder).map((text) => text.slice(0, 45))).toEqual([
    "error: self_delegation: an agent cannot call ",
    'error: unknown_agent: there is no agent "writ',
    "error: not_callable: coder may not call lead;",
    "error: invalid_arguments: reason: reason is b",
    "error: invalid_arguments: context: context is",
  ]);
  expect(resultsOf(made)).toEqual(["ok: I did it myself."]);
});

test("AG-26: a chain longer than the caller's max_handoffs is refused; 0 there means 3", async () => {
  for (const [limit, most] of [
    [1, 1],
    [0, 3],
  ] as const) {
    const made = await mission([
      member("lead", [said(spawn([task("coder")])), done], `options: { max_handoffs: ${limit} }`),
      member("coder", [said(hand("writer")), said("Coded.")], "options: { max_handoffs: 9 }"),
      member("writer", [said(hand("coder")), said("Written.")], "options: { max_handoffs: 9 }"),
    ]);
    expect(itemsOf(made)[0]).toMatchObject({ state: "completed", handoffs: most });
    const last = childIds(made).at(-1) ?? "";
    expect(resultsOf(made, last)[0]).toBe(
      `error: limit: the task was handed over ${most} times, ${most} are allowed; finish it`,
    );
  }
});

test("AG-26: without max_handoffs, and in main, there is no handoff", async () => {
  const made = await mission([
    member("lead", [said(hand("coder")), said(delegate("coder")), done]),
    member("coder", [said(hand("writer")), done], ""),
    member("writer", [done]),
  ]);
  expect(resultsOf(made)[0]).toBe("denied: not_permitted: lead may not use handoff");
  expect(resultsOf(made, childIds(made)[0])).toEqual(["denied: not_permitted: coder may not use handoff"]);
});

test("AG-26 TB-7: rules judge the agent that takes over", async () => {
  const made = await mission([
    member("lead", [said(delegate("coder")), done]),
    member(
      "coder",
      [said(hand("Writer")), done],
      "options: { max_handoffs: 2 }\npermissions: { preset: open, rules: [{ tool: handoff, match: writer, action: deny }] }",
    ),
    member("writer", [done]),
  ]);
  expect(resultsOf(made, childIds(made)[0])[0]).toMatch(/^denied: denied: a rule forbids this call/);
});

test("AG-26 AG-28: the peer asks after a handoff: the answer reaches it, the new context is in its chat", async () => {
  const made = await mission([
    member(
      "lead",
      [said(spawn([task("coder")])), said(["check_children", {}]), done],
      "options: { interaction_mode: interactive, max_handoffs: 2 }",
    ),
    member("coder", [said(hand("writer"))]),
    member("writer", [said(["request_input", { question: "Tabs?" }]), said("Written.")]),
  ]);
  const [, writer = ""] = childIds(made);
  expect(chatOf(made, writer).map(textsOf)[0]).toContain("I read the plan");
  expect(eventsAs(made, "tool_call_end")[1]?.data.details).toMatchObject({
    items: [{ agent: "writer", child: writer, state: "waiting", question: { text: "Tabs?" } }],
  });
});

test("AG-22 AG-26: the task's time goes on with the peer, also after a crash and a second handoff", async () => {
  const { bench, probe } = await crew(
    [
      member("lead", [said(delegate("coder", { timeout_seconds: 60 })), done]),
      member("coder", [said(["look", {}]), said(hand("writer"))]),
      member("writer", [said(["look", {}]), said(hand("tester"))]),
      member("tester", [said(["look", {}]), done]),
    ],
    { instant: false },
  );
  bench.send("Go");
  await bench.steps();
  for (const part of [0, 1]) {
    await bench.tick(25_000);
    probe.calls[part]?.finish();
    await bench.steps();
  }
  expect(endings({ bench })).toEqual(["coder completed:terminal_tool", "writer completed:terminal_tool"]);
  bench.crash();
  await bench.tick(9_999);
  expect(endings({ bench })).toHaveLength(2);
  await bench.tick(1);
  expect(endings({ bench })[2]).toBe("tester failed:deadline_exceeded");
  await bench.idle();
  expect(resultsOf({ bench })[0]).toMatch(/^error: failed: .* ended with deadline_exceeded/);
});

test("AG-10 AG-24 AG-26: after a handoff the item has the files and the usage of everyone who worked on the task", async () => {
  const wrote = (path: string, op: "create" | "modify"): ToolOutput => ({
    content: "ok",
    changes: [{ path, op }],
  });
  const { bench, probe } = await crew(
    [
      member("lead", [said(spawn([task("coder")])), done]),
      member("coder", [
        said(["put", {}]),
        said(hand("writer"), ["task_complete", { status: "completed", summary: "x", files_modified: ["c"] }]),
      ]),
      member("writer", [said(["put", {}]), said(hand("tester"))]),
      member("tester", [
        said(["task_complete", { status: "completed", summary: "Tested.", files_modified: ["a", "d"] }]),
      ]),
    ],
    { instant: false },
  );
  bench.send("Go");
  await bench.steps();
  probe.calls[0]?.finish(wrote("a", "create"));
  await bench.steps();
  bench.crash();
  await bench.steps();
  probe.calls.at(-1)?.finish(wrote("b", "modify"));
  await bench.idle();
  const [item] = itemsOf({ bench });
  expect(item).toMatchObject({ agent: "tester", handoffs: 2, files_modified: ["a", "b", "d (claimed)"] });
  const own = eventsAs({ bench }, "agent_end").slice(0, 3);
  expect(item?.usage?.total).toBe(own.reduce((sum, { data }) => sum + data.usage.total, 0));
  expect(own[0]?.data.usage.total).toBeGreaterThan(0);
});

test("AG-13 AG-26: a persistent thread stays after it handed its task over, and finds its conversation again", async () => {
  const again = (words: string) => delegate("coder", { persistent: true, task: words });
  const made = await mission([
    member("lead", [said(again("First")), said(again("Second")), said(again("Third")), done]),
    member("coder", [said("One."), said(hand("writer")), said("Three.")]),
    member("writer", [said("Written.")]),
  ]);
  expect(resultsOf(made)).toEqual(["ok: One.", "ok: Written.", "ok: Three."]);
  const [coder = "", writer = "", ...others] = childIds(made);
  expect(others).toEqual([]);
  const chat = chatOf(made, coder).map(textsOf);
  expect([chat[0], chat.at(-2), chat.at(-1)]).toEqual(["First", "Third", "Three."]);
  made.bench.crash();
  expect(made.bench.state().threads[coder]?.child).toMatchObject({ idle: true, handover: null });
  expect(made.bench.state().threads[writer]).toBeUndefined();
  checkInvariants(made.bench, ["in_1"]);
});

test("AG-13 AG-15 AG-26: a persistent agent may hand over in every task; each peer is a thread of its own", async () => {
  const again = (words: string) => delegate("coder", { persistent: true, task: words });
  const { bench } = await crew([
    member("lead", [said(again("First")), done, said(again("Second")), done]),
    member("coder", [said(hand("writer")), said(hand("writer"))]),
    member("writer", [said("Written.")]),
  ]);
  for (const words of ["Go", "Again"]) {
    bench.send(words);
    await bench.idle();
  }
  expect(resultsOf({ bench })).toEqual(["ok: Written.", "ok: Written."]);
  expect(childIds({ bench })).toHaveLength(3);
  checkInvariants(bench, ["in_1", "in_2"]);
});

test("AG-26 (decision): whom a task may be handed to is what the agent that hands it over may call, by its own rules; those of its caller are not asked", async () => {
  const handing = (lead: string, coder: string) =>
    mission([
      member("lead", [said(delegate("coder")), done], lead),
      member("coder", [said(hand("writer")), said("Mine.")], `options: { max_handoffs: 2 }\n${coder}`),
      member("writer", [said("Written.")]),
    ]);
  const calls = (names: string): string => `delegation: { may_call: [${names}] }`;
  const deny = (tool: string): string =>
    `permissions: { preset: open, rules: [{ tool: ${tool}, match: writer, action: deny }] }`;
  expect(resultsOf(await handing(calls("coder"), calls("writer")))).toEqual(["ok: Written."]);
  expect(resultsOf(await handing(deny("'*'"), ""))).toEqual(["ok: Written."]);
  const narrow = await handing(calls("'*'"), calls("lead"));
  expect(resultsOf(narrow)).toEqual(["ok: Mine."]);
  expect(resultsOf(narrow, childIds(narrow)[0])[0]).toMatch(
    /^error: not_callable: coder may not call writer;/,
  );
  const ruled = await handing("", deny("handoff"));
  expect(resultsOf(ruled, childIds(ruled)[0])[0]).toMatch(/^denied: denied: a rule forbids this call/);
});

test("AG-11 AG-26: a sibling that fails in the same moment stops the peer of one that hands over, before it asks its model", async () => {
  const slow = delegate("slow", { timeout_seconds: 10 });
  const { bench } = await crew(
    [
      member("lead", [said(spawn([task("loser"), task("coder")], { on_error: "cancel" })), done]),
      member("loser", [said(slow), done], "options: { max_iterations: 1 }"),
      member("coder", [said(slow, hand("writer"))]),
      member("slow", [said(["look", {}])]),
      member("writer", [said("Written.")]),
    ],
    { instant: false },
  );
  bench.send("Go");
  await bench.steps();
  await bench.tick(10_000);
  await bench.idle();
  expect(endings({ bench }).slice(2)).toEqual([
    "loser failed:max_iterations",
    "coder completed:terminal_tool",
    "writer cancelled:cancelled",
    "lead completed:end_turn",
  ]);
  expect(bench.requests.some(({ context }) => context.agent === "writer")).toBe(false);
  expect(itemsOf({ bench })).toMatchObject([
    { agent: "loser", state: "failed" },
    { agent: "writer", state: "cancelled", handoffs: 1, error: expect.stringMatching(/loser .* failed$/) },
  ]);
  checkInvariants(bench, ["in_1"]);
});
