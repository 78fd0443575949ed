import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Parked } from "../../../src/tools/define-tool.ts";
import { defineTool, parkCallOn } from "../../../src/tools/define-tool.ts";
import type { Play, PlayOptions } from "../loop/play.ts";
import {
  dataOf,
  ends,
  headOf,
  onlyAsk,
  openAsks,
  play,
  refused,
  results,
  run,
  typesAfter,
} from "../loop/play.ts";
import { done } from "../../support/scripts.ts";

const day = 86_400_000;

const asking = (args: string, options: PlayOptions = {}): Promise<Play> =>
  run(`replies: [{ reply: [{ call: ask_user, args: ${args} }] }, ${done}]`, options);

const approving: PlayOptions = { team: "permissions: { rules: [{ tool: fire, action: ask }] }" };

const firing = (options: PlayOptions = approving): Promise<Play> =>
  run(`replies: [{ reply: [{ call: fire, args: { name: a } }] }, ${done}]`, options);

const answer = async ({ bench }: Pick<Play, "bench">, params: object): Promise<void> => {
  bench.ok("answer", { ask: onlyAsk(bench), ...params });
  await bench.idle();
};

describe("SE-28 SE-29: questions", () => {
  test("SE-28 AP-19: a question is shown, waited for, and answered", async () => {
    const played = await asking("{ question: 'Which?', options: [a, b], header: Pick }");
    const { bench } = played;
    const ask = onlyAsk(bench);
    expect(ask).toMatch(/^ask_[a-z2-7]{26}$/);
    expect(bench.ok("get")).toMatchObject({
      status: "waiting",
      open_asks: [ask],
      waiting_for: [{ kind: "ask", ask, until: bench.now() + day }],
    });
    expect(dataOf(bench, "ask_user")[0]?.ask).toMatchObject({
      kind: "question",
      status: "open",
      expires_at: bench.now() + day,
      question: { text: "Which?", options: ["a", "b"], header: "Pick", multi_select: false, strict: false },
    });
    await answer(played, { decision: "answer", selections: ["a"] });
    expect(results(bench)).toEqual(["ok: a"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(
      (bench.ok("asks", { status: "resolved" })["data"] as unknown as readonly unknown[])[0],
    ).toMatchObject({ id: ask, status: "resolved", resolution: { decision: "answer", by: "key1" } });
  });

  test("SE-28: free text is an answer too, unless the question is strict", async () => {
    const free = await asking("{ question: 'Which?', options: [a, b] }");
    await answer(free, { decision: "answer", text: "neither" });
    expect(results(free.bench)).toEqual(["ok: neither"]);
    const { bench } = await asking("{ question: 'Which?', options: [a, b], strict: true }");
    expect(refused(bench, "answer", { ask: onlyAsk(bench), decision: "answer", text: "neither" })).toBe(
      "answer_invalid",
    );
  });

  test.each<[string, object]>([
    ["{ question: q, options: [a, b] }", { decision: "answer", selections: ["c"] }],
    ["{ question: q, options: [a, b] }", { decision: "answer", selections: ["a", "b"] }],
    [
      "{ question: q, options: [a, b, c], multi_select: true, max_selections: 2 }",
      { decision: "answer", selections: ["a", "b", "c"] },
    ],
    [
      "{ question: q, options: [a, b, c], multi_select: true, max_selections: 2 }",
      { decision: "answer", selections: ["a", "a"] },
    ],
    [
      "{ question: q, options: [a, b], multi_select: true }",
      { decision: "answer", selections: ["a"], text: "a" },
    ],
    ["{ question: q }", { decision: "answer" }],
    ["{ question: q }", { decision: "answer", text: "  " }],
    ["{ question: q }", { decision: "approve" }],
    ["{ question: q }", { decision: "result", output: 1 }],
  ])("SE-29: of %s the answer %j is invalid and the ask stays open", async (args, given) => {
    const { bench } = await asking(args);
    const ask = onlyAsk(bench);
    expect(refused(bench, "answer", { ask, ...given })).toBe("answer_invalid");
    expect(onlyAsk(bench)).toBe(ask);
  });

  test("SE-28: several choices come as a JSON array", async () => {
    const played = await asking("{ question: q, options: [a, b, c], multi_select: true }");
    await answer(played, { decision: "answer", selections: ["a", "c"] });
    expect(results(played.bench)).toEqual(['ok: ["a","c"]']);
  });

  test("SE-29: a question survives a crash, its clock goes on, and its answer continues once", async () => {
    const played = await asking("{ question: q }");
    const { bench } = played;
    const at = bench.alarm();
    await bench.pass(3_600_000);
    bench.crash();
    await bench.idle();
    expect(bench.alarm()).toBe(at);
    await answer(played, { decision: "answer", text: "x" });
    expect(results(bench)).toEqual(["ok: x"]);
    expect(bench.requests).toHaveLength(2);
    expect(dataOf(bench, "tool_call_end")).toHaveLength(1);
  });

  test("RE-C38: the clock goes back an hour over a restart: nothing lasted less than no time", async () => {
    const { bench } = await run(
      `replies: [{ reply: [{ call: ask_user, args: { question: "Which?" } }] }, ${done}]`,
    );
    bench.crash();
    await bench.tick(-3_600_000);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "answer", text: "x" });
    await bench.idle();
    expect(dataOf(bench, "tool_call_end").map(({ duration_ms }) => duration_ms)).toEqual([0]);
  });

  test("SE-29: the first answer wins, its repeat is 200, another is 409", async () => {
    const { bench } = await asking("{ question: q }");
    const ask = onlyAsk(bench);
    bench.ok("answer", { ask, decision: "answer", text: "x" });
    const head = headOf(bench);
    expect(bench.perform("answer", { ask, decision: "answer", text: "x" })).toMatchObject({
      ok: true,
      status: 200,
    });
    expect(headOf(bench)).toBe(head);
    expect(bench.perform("answer", { ask, decision: "answer", text: "y" })).toMatchObject({
      problem: {
        code: "ask_already_resolved",
        detail: expect.stringMatching(/^another answer came first: answer by \w+$/),
      },
    });
    await bench.idle();
    expect(results(bench)).toEqual(["ok: x"]);
  });

  test("SE-29: an answer to an ask whose run was cancelled is told so, and of no other answer", async () => {
    const { bench } = await asking("{ question: q }");
    const ask = onlyAsk(bench);
    bench.ok("cancel");
    expect(bench.perform("answer", { ask, decision: "answer", text: "x" })).toMatchObject({
      problem: {
        code: "ask_already_resolved",
        detail: expect.stringContaining("nobody has to answer this any more"),
      },
    });
  });

  test("SE-29 ★: an answer for A never reaches B, nor another session", async () => {
    const two =
      "{ reply: [{ call: ask_user, args: { question: A } }, { call: ask_user, args: { question: B } }] }";
    const { bench } = await run(`replies: [${two}, ${done}]`);
    const other = await asking("{ question: q }", { id: "s_bbbbbbbbbbbbbbbbbbbbbbbbbb" });
    const [a = "", b = ""] = openAsks(bench);
    expect(refused(other.bench, "answer", { ask: a, decision: "answer", text: "x" })).toBe("not_found");
    bench.ok("answer", { ask: b, decision: "answer", text: "for B" });
    await bench.idle();
    expect(openAsks(bench)).toEqual([a]);
    expect(bench.ok("get")).toMatchObject({ status: "waiting" });
    bench.ok("answer", { ask: a, decision: "answer", text: "for A" });
    await bench.idle();
    expect(results(bench)).toEqual(["ok: for A", "ok: for B"]);
  });

  test("SE-29 ★: each clock runs from its own opening", async () => {
    const two =
      "{ reply: [{ call: ask_user, args: { question: A } }, { call: put }, { call: ask_user, args: { question: B } }] }";
    const { bench } = await run(`replies: [${two}, ${done}]`);
    await bench.pass(3_600_000);
    await answer({ bench }, { decision: "answer", text: "x" });
    expect(dataOf(bench, "ask_user").map(({ ask }) => ask.question?.text)).toEqual(["A", "B"]);
    expect(bench.alarm()).toBe(bench.now() + day);
  });
});

test("SE-25: a running call asks no person who has steered meanwhile", async () => {
  const asked = Promise.withResolvers<Parked>();
  const params = z.strictObject({});
  const poll = defineTool({
    name: "poll",
    description: "Asks.",
    params,
    safety: "read",
    run: () => asked.promise,
  });
  const { bench } = await play(`replies: [{ reply: [{ call: poll }] }, ${done}]`, { tools: [poll] });
  bench.send("Go");
  await bench.steps();
  bench.send("Never mind", { on_busy: "steer" });
  const question = { text: "Which?", options: [], multi_select: false, strict: false };
  asked.resolve(parkCallOn({ on: "ask", question }));
  await bench.idle();
  expect(dataOf(bench, "ask_user")).toEqual([]);
  expect(results(bench).map((text) => text.split(":")[0])).toEqual(["skipped"]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

describe("SE-28: what an unanswered ask leads to", () => {
  test("SE-28: a question is answered by the clock, and the run goes on", async () => {
    const { bench } = await asking("{ question: q }");
    const ask = onlyAsk(bench);
    await bench.pass(day - 1);
    expect(openAsks(bench)).toEqual([ask]);
    const before = headOf(bench);
    await bench.pass(1);
    expect(typesAfter(bench, before).slice(0, 2)).toEqual(["ask_expired", "tool_call_end"]);
    expect(results(bench)).toEqual(["ok: No answer came; decide or finish."]);
    expect(refused(bench, "answer", { ask, decision: "answer", text: "x" })).toBe("ask_expired");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(bench.alarm()).toBeNull();
  });

  test("SE-29: an answer in the millisecond of the expiry is too late, also before the alarm came", async () => {
    const { bench } = await asking("{ question: q }", { team: "limits: { asks: { timeout: 1m } }" });
    const ask = onlyAsk(bench);
    await bench.pass(59_999);
    expect(openAsks(bench)).toEqual([ask]);
    await bench.pass(1);
    expect(refused(bench, "answer", { ask, decision: "answer", text: "x" })).toBe("ask_expired");
  });

  test("SE-28: on_timeout fail ends the run, an answer stands in", async () => {
    const fails = await asking("{ question: q }", { team: "limits: { asks: { on_timeout: fail } }" });
    await fails.bench.pass(day);
    expect(ends(fails.bench)).toEqual(["failed:deadline_exceeded"]);
    const stands = await asking("{ question: q }", {
      team: "limits: { asks: { on_timeout: { answer: blue } } }",
    });
    await stands.bench.pass(day);
    expect(results(stands.bench)).toEqual(["ok: blue"]);
  });

  test("SE-28: on_timeout fail starts no call that was held back", async () => {
    const reply = "{ reply: [{ call: ask_user, args: { question: q } }, { call: look }, { call: put }] }";
    const { bench, probe } = await play(`replies: [${reply}, ${done}]`, {
      instant: false,
      team: "limits: { asks: { timeout: 30s, on_timeout: fail } }",
    });
    bench.send("Go");
    await bench.steps();
    await bench.tick(30_000);
    probe.calls[0]?.finish();
    await bench.idle();
    expect(probe.names()).toEqual(["look()"]);
    expect(ends(bench)).toEqual(["failed:deadline_exceeded"]);
  });

  test("SE-28: nobody approves: denied, or approved where that is configured", async () => {
    const denied = await firing();
    await denied.bench.pass(day);
    expect(denied.probe.calls).toEqual([]);
    expect(results(denied.bench)[0]).toMatch(/^denied: denied: this call was not approved/);
    const approved = await firing({
      team: "permissions: { rules: [{ tool: fire, action: ask, on_timeout: approve, ask_timeout: 30m }] }",
    });
    const defaultOf = ({ bench }: Play) => dataOf(bench, "ask_user")[0]?.ask.approval?.on_timeout;
    expect([defaultOf(denied), defaultOf(approved)]).toEqual([undefined, "approve"]);
    await approved.bench.pass(1_800_000);
    expect(approved.probe.names()).toEqual(["fire(a)"]);
    expect(ends(approved.bench)).toEqual(["completed:end_turn"]);
  });

  test("SE-29: a session without people never waits", async () => {
    const question = await asking("{ question: q }", { create: { interactive: false } });
    expect(results(question.bench)).toEqual(["ok: No answer came; decide or finish."]);
    expect(question.bench.types()).not.toContain("run_waiting");
    const approval = await firing({ ...approving, create: { interactive: false } });
    expect(results(approval.bench)[0]).toMatch(/^denied: /);
    expect(approval.probe.calls).toEqual([]);
    expect(ends(approval.bench)).toEqual(["completed:end_turn"]);
  });

  test("AP-19: cancel applies the expiry's default now", async () => {
    const played = await asking("{ question: q }");
    await answer(played, { decision: "cancel" });
    expect(results(played.bench)).toEqual(["ok: No answer came; decide or finish."]);
    const approval = await firing();
    await answer(approval, { decision: "cancel" });
    expect(results(approval.bench)).toEqual(["denied: denied: the request for approval was cancelled."]);
  });

  test("AP-19: a run that fails without an answer says whether its question was cancelled or its time was over", async () => {
    const failing = { team: "limits: { asks: { on_timeout: fail } }" };
    const cancelled = await asking("{ question: q }", failing);
    await answer(cancelled, { decision: "cancel" });
    const late = await asking("{ question: q }", failing);
    await late.bench.pass(86_400_000);
    const errors = [cancelled, late].map(({ bench }) => dataOf(bench, "run_end")[0]?.error?.detail);
    expect(errors).toEqual(["a question was cancelled", "a question was not answered in time"]);
  });
});

describe("SE-30: approvals", () => {
  test("SE-30: approve runs the call once, and says by what it was allowed", async () => {
    const played = await firing();
    const { bench, probe } = played;
    expect(dataOf(bench, "ask_user")[0]?.ask).toMatchObject({
      kind: "approval",
      approval: { tool: "fire", input: { name: "a" } },
    });
    expect(dataOf(bench, "tool_call_start")).toEqual([]);
    await answer(played, { decision: "approve" });
    expect(probe.names()).toEqual(["fire(a)"]);
    expect(dataOf(bench, "tool_call_start")[0]?.permission.verdict).toBe("approved");
  });

  test("SE-30 TB-9: deny ends as denied with the person's message", async () => {
    const played = await firing();
    await answer(played, { decision: "deny", message: "not on Fridays" });
    expect(results(played.bench)).toEqual(["denied: denied: not on Fridays"]);
    expect(dataOf(played.bench, "tool_call_end")[0]).toMatchObject({ outcome: "denied" });
    expect(played.probe.calls).toEqual([]);
  });

  test("SE-30: an edit is what the tool gets; the model is told, history keeps what it wrote", async () => {
    const played = await firing();
    const { bench, probe } = played;
    await answer(played, { decision: "edit", input: { name: "b" } });
    expect(probe.names()).toEqual(["fire(b)"]);
    expect(results(bench)[0]).toMatch(/^ok: \[arguments changed by the approver: \{"name":"b"\}\]/);
    expect(bench.chat()[1]?.parts[0]).toMatchObject({ type: "tool_call", args: '{"name":"a"}' });
    expect(dataOf(bench, "ask_resolved")[0]).toMatchObject({ decision: "edit", edited: true });
    expect(dataOf(bench, "tool_call_start")[0]?.input).toEqual({ name: "b" });
  });

  test.each<[object, string]>([
    [{ decision: "edit" }, "answer_invalid"],
    [{ decision: "edit", input: { name: 5 } }, "answer_invalid"],
    [{ decision: "edit", input: "x" }, "answer_invalid"],
    [{ decision: "answer", text: "yes" }, "answer_invalid"],
    [{ decision: "approve", input: { name: "b" } }, "answer_invalid"],
    [{ decision: "maybe" }, "invalid_request"],
    [{ decision: "approve", remember: "forever" }, "invalid_request"],
    [{ decision: "deny", text: "Say please." }, "answer_invalid"],
    [{ decision: "deny", text: "once" }, "answer_invalid"],
    [{ decision: "deny", remember: "session" }, "answer_invalid"],
    [{ decision: "approve", message: "Only if it is short." }, "answer_invalid"],
    [{ decision: "cancel", text: "No." }, "answer_invalid"],
  ])("SE-30 ★: the answer %j is refused and the approval still open", async (given, code) => {
    const { bench, probe } = await firing();
    const ask = onlyAsk(bench);
    expect(refused(bench, "answer", { ask, ...given })).toBe(code);
    expect(onlyAsk(bench)).toBe(ask);
    expect(probe.calls).toEqual([]);
  });

  const paint = defineTool({
    name: "paint",
    description: "Paints.",
    params: z.strictObject({ path: z.string().describe("Where.") }),
    subject: ({ path }) => [path],
    run: ({ path }) => ({ content: `painted ${path}` }),
  });

  test("SE-30 TB-6 TB-9: an edit to what a rule forbids is refused, one to what is allowed runs", async () => {
    const team =
      "permissions: { rules: [{ tool: paint, action: ask }, { tool: paint, match: 'infra/**', action: deny }] }";
    const reply = "{ reply: [{ call: paint, args: { path: a } }] }";
    const played = await run(`replies: [${reply}, ${done}]`, { team, tools: [paint] });
    const ask = onlyAsk(played.bench);
    expect(refused(played.bench, "answer", { ask, decision: "edit", input: { path: "infra/a" } })).toBe(
      "answer_invalid",
    );
    await answer(played, { decision: "edit", input: { path: "b" } });
    expect(results(played.bench)[0]).toContain("painted b");
  });

  test("SE-30: approved, then a crash before the tool: it starts, once", async () => {
    const { bench, probe } = await firing();
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve" });
    await bench.idle();
    bench.crash();
    await bench.idle();
    expect(probe.names()).toEqual(["fire(a)"]);
  });

  const five = (tool: string): string =>
    `{ reply: [${["a", "a", "b", "c", "d"].map((name) => `{ call: ${tool}, args: { name: ${name} } }`).join(", ")}] }`;

  test("SE-30 TB-8 TB-9: once answers exactly one, session settles all that it covers and all to come", async () => {
    const { bench, probe } = await run(
      `replies: [${five("fire")}, { reply: [{ call: fire, args: { name: z } }] }, ${done}]`,
      approving,
    );
    expect(openAsks(bench)).toHaveLength(5);
    bench.ok("answer", { ask: openAsks(bench)[2], decision: "approve", remember: "once" });
    await bench.idle();
    expect(openAsks(bench)).toHaveLength(4);
    bench.ok("answer", { ask: openAsks(bench)[0], decision: "approve", remember: "session" });
    await bench.idle();
    expect(probe.calls).toHaveLength(6);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const resolved = dataOf(bench, "ask_resolved");
    expect(resolved).toHaveLength(5);
    expect(resolved.map(({ remember }) => remember)).toEqual([undefined, "session", ...Array(3)]);
    expect(bench.state().grants).toMatchObject([{ scope: "session", tool: "fire", by: "key1" }]);
  });

  test("TB-8: a permission that is remembered answers for no call that cannot run", async () => {
    let isBroken = false;
    const sail = defineTool({
      name: "sail",
      description: "Sails.",
      params: z.strictObject({}),
      safety: "unsafe",
      acts: () => {
        if (isBroken) throw new Error("no wind");
        return [];
      },
      run: () => ({ content: "sailed" }),
    });
    const both = `{ reply: [{ call: fire, args: { name: a } }, { call: sail }] }`;
    const rules = "{ tool: fire, action: ask }, { tool: sail, action: ask }";
    const { bench } = await run(`replies: [${both}, ${done}]`, {
      team: `permissions: { rules: [${rules}] }`,
      tools: [sail],
    });
    expect(openAsks(bench)).toHaveLength(2);
    isBroken = true;
    bench.ok("answer", { ask: openAsks(bench)[0], decision: "approve", remember: "session" });
    await bench.idle();
    expect(dataOf(bench, "ask_resolved")).toHaveLength(1);
    expect(openAsks(bench)).toHaveLength(1);
  });

  test("AP-13: who may not decide may not answer, and nothing is stored", async () => {
    const { bench } = await firing();
    const before = headOf(bench);
    const scopes = ["asks:answer"] as const;
    const reply = bench.performAs({ scopes }, "answer", { ask: onlyAsk(bench), decision: "approve" });
    expect(reply).toMatchObject({ ok: false, problem: { code: "scope_missing" } });
    expect(headOf(bench)).toBe(before);
  });

  test("★ AP-13 AP-6: who may not decide is not told what was decided by the key of who did", async () => {
    const { bench } = await firing();
    const answer = { ask: onlyAsk(bench), decision: "approve" };
    bench.ok("answer", answer, "k1");
    const repeat = (scopes: readonly ("asks:answer" | "approvals:decide")[]) =>
      bench.performAs({ scopes, key: "k1" }, "answer", answer);
    expect(repeat(["asks:answer"])).toMatchObject({ ok: false, problem: { code: "scope_missing" } });
    expect(repeat(["approvals:decide"])).toMatchObject({ ok: true, status: 200 });
    expect(bench.perform("answer", answer, "k1")).toMatchObject({ ok: true, replayed: true });
    expect(dataOf(bench, "ask_resolved")).toHaveLength(1);
  });
});

/** Lets a script name the client's tool: scripts are checked against the tools that the deployment knows. */
const stand = defineTool({
  name: "pick",
  description: "Stands in.",
  params: z.strictObject({}),
  run: () => ({ content: "" }),
});

describe("SE-28: client tools", () => {
  const pick = {
    name: "pick",
    description: "Picks.",
    params: {
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"],
      additionalProperties: false,
    },
    safety: "read",
  };
  const yaml = (args: string): string => `replies: [{ reply: [{ call: pick, ${args} }] }, ${done}]`;
  const open: PlayOptions = { create: { client_tools: [pick] }, others: [stand] };

  test("SE-28: the call is parked for the client, whose output is the result", async () => {
    const played = await run(yaml("args: { n: 1 }"), open);
    const { bench } = played;
    expect(dataOf(bench, "ask_user")[0]?.ask).toMatchObject({
      kind: "client_tool",
      client_tool: { tool: "pick", input: { n: 1 } },
    });
    expect(dataOf(bench, "tool_call_start")).toHaveLength(1);
    await answer(played, { decision: "result", output: { picked: 1 } });
    expect(results(bench)).toEqual(['ok: {"picked":1}']);
    expect(dataOf(bench, "run_end")[0]?.result.tool_calls).toBe(1);
  });

  test("SE-28: an error of the client is an error result; none in time too", async () => {
    const failed = await run(yaml("args: { n: 1 }"), open);
    await answer(failed, { decision: "result", output: "no camera", is_error: true });
    expect(results(failed.bench)).toEqual(["error: no camera"]);
    const late = await run(yaml("args: { n: 1 }"), open);
    await late.bench.pass(day);
    expect(results(late.bench)[0]).toMatch(/^error: timeout: /);
  });

  test("SE-8 SE-31: a cancel does not say that what the client was given did not run", async () => {
    const { bench } = await run(yaml("args: { n: 1 }"), open);
    bench.ok("cancel");
    await bench.idle();
    expect(results(bench)).toEqual(["cancelled: cancelled: It was running; it may have taken effect."]);
  });

  test("SE-2 TB-38: arguments that do not fit the client's schema never reach it", async () => {
    const { bench } = await run(yaml("args: { n: x }"), open);
    expect(openAsks(bench)).toEqual([]);
    expect(results(bench)[0]).toMatch(/^error: invalid_arguments: /);
  });
});
