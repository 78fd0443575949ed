import { describe, expect, test } from "vitest";
import type { Usage } from "../../../src/model/completer.ts";
import type { Play } from "../loop/play.ts";
import {
  dataOf,
  ends,
  headOf,
  openAsks,
  play,
  refused,
  results,
  roles,
  run,
  textsOf,
  typesAfter,
} from "../loop/play.ts";
import { done } from "../../support/scripts.ts";

const story = "{ reply: [{ reasoning: Hm. }, { text: Once upon a time }, { call: fire }] }";

const two = "{ reply: [{ call: fire, args: { name: a } }, { call: put, args: { name: b } }] }";

const thinking = async (): Promise<Play> => {
  const played = await play(`replies: [${story}, ${done}]`);
  played.bench.hold = true;
  played.bench.send("Go");
  await played.bench.steps();
  await played.bench.tick(25);
  return played;
};

const acting = async (): Promise<Play> => {
  const played = await play(`replies: [${two}, ${done}, ${done}]`, { instant: false });
  played.bench.send("Go");
  await played.bench.steps();
  return played;
};

describe("SE-31: cancel now", () => {
  test("SE-31: the model call is aborted; its visible text stays as a partial message without calls", async () => {
    const { bench, probe } = await thinking();
    bench.ok("cancel");
    await bench.steps();
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(bench.chat().at(-1)).toMatchObject({
      role: "assistant",
      marks: ["partial"],
      parts: [{ type: "text", text: "Once upon a time" }],
    });
    const aborted = dataOf(bench, "attempt_aborted")[0];
    expect(aborted).toMatchObject({ code: "cancelled" });
    expect(aborted?.items.length).toBeGreaterThan(0);
    bench.release();
    await bench.idle();
    expect(probe.calls).toEqual([]);
    expect(bench.alarm()).toBeNull();
    bench.send("Go on");
    await bench.idle();
    expect(bench.requests[1]?.messages.map(textsOf)).toEqual(["Go", "Once upon a time", "Go on"]);
  });

  test("SE-31: what a call says of its own end while it is cancelled is kept", async () => {
    const { bench, probe } = await acting();
    bench.ok("cancel");
    await bench.steps();
    probe.calls[0]?.finish({
      content: "Charged order 42, then stopped.",
      details: { order: 42 },
      status: "unknown",
    });
    await bench.idle();
    expect(results(bench)[0]).toBe(
      "cancelled: cancelled: It was running; it may have taken effect.\nCharged order 42, then stopped.",
    );
    expect(dataOf(bench, "tool_call_end").find(({ tool }) => tool === "fire")).toMatchObject({
      outcome: "cancelled",
      details: { order: 42 },
    });
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  });

  test("SE-31: an attempt that showed nothing leaves no message", async () => {
    const { bench } = await play(`replies: [${done}]`);
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.ok("cancel");
    await bench.steps();
    expect(roles(bench)).toEqual(["user"]);
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  });

  test("SE-31 ★: planned calls did not run, running ones get the signal and five seconds, every call has its result", async () => {
    const { bench, probe } = await acting();
    bench.ok("cancel");
    await bench.steps();
    expect(probe.calls[0]?.context.signal.aborted).toBe(true);
    expect(ends(bench)).toEqual([]);
    await bench.tick(4_999);
    expect(ends(bench)).toEqual([]);
    await bench.pass(1);
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(results(bench)).toEqual([
      "cancelled: cancelled: It was running; it may have taken effect.",
      "cancelled: cancelled: It did not run.",
    ]);
    bench.send("New");
    await bench.idle();
    expect(ends(bench)[1]).toBe("completed:end_turn");
  });

  test("SE-31: a call that ends well within its five seconds keeps its result", async () => {
    const { bench, probe } = await acting();
    bench.ok("cancel");
    probe.calls[0]?.finish();
    await bench.idle();
    expect(results(bench)[0]).toBe("ok: fire(a) done");
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  });

  test("SE-31, RE-14: a late outcome changes nothing; the log says that it came, not what it was", async () => {
    const { bench, probe } = await acting();
    bench.ok("cancel");
    await bench.pass(5_000);
    const before = bench.events();
    probe.calls[0]?.finish();
    await bench.steps();
    expect(bench.events()).toEqual(before);
    expect(bench.alarm()).toBeNull();
    const [run] = bench.events().flatMap((event) => event.run ?? []);
    const step = bench.events().find(({ type }) => type === "tool_call_start")?.call;
    expect(bench.logs).toEqual([
      { level: "info", msg: "late_outcome", session: bench.id, thread: "main", run, step, code: "ok" },
    ]);
  });

  test("SE-31: what comes within its time is no late outcome", async () => {
    const { bench, probe } = await acting();
    bench.ok("cancel");
    for (const call of probe.calls) call.finish();
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(bench.logs).toEqual([]);
  });

  test("SE-31: cancelling again does not buy the tool more time", async () => {
    const { bench } = await acting();
    bench.ok("cancel");
    await bench.tick(4_000);
    bench.ok("cancel");
    await bench.pass(1_000);
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  });

  test("SE-31: a parked call and its ask are cancelled; the ask takes no answer", async () => {
    const { bench } = await run(`replies: [{ reply: [{ call: ask_user, args: { question: q } }] }, ${done}]`);
    const [ask] = openAsks(bench);
    bench.ok("cancel");
    await bench.idle();
    expect(results(bench)).toEqual(["cancelled: cancelled: It did not run."]);
    expect(bench.perform("answer", { ask, decision: "answer", text: "x" })).toMatchObject({
      problem: {
        code: "ask_already_resolved",
        detail: "nobody has to answer this any more: its run is over, or needs no answer",
      },
    });
    expect(bench.alarm()).toBeNull();
  });

  test("SE-31: a retry wait ends at once", async () => {
    const { bench } = await run("replies: [{ fail: [{ status: 529 }], reply: [{ text: Ok. }] }]");
    bench.ok("cancel");
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    await bench.pass(600_000);
    expect(bench.requests).toHaveLength(1);
  });

  test("SE-31: without a run nothing happens; another run is refused", async () => {
    const { bench } = await run(`replies: [${done}, ${done}]`);
    const head = headOf(bench);
    expect(bench.ok("cancel")).toEqual({ run: null, seq: bench.state().head });
    expect(refused(bench, "cancel", { run: "run_7" })).toBe("run_not_active");
    expect(refused(bench, "cancel", { thread: "child" })).toBe("not_found");
    expect(headOf(bench)).toBe(head);
  });

  test("SE-31: acknowledged, killed, restarted: cancelled, and the provider is not called again", async () => {
    const { bench } = await thinking();
    bench.ok("cancel");
    bench.crash();
    bench.release();
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(bench.requests).toHaveLength(1);
    const during = await acting();
    during.bench.ok("cancel");
    during.bench.crash();
    await during.bench.idle();
    expect(ends(during.bench)).toEqual(["cancelled:cancelled"]);
    expect(during.probe.calls).toHaveLength(1);
    expect(during.bench.requests).toHaveLength(1);
  });
});

describe("SE-31: cancel after the turn", () => {
  test("SE-31: a live model call finishes, the calls it asks for do not start", async () => {
    const { bench, probe } = await thinking();
    bench.ok("cancel", { mode: "after_turn" });
    await bench.steps();
    expect(ends(bench)).toEqual([]);
    bench.release();
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(bench.chat()[1]).toMatchObject({ role: "assistant" });
    expect(results(bench)).toEqual(["cancelled: cancelled: It did not run."]);
    expect(probe.calls).toEqual([]);
  });

  test("SE-31: a running call finishes by its own deadline and unsignalled, unstarted ones are cancelled", async () => {
    const { bench, probe } = await acting();
    bench.ok("cancel", { mode: "after_turn" });
    await bench.tick(30_000);
    expect(ends(bench)).toEqual([]);
    expect(probe.calls[0]?.context.signal.aborted).toBe(false);
    probe.calls[0]?.finish();
    await bench.idle();
    expect(results(bench)).toEqual(["ok: fire(a) done", "cancelled: cancelled: It did not run."]);
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(bench.requests).toHaveLength(1);
  });

  test("SE-31: now after after_turn is now; after_turn after now changes nothing", async () => {
    const later = await acting();
    later.bench.ok("cancel", { mode: "after_turn" });
    await later.bench.tick(20_000);
    later.bench.ok("cancel");
    await later.bench.pass(5_000);
    expect(ends(later.bench)).toEqual(["cancelled:cancelled"]);
    const still = await acting();
    still.bench.ok("cancel");
    still.bench.ok("cancel", { mode: "after_turn" });
    await still.bench.pass(5_000);
    expect(ends(still.bench)).toEqual(["cancelled:cancelled"]);
  });

  test("SE-31 SE-33: a crash during the grace of after_turn ends the run, not the safety of its calls", async () => {
    const { bench, probe } = await acting();
    bench.ok("cancel", { mode: "after_turn" });
    bench.crash();
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(probe.calls).toHaveLength(1);
    expect(results(bench)[0]).toMatch(/^cancelled: .*may have taken effect/);
  });
});

describe("SE-33: after a crash", () => {
  const crashed = async (tool: string, agent = ""): Promise<Play> => {
    const played = await play(`replies: [{ reply: [{ call: ${tool}, args: { name: a } }] }, ${done}]`, {
      instant: false,
      agent,
    });
    played.bench.send("Go");
    await played.bench.steps();
    played.probe.instant = true;
    played.bench.crash();
    await played.bench.idle();
    return played;
  };

  test("SE-33: a running unsafe call is unknown and never repeated", async () => {
    const { bench, probe } = await crashed("fire");
    expect(probe.calls).toHaveLength(1);
    expect(results(bench)).toEqual([
      "unknown: unknown: The runtime was interrupted while this ran. Its outcome is unknown: check before repeating it.",
    ]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test.each(["look", "put"])(
    "SE-33: a running %s runs again, under the same key, without a second start event",
    async (tool) => {
      const { bench, probe } = await crashed(tool);
      expect(probe.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
      expect(new Set(probe.calls.map(({ key }) => key)).size).toBe(1);
      expect(dataOf(bench, "tool_call_start")).toHaveLength(1);
      expect(dataOf(bench, "tool_call_end")[0]?.permission?.verdict).toBe("allow");
      expect(dataOf(bench, "run_end")[0]?.result.tool_calls).toBe(1);
    },
  );

  test("SE-32: on_interrupt overrides the class", async () => {
    const again = await crashed("fire", "options: { on_interrupt: { fire: rerun } }");
    expect(again.probe.calls).toHaveLength(2);
    const never = await crashed("look", "options: { on_interrupt: { look: unknown } }");
    expect(never.probe.calls).toHaveLength(1);
    expect(results(never.bench)[0]).toMatch(/^unknown: /);
    const fails = await crashed("fire", "options: { on_interrupt: { fire: fail } }");
    expect(ends(fails.bench)).toEqual(["failed:internal"]);
    expect(results(fails.bench)[0]).toMatch(/^unknown: /);
  });

  test("SE-32: on_interrupt ask puts the repetition to a person; a steer instead leaves the outcome unknown", async () => {
    const asked = await crashed("fire", "options: { on_interrupt: { fire: ask } }");
    expect(asked.probe.calls).toHaveLength(1);
    asked.bench.ok("answer", { ask: openAsks(asked.bench)[0], decision: "approve" });
    await asked.bench.idle();
    expect(asked.probe.calls).toHaveLength(2);
    const steered = await crashed("fire", "options: { on_interrupt: { fire: ask } }");
    steered.bench.send("Leave it", { on_busy: "steer" });
    await steered.bench.idle();
    expect(results(steered.bench)[0]).toMatch(/^unknown: /);
  });

  test.each([
    ["denied", "Leave it."],
    ["not answered", "this call was not approved in time."],
  ])("SE-32 RE-P5: the repetition is %s: what the first run did stays unknown", async (what, why) => {
    const { bench, probe } = await crashed("fire", "options: { on_interrupt: { fire: ask } }");
    const [ask] = openAsks(bench);
    if (what === "denied") bench.ok("answer", { ask, decision: "deny", message: why });
    else await bench.pass(86_400_000);
    await bench.idle();
    expect(probe.calls).toHaveLength(1);
    expect(dataOf(bench, "tool_call_end").map(({ outcome }) => outcome)).toEqual(["unknown"]);
    expect(results(bench)[0]).toMatch(/^unknown: unknown: The runtime was interrupted/);
    expect(results(bench)[0]).toContain(why);
  });

  test("SE-32 SE-30 RE-P5: a repetition is approved by itself, not by what is remembered for others", async () => {
    const replies = `replies: [{ reply: [{ call: fire, args: { name: a } }, { call: submit }] }, ${done}]`;
    const { bench, probe } = await play(replies, {
      instant: false,
      agent: "options: { on_interrupt: { fire: ask } }",
      team: "permissions: { rules: [{ tool: submit, action: ask }] }",
    });
    bench.send("Go");
    await bench.steps();
    bench.crash();
    await bench.steps();
    const [submit = ""] = openAsks(bench);
    bench.ok("answer", { ask: submit, decision: "approve", remember: "session" });
    await bench.steps();
    expect(openAsks(bench)).toHaveLength(1);
    expect(probe.names()).toEqual(["fire(a)", "submit()"]);
  });

  test("SE-33: a call is rerun three times, then unknown", async () => {
    const { bench, probe } = await play(`replies: [{ reply: [{ call: look }] }, ${done}]`, {
      instant: false,
    });
    bench.send("Go");
    for (let crash = 0; crash < 5; crash++) {
      await bench.steps();
      bench.crash();
    }
    await bench.idle();
    expect(probe.calls).toHaveLength(4);
    expect(results(bench)[0]).toMatch(/^unknown: /);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("SE-33: of three parallel calls the one that is done stays", async () => {
    const three =
      "{ reply: [{ call: fire, args: { name: a } }, { call: fire, args: { name: b } }, { call: look, args: { name: c } }] }";
    const { bench, probe } = await play(`replies: [${three}, ${done}]`, { instant: false });
    bench.send("Go");
    await bench.steps();
    probe.calls[1]?.finish();
    await bench.steps();
    probe.instant = true;
    bench.crash();
    await bench.idle();
    expect(probe.names()).toEqual(["fire(a)", "fire(b)", "look(c)", "look(c)"]);
    expect(results(bench).map((text) => text.split(":")[0])).toEqual(["unknown", "ok", "ok"]);
  });

  test("SE-33: an interrupted attempt is said, and the same request is made again", async () => {
    const { bench } = await thinking();
    bench.crash();
    bench.release();
    await bench.idle();
    expect(dataOf(bench, "attempt_aborted")[0]).toMatchObject({ code: "interrupted" });
    expect(bench.requests[1]?.messages).toEqual(bench.requests[0]?.messages);
    expect(bench.requests[1]?.context.attempt).toBe(2);
    expect(roles(bench).slice(0, 2)).toEqual(["user", "assistant"]);
  });

  test("SE-33 ★: ten attempts that died poison the run; they are spaced from the third on, the session stays usable", async () => {
    const { bench } = await play(`replies: [${done}]`);
    bench.hold = true;
    bench.send("Go");
    const waits: number[] = [];
    for (let crash = 0; crash < 10; crash++) {
      await bench.steps();
      bench.crash();
      const phase = bench.state().threads["main"]?.run?.phase;
      const at = phase?.at === "waiting" ? phase.wait.until - bench.now() : 0;
      waits.push(at);
      if (at > 0) await bench.tick(at);
    }
    expect(waits).toEqual([0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 0]);
    expect(ends(bench)).toEqual(["failed:poisoned"]);
    expect(bench.requests).toHaveLength(10);
    expect(bench.alarm()).toBeNull();
    bench.release();
    bench.send("Again");
    await bench.idle();
    expect(ends(bench)[1]).toBe("completed:end_turn");
  });

  test("SE-33: an attempt that ended well starts the count of dead ones again", async () => {
    const { bench, probe } = await play(`replies: [{ reply: [{ call: look }] }, ${done}]`, {
      instant: false,
    });
    bench.hold = true;
    bench.send("Go");
    for (let crash = 0; crash < 2; crash++) {
      await bench.steps();
      bench.crash();
    }
    await bench.steps();
    bench.release();
    await bench.steps();
    bench.hold = true;
    probe.calls[0]?.finish();
    await bench.steps();
    bench.crash();
    expect(bench.state().threads["main"]?.run?.phase.at).toBe("thinking");
    bench.release();
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("SE-33 MO-33: lost attempts stand in the ledger, estimated, with a price", async () => {
    const { bench } = await thinking();
    bench.crash();
    bench.ok("cancel");
    bench.release();
    await bench.idle();
    expect(bench.ledger().map(({ outcome }) => outcome)).toEqual(["interrupted", "cancelled"]);
    const result = dataOf(bench, "run_end")[0]?.result;
    expect(result).toMatchObject({ estimated: true, cost_usd: 0 });
    expect(result?.usage.input).toBeGreaterThan(0);
  });
});

describe("MO-32: what a lost attempt is booked at", () => {
  const longStory = `{ reply: [{ reasoning: { repeat: "Hm. ", times: 100 } }, { text: { repeat: "Once. ", times: 100 } }] }`;
  const booked = ({ bench }: Play): readonly { readonly outcome: string; readonly usage: Usage }[] =>
    bench.ledger().map(({ outcome, usage }) => ({ outcome, usage }));
  /** The attempt has shown all of its story, and hangs. */
  const told = async (agent = ""): Promise<Play & { readonly prompt: number }> => {
    const played = await play(`replies: [${longStory}, ${done}]`, { agent });
    const { bench } = played;
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    await bench.tick(25);
    const [request] = dataOf(bench, "llm_request_start");
    return { ...played, prompt: request?.estimated_tokens ?? 0 };
  };

  test("MO-32 EF-39: a cancelled attempt is booked at its prompt and all that it has shown, reasoning too", async () => {
    const played = await told();
    played.bench.ok("cancel");
    await played.bench.steps();
    const { prompt } = played;
    expect(booked(played)).toMatchObject([
      { outcome: "cancelled", usage: { input: prompt, output: 250, total: prompt + 250 } },
    ]);
    expect(dataOf(played.bench, "run_end")[0]?.result.usage).toMatchObject({ output: 250 });
  });

  test("MO-32 EF-39: no more is booked for a cancelled attempt than its request's max_tokens", async () => {
    const played = await told("max_tokens: 100");
    played.bench.ok("cancel");
    await played.bench.steps();
    const { prompt } = played;
    expect(booked(played)).toMatchObject([{ usage: { input: prompt, output: 100, total: prompt + 100 } }]);
  });

  test("MO-32 SE-33: an attempt that a crash cut off is booked at its prompt and what is stored of its words", async () => {
    const played = await told();
    const { bench, prompt } = played;
    const phase = bench.state().threads["main"]?.run?.phase;
    const [, id = ""] = phase?.at === "thinking" ? phase.items : [];
    const item = JSON.stringify({ id, thread: "main", kind: "text", attempt: 1, text: "Once. ".repeat(90) });
    bench.sql(`INSERT OR REPLACE INTO items VALUES ('${id}', '${item}')`);
    bench.crash();
    bench.release();
    await bench.idle();
    expect(booked(played)[0]).toMatchObject({
      outcome: "interrupted",
      usage: { input: prompt, output: 135, total: prompt + 135 },
    });
  });
});

describe("SE-34: one alarm", () => {
  test("SE-34: a session at rest has none, before its first input and after its last run", async () => {
    const { bench } = await play(`replies: [${done}]`);
    expect(bench.alarm()).toBeNull();
    bench.send("Go");
    await bench.idle();
    expect(bench.alarm()).toBeNull();
    await bench.pass(600_000);
    expect(bench.events().at(-1)?.type).toBe("run_end");
  });

  test("SE-34: it is the earliest of all deadlines", async () => {
    const agent = "middleware: [{ kind: timeout, params: { duration: 1h, count: wall } }]";
    const { bench } = await run(
      `replies: [{ reply: [{ call: ask_user, args: { question: q } }] }, ${done}]`,
      { agent },
    );
    expect(bench.alarm()).toBe(bench.now() + 3_600_000);
    await bench.pass(3_600_000);
    expect(ends(bench)).toEqual(["failed:deadline_exceeded"]);
    expect(bench.alarm()).toBeNull();
  });

  test("SE-34: an outcome of an older isolate is refused", async () => {
    const { bench, probe } = await acting();
    const [old] = probe.calls;
    bench.crash();
    await bench.steps();
    const head = headOf(bench);
    old?.finish();
    await bench.steps();
    expect(typesAfter(bench, head)).not.toContain("tool_call_end");
  });
});
