import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Effect } from "../../../src/agent/definition/effect.ts";
import { defineEffect } from "../../../src/agent/definition/effect.ts";
import type { Play, PlayOptions } from "../loop/play.ts";
import {
  dataOf,
  ends,
  lastResult,
  onlyAsk,
  openAsks,
  play,
  refused,
  roles,
  run,
  textsOf,
} from "../loop/play.ts";
import type { ModelRequest } from "../../../src/model/completer.ts";
import { crew, delegate, endings, lead, coder, mission } from "../../support/crew.ts";
import { done, look, replies, said } from "../../support/scripts.ts";

/** A plan before the first turn, and its approval, from YAML to what the model is asked (SE-37). */

const planning: PlayOptions = { agent: "options: { plan_before_execute: true }" };

const approving: PlayOptions = { agent: "options: { plan_before_execute: approve }" };

const plan = said("1. Read a. 2. Change b.");

const other = said("1. Only read.");

const purposesOf = ({ bench }: Play): readonly string[] =>
  bench.requests.map(({ context: { purpose } }) => purpose);

const lastText = ({ messages }: ModelRequest): string =>
  (messages.at(-1)?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");

const texts = ({ bench }: Play): readonly string[] => bench.chat().map(textsOf);

const answer = async ({ bench }: Play, params: object): Promise<void> => {
  bench.ok("answer", { ask: onlyAsk(bench), ...params });
  await bench.idle();
};

describe("SE-37: the plan", () => {
  test("SE-37: a plan is asked for without tools before turn 1, stays in the chat, and is to be carried out", async () => {
    const played = await run(replies(plan, look, done), planning);
    const { bench } = played;
    expect(purposesOf(played)).toEqual(["plan", "turn", "turn"]);
    const [first, second] = bench.requests;
    expect(first).toMatchObject({ tools: [], toolChoice: "none", context: { turn: 0, attempt: 1 } });
    expect(first && lastText(first)).toMatch(/^<note from="plan">.*which files.*change.*order.*<\/note>$/);
    expect(texts(played).slice(0, 3)).toEqual(["Go", "1. Read a. 2. Change b.", "Carry out the plan now."]);
    expect(second && lastText(second)).toBe('<note from="plan">Carry out the plan now.</note>');
    expect(second?.tools.map(({ name }) => name)).toContain("look");
    expect(second?.messages).toHaveLength(3);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench)).toMatchObject({ turns: 2, text: "Done." });
    expect(dataOf(bench, "plan_created")).toEqual([{ message: bench.chat()[1]?.id }]);
  });

  test("SE-37 AP-27: what belongs to the plan carries turn 0, and no turn is opened or counted for it", async () => {
    const { bench } = await run(replies(plan, done), {
      agent: "options: { plan_before_execute: true, max_iterations: 1 }",
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const turns = bench.events().map(({ type, turn }) => `${type} ${turn ?? "-"}`);
    expect(turns.slice(5)).toEqual([
      "message_added -",
      "llm_request_preparing 0",
      "llm_request_start 0",
      "llm_text 0",
      "llm_finish 0",
      "message_added 0",
      "plan_created 0",
      "message_added 0",
      "turn_start 1",
      ...["llm_request_preparing", "llm_request_start", "llm_text", "llm_finish", "message_added"].map(
        (type) => `${type} 1`,
      ),
      ...["turn_metrics", "turn_end", "agent_end", "run_end"].map((type) => `${type} 1`),
    ]);
    const { usage } = lastResult(bench);
    const [first, second] = dataOf(bench, "llm_finish");
    expect(usage.total).toBe((first?.usage.total ?? 0) + (second?.usage.total ?? 0));
  });

  test("SE-37: later runs plan too, with their tools declared but not to be called; light runs do not", async () => {
    const played = await run(replies(plan, look, done, other, done, done), planning);
    const { bench } = played;
    bench.send("Again");
    await bench.idle();
    bench.send("Quick", { light: true });
    await bench.idle();
    expect(purposesOf(played)).toEqual(["plan", "turn", "turn", "plan", "turn", "turn"]);
    expect(bench.requests[3]).toMatchObject({ toolChoice: "none" });
    expect(bench.requests[3]?.tools.map(({ name }) => name)).toContain("look");
    const off = await run(replies(done), { agent: "options: { plan_before_execute: false }" });
    expect(purposesOf(off)).toEqual(["turn"]);
    expect(off.bench.state().threads["main"]).not.toHaveProperty("plan");
  });

  test("SE-37: a plan needs no format, whatever the answer's", async () => {
    const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
    const { bench } = await play(replies(plan, said('{ "a": 1 }')), planning);
    bench.send("Go", { output_schema: schema });
    await bench.idle();
    expect(bench.requests[0]).not.toHaveProperty("responseFormat");
    expect(bench.requests[1]).toMatchObject({ responseFormat: { type: "json_schema", schema } });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("SE-37 EF-4: effects do not act on a plan", async () => {
    const seen: string[] = [];
    const watching = (phase: "before_complete" | "after_complete"): Effect =>
      defineEffect({
        kind: phase,
        description: "Of a test.",
        phase,
        order: "inject",
        params: z.strictObject({}),
        run: ({ turn }) => {
          seen.push(`${phase} ${turn}`);
          return {};
        },
      });
    const effects = [watching("before_complete"), watching("after_complete")];
    const { bench } = await run(replies(plan, done), { ...planning, effects: { effects } });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(seen).toEqual(["before_complete 1", "after_complete 1"]);
  });

  const overflowing = (full: string): string => `scenes:
  - { name: full, when: { purpose: plan, input: { contains: second }, ${full} }
  - { name: told, when: { purpose: compaction }, reply: [{ text: Told. }] }
  - { name: plan, when: { purpose: plan }, reply: [{ text: The plan. }] }
  - { name: turns, when: { times: 5, input: { equals: Go } }, reply: [{ text: { repeat: "Say. ", times: 900 } }, { call: look }] }
  - { name: done, reply: [{ text: Done. }] }`;

  test.each([
    ["the provider refuses as too long", "attempt: 1 }, fail: [{ status: 413 }], reply: [{ text: So }]"],
    ["fills the context", "attempt: 1 }, reply: [{ text: So }], finish: context_full"],
  ])("SE-37 EF-25: a plan that %s is asked for again after a compaction", async (_, full) => {
    const { bench } = await run(overflowing(full), planning);
    bench.send("The second");
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    expect(dataOf(bench, "compaction").map(({ effect }) => effect)).toContain("overflow");
    const asked = bench.requests.map(({ context: { run, purpose, turn, attempt } }) =>
      [run, purpose, turn, attempt].join(" "),
    );
    expect(asked.filter((each) => each.startsWith("run_2 plan"))).toEqual([
      "run_2 plan 0 1",
      "run_2 plan 0 2",
    ]);
    expect(bench.chat().map(textsOf)).not.toContain("So");
  });

  test("SE-37 EF-25: a plan that stays too long ends the run as such", async () => {
    const { bench } = await run(replies("{ reply: [{ text: So }], finish: context_full }"), planning);
    expect(ends(bench)).toEqual(["failed:context_length_exceeded"]);
  });

  test("SE-37: calls in a plan are dropped, and nothing runs", async () => {
    const { bench, probe } = await run(
      replies("{ reply: [{ text: The plan. }, { call: fire }] }", done),
      planning,
    );
    expect(probe.calls).toEqual([]);
    expect(roles(bench)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(bench.types()).not.toContain("tool_call_start");
    const only = await run(replies("{ reply: [{ call: fire }] }", plan, done), planning);
    expect(only.probe.calls).toEqual([]);
    expect(purposesOf(only)).toEqual(["plan", "plan", "turn"]);
  });

  test.each([
    ["empty", "{ reply: [] }", []],
    ["cut", "{ reply: [{ text: Half a }], finish: length }", ["output_truncated", "output_truncated"]],
  ])(
    "SE-37: a plan that is %s is dropped and made once more, then the run goes on without",
    async (_, bad, codes) => {
      const once = await run(replies(bad, plan, done), planning);
      expect(purposesOf(once)).toEqual(["plan", "plan", "turn"]);
      expect(once.bench.requests.map(({ context: { attempt } }) => attempt)).toEqual([1, 2, 1]);
      expect(texts(once)).toEqual(["Go", "1. Read a. 2. Change b.", "Carry out the plan now.", "Done."]);
      const twice = await run(replies(bad, bad, done), planning);
      expect(purposesOf(twice)).toEqual(["plan", "plan", "turn"]);
      expect(texts(twice)).toEqual(["Go", "Done."]);
      expect(dataOf(twice.bench, "error").map(({ code }) => code)).toEqual(codes);
      expect(ends(twice.bench)).toEqual(["completed:end_turn"]);
    },
  );

  test.each([
    ["empty", "{ reply: [] }"],
    ["cut", "{ reply: [{ text: Half a }], finish: length }"],
    ["made of calls", "{ reply: [{ call: look }] }"],
  ])(
    "SE-37: nothing is carried out if two plans to approve are %s, before or after a denial",
    async (_, bad) => {
      const first = await run(replies(bad, bad, said(["look", {}]), done), approving);
      expect(ends(first.bench)).toEqual(["failed:output_invalid"]);
      const { bench } = await run(replies(plan, bad, bad, said(["look", {}]), done), approving);
      bench.ok("answer", { ask: onlyAsk(bench), decision: "deny", message: "Not that" });
      await bench.idle();
      expect(ends(bench)).toEqual(["failed:output_invalid"]);
      expect(bench.types()).not.toContain("tool_call_start");
    },
  );

  test("SE-2 SE-37: what a person writes about a plan is stored and told as clean text", async () => {
    const { bench } = await run(replies(plan, plan, done), approving);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "deny", message: "No\u0000t that" });
    await bench.idle();
    expect(JSON.stringify(bench.requests.at(-1)?.messages)).toContain("Not that");
  });

  test("SE-37 SE-13: a refused plan fails the run as a refused turn does", async () => {
    const { bench } = await run(replies("{ reply: [{ refusal: No. }] }"), planning);
    expect(ends(bench)).toEqual(["failed:refusal"]);
    expect(texts({ bench } as Play)).toEqual(["Go", "No."]);
    expect(bench.types()).not.toContain("turn_start");
  });

  test("SE-37: a provider that fails is asked again as for a turn", async () => {
    const { bench } = await run(
      replies("{ fail: [{ status: 529, retry_after: 1 }], reply: [{ text: The plan. }] }", done),
      planning,
    );
    await bench.pass(120_000);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const attempts = bench.events().filter(({ type }) => type === "llm_request_preparing");
    expect(attempts.map(({ turn, attempt }) => [turn, attempt])).toEqual([
      [0, 1],
      [0, 2],
      [1, 1],
    ]);
  });

  test("SE-37 EF-38: a budget without room for the plan ends the run before any call", async () => {
    const { bench } = await run(replies(plan, done), {
      agent: "options: { plan_before_execute: true }\nguards: { budget: { max_tokens: 10 } }",
    });
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(bench.requests).toEqual([]);
  });

  test("SE-37 EF-37: a budget that asks is raised for a plan as for a turn", async () => {
    const { bench } = await run(replies(plan, done), {
      agent:
        "options: { plan_before_execute: true }\nguards: { budget: { max_tokens: 10, on_exceeded: ask } }",
    });
    expect(bench.requests).toEqual([]);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 1_000_000 });
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(bench.requests.map(({ context: { purpose } }) => purpose)).toEqual(["plan", "turn"]);
  });

  test("SE-37 SE-26: a steer while an unapproved plan is made joins behind it, and turn 1 follows", async () => {
    const played = await play(replies(plan, done), planning);
    const { bench } = played;
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.send("And c", { on_busy: "steer" });
    bench.release();
    await bench.idle();
    expect(purposesOf(played)).toEqual(["plan", "turn"]);
    expect(texts(played).slice(2)).toEqual(["Carry out the plan now.", "And c", "Done."]);
  });

  test("SE-37 SE-31: a cancel during the plan keeps what was seen of it, as no answer", async () => {
    const { bench } = await play(replies(plan, done), planning);
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    await bench.pass(30);
    bench.ok("cancel");
    await bench.steps();
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(bench.chat().at(-1)).toMatchObject({ role: "assistant", marks: ["partial"] });
    expect(lastResult(bench).text).toBe("");
  });

  test("SE-37 EF-2: the plan is pinned while its run lives, and no longer", async () => {
    const { bench, probe } = await play(replies(plan, look, done), { ...planning, instant: false });
    bench.send("Go");
    await bench.steps();
    expect(bench.chat()[1]?.marks).toEqual(["plan"]);
    probe.calls[0]?.finish();
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(bench.chat()[1]?.marks).toEqual([]);
    bench.crash();
    await bench.idle();
    expect(bench.chat()[1]?.marks).toEqual([]);
  });

  test("SE-37 EF-2: no compaction takes the plan of a live run; one after it does", async () => {
    const scenes = `scenes:
  - { name: told, when: { purpose: compaction }, reply: [{ text: Told. }] }
  - { name: plan, when: { purpose: plan }, reply: [{ text: The plan. }] }
  - { name: turns, when: { times: 5 }, reply: [{ text: { repeat: "Say. ", times: 900 } }, { call: look }] }
  - { name: done, reply: [{ text: Done. }] }`;
    const { bench, probe } = await play(scenes, { ...planning, instant: false });
    bench.send("Go");
    for (let turn = 0; turn < 4; turn++) {
      await bench.steps();
      probe.calls[turn]?.finish();
    }
    await bench.steps();
    bench.ok("compact");
    probe.instant = true;
    probe.calls[4]?.finish();
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(dataOf(bench, "compaction").map(({ stage }) => stage)).toEqual(["full"]);
    expect(bench.chat().map(textsOf)).toContain("The plan.");
    bench.ok("compact");
    await bench.idle();
    expect(dataOf(bench, "compaction").map(({ stage }) => stage)).toEqual(["full", "full"]);
    expect(bench.chat().map(textsOf)).not.toContain("The plan.");
  });

  test("EF-42: the request of the plan is told again at turn 0, before and after its reply", async () => {
    const { bench } = await play(replies(plan, done), planning);
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    const during = bench.ok("context", { run: "run_1", turn: 0 }) as unknown as { readonly purpose: string };
    expect(during).toMatchObject({ purpose: "plan", turn: 0, outcome: "in_flight", tools: [] });
    bench.release();
    await bench.idle();
    const view = bench.ok("context", { run: "run_1", turn: 0 }) as unknown as { readonly verified: boolean };
    expect(view).toMatchObject({ purpose: "plan", verified: true, parameters: { tool_choice: "none" } });
    expect(bench.ok("context", { run: "run_1", turn: 1 })).toMatchObject({ purpose: "turn", verified: true });
  });

  test("SE-37 MO-10: the estimate of a plan's request leaves out tools that it does not declare", async () => {
    const { bench } = await run(replies(plan, done), planning);
    const [first, second] = dataOf(bench, "llm_request_start");
    expect(first).toMatchObject({ purpose: "plan", tools: 0, messages: 2 });
    expect(first?.estimated_tokens).toBeLessThan(second?.estimated_tokens ?? 0);
    expect(second?.tools).toBeGreaterThan(0);
  });
});

describe("SE-37: approval", () => {
  test("SE-37 SE-28: the plan is shown to a person, the run waits, and an approval lets it go on", async () => {
    const played = await run(replies(plan, done), approving);
    const { bench } = played;
    const ask = onlyAsk(bench);
    expect(dataOf(bench, "ask_user")[0]?.ask).toMatchObject({
      kind: "approval",
      call: "",
      approval: { tool: "plan", input: { plan: "1. Read a. 2. Change b." }, rule: "plan_before_execute" },
    });
    expect(bench.ok("get")).toMatchObject({
      status: "waiting",
      open_asks: [ask],
      waiting_for: [{ kind: "ask", ask, until: bench.now() + 86_400_000 }],
    });
    expect(bench.requests).toHaveLength(1);
    bench.crash();
    await bench.idle();
    await answer(played, { decision: "approve" });
    expect(texts(played)).toEqual(["Go", "1. Read a. 2. Change b.", "Carry out the plan now.", "Done."]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(bench.perform("answer", { ask, decision: "approve" })).toMatchObject({ ok: true });
    expect(refused(bench, "answer", { ask, decision: "deny" })).toBe("ask_already_resolved");
  });

  test("SE-37 SE-30: a plan that the person changed takes its place", async () => {
    const played = await run(replies(plan, done), approving);
    await answer(played, { decision: "edit", input: { plan: "Only look at a." } });
    const { bench } = played;
    expect(texts(played)[1]).toBe("1. Read a. 2. Change b.");
    expect(texts(played)[2]).toBe("The plan was changed. Carry out this one now:\nOnly look at a.");
    expect(dataOf(bench, "ask_resolved")[0]).toMatchObject({ decision: "edit", edited: true });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("SE-37: a denial with a message brings another plan, at most three times", async () => {
    const played = await run(replies(plan, plan, plan, other, done), approving);
    const { bench } = played;
    for (const message of ["No b", "No c", "No d"]) await answer(played, { decision: "deny", message });
    expect(purposesOf(played)).toEqual(["plan", "plan", "plan", "plan"]);
    expect(bench.requests.map(({ context: { attempt } }) => attempt)).toEqual([1, 2, 3, 4]);
    const again = bench.requests[1]?.messages.at(-2);
    expect(again && textsOf(again)).toBe(
      '<note from="plan">The plan was not approved: No b\nMake another plan.</note>',
    );
    expect(bench.chat().filter(({ marks }) => marks?.includes("plan") === true)).toHaveLength(1);
    await answer(played, { decision: "deny", message: "No e" });
    expect(ends(bench)).toEqual(["cancelled:plan_denied"]);
    expect(lastResult(bench)).toMatchObject({ reason: "plan_denied", text: "", turns: 0 });
    expect(dataOf(bench, "run_end")[0]).toMatchObject({ error: null, message: null });
  });

  test("SE-37: the third replan may still be approved", async () => {
    const played = await run(replies(plan, plan, plan, other, done), approving);
    for (const message of ["1", "2", "3"]) await answer(played, { decision: "deny", message });
    await answer(played, { decision: "approve" });
    expect(ends(played.bench)).toEqual(["completed:end_turn"]);
  });

  test.each([
    ["a denial without a message", { decision: "deny" }],
    ["a denial with a blank message", { decision: "deny", message: " " }],
    ["a cancel of the ask", { decision: "cancel" }],
  ])("SE-37: %s ends the run, and a queued input begins", async (_, params) => {
    const played = await run(replies(plan, plan, done), approving);
    const { bench } = played;
    bench.send("Next", { on_busy: "queue" });
    await answer(played, params);
    expect(ends(bench)).toEqual(["cancelled:plan_denied"]);
    await answer(played, { decision: "approve" });
    expect(ends(bench)).toEqual(["cancelled:plan_denied", "completed:end_turn"]);
  });

  test("SE-37 SE-28: nobody answers in time: denied; nobody is there: at once", async () => {
    const { bench } = await run(replies(plan, done), approving);
    await bench.pass(86_400_000 - 1);
    expect(ends(bench)).toEqual([]);
    await bench.pass(1);
    expect(ends(bench)).toEqual(["cancelled:plan_denied"]);
    expect(dataOf(bench, "ask_expired")).toMatchObject([{ applied: "deny" }]);
    const alone = await run(replies(plan, done), { ...approving, create: { interactive: false } });
    expect(ends(alone.bench)).toEqual(["cancelled:plan_denied"]);
    expect(alone.bench.requests).toHaveLength(1);
  });

  test("SE-37 SE-29: what does not fit is refused, and the ask stays open", async () => {
    const { bench } = await run(replies(plan, done), approving);
    const ask = onlyAsk(bench);
    for (const params of [
      { decision: "approve", remember: "session" },
      { decision: "deny", remember: "agent" },
      { decision: "approve", input: { plan: "x" } },
      { decision: "edit" },
      { decision: "edit", input: { plan: " " } },
      { decision: "edit", input: ["x"] },
      { decision: "answer", text: "yes" },
    ])
      expect(refused(bench, "answer", { ask, ...params }), JSON.stringify(params)).toBe("answer_invalid");
    expect(openAsks(bench)).toEqual([ask]);
    bench.ok("answer", { ask, decision: "approve" });
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("SE-37 SE-25: a steer settles the ask, joins, and another plan is made that counts as none", async () => {
    const played = await run(replies(plan, plan, plan, plan, other, done), approving);
    const { bench } = played;
    const first = onlyAsk(bench);
    for (const message of ["1", "2", "3"]) await answer(played, { decision: "deny", message });
    bench.send("Leave b alone", { on_busy: "steer" });
    await bench.idle();
    expect(dataOf(bench, "ask_cancelled")).toHaveLength(1);
    expect(onlyAsk(bench)).not.toBe(first);
    const asked = bench.requests.at(-1);
    expect(asked?.context.purpose).toBe("plan");
    expect(asked?.messages.slice(-2).map(textsOf)[0]).toBe("[STEERING] Leave b alone");
    await answer(played, { decision: "approve" });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("SE-37 SE-25: a steer while the plan is made: nobody is asked about it, and another one is made", async () => {
    const played = await play(replies(plan, other, done), approving);
    const { bench } = played;
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.send("Leave b alone", { on_busy: "steer" });
    bench.release();
    await bench.idle();
    expect(purposesOf(played)).toEqual(["plan", "plan"]);
    expect(dataOf(bench, "ask_user")).toHaveLength(1);
    await answer(played, { decision: "approve" });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test.each(["now", "after_turn"])(
    "SE-37 SE-31: a cancel (%s) closes the ask and ends the run",
    async (mode) => {
      const { bench } = await run(replies(plan, done), approving);
      bench.ok("cancel", { mode });
      await bench.idle();
      expect(ends(bench)).toEqual(["cancelled:cancelled"]);
      expect(openAsks(bench)).toEqual([]);
      expect(bench.alarm()).toBeNull();
    },
  );

  test("SE-37: a run that is being cancelled gently asks nobody", async () => {
    const { bench } = await play(replies(plan, done), approving);
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.ok("cancel", { mode: "after_turn" });
    bench.release();
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(dataOf(bench, "ask_user")).toEqual([]);
  });

  test("SE-37 SE-24: a rollback takes the plan away with its run", async () => {
    const { bench } = await run(replies(plan, other, done), approving);
    bench.send("Anew", { on_busy: "rollback" });
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:rolled_back"]);
    expect(bench.chat().map(textsOf)).toEqual(["Anew", "1. Only read."]);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve" });
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:rolled_back", "completed:end_turn"]);
  });

  test("SE-37: waiting for a person stops the clock of the run", async () => {
    const { bench } = await run(replies(plan, done), {
      agent: `${approving.agent}\nmiddleware: [{ kind: timeout, params: { duration: 1m, count: active } }]`,
    });
    await bench.pass(3_600_000);
    expect(ends(bench)).toEqual([]);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve" });
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });
});

describe("SE-37: called agents", () => {
  const planned = "options: { plan_before_execute: approve }";

  test("SE-37: a called agent plans by its own option, and its caller waits", async () => {
    const made = await mission([
      lead([said(delegate("coder")), done]),
      coder([plan, said("Coded.")], planned),
    ]);
    const { bench } = made;
    expect(bench.requests.map(({ context: { agent, purpose } }) => `${agent} ${purpose}`)).toEqual([
      "lead turn",
      "coder plan",
    ]);
    expect(dataOf(bench, "ask_user")[0]?.ask).toMatchObject({ agent: "coder", approval: { tool: "plan" } });
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve" });
    await bench.idle();
    expect(endings(made)).toEqual(["coder completed:end_turn", "lead completed:end_turn"]);
  });

  test("SE-37: a caller is told that the plan of its agent was not approved", async () => {
    const made = await crew([lead([said(delegate("coder")), done]), coder([plan], planned)]);
    const { bench } = made;
    bench.send("Go");
    await bench.idle();
    bench.ok("answer", { ask: onlyAsk(bench), decision: "deny" });
    await bench.idle();
    expect(endings(made)).toEqual(["coder cancelled:plan_denied", "lead completed:end_turn"]);
    expect(JSON.stringify(bench.requests.at(-1)?.messages)).toContain("the plan was not approved");
  });
});
