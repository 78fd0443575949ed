import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineMiddleware } from "../../../src/agent/definition/guard.ts";
import type {
  FinishResult,
  MiddlewareRun,
  RunOutcome,
  StartResult,
} from "../../../src/agent/definition/guard.ts";
import { createEngine } from "../../../src/engine/create.ts";
import { chatOf, childIds, crew, delegate, endings } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { insist, settleSoon } from "../../support/power-cut.ts";
import { createProbe } from "../../support/probe.ts";
import { replies, said, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf, ends, lastResult, play, run, textsOf } from "../loop/play.ts";

/** Middleware of a team's own, from YAML (AG-37). */

const say = (text: string): string => `{ reply: [{ text: ${JSON.stringify(text)} }] }`;

/** Middleware `own` that notes each call of its hooks, with its name from YAML. */
const spy = (
  hooks: {
    readonly start?: (name: string, run: MiddlewareRun) => StartResult;
    readonly finish?: (name: string, outcome: RunOutcome, run: MiddlewareRun) => FinishResult;
  } = {},
) => {
  const seen: string[] = [];
  const own = defineMiddleware({
    kind: "own",
    params: z.strictObject({ name: z.string() }),
    start: (run, { name }) => {
      seen.push(`start ${name} ${run.agent} ${run.depth} ${run.task}`);
      return hooks.start?.(name, run) ?? {};
    },
    finish: (run, outcome, { name }) => {
      seen.push(`finish ${name} ${run.agent} ${outcome.text}`);
      return hooks.finish?.(name, outcome, run) ?? {};
    },
  });
  return { seen, middleware: [own] };
};

const named = (...names: readonly string[]): string =>
  `middleware: [${names.map((name) => `{ kind: own, params: { name: ${name} } }`).join(", ")}]`;

describe("AG-37: order", () => {
  test("★ AG-37: outer start, inner start, inner finish, outer finish, once a run", async () => {
    const { seen, middleware } = spy();
    const script = `replies: [{ reply: [{ call: look, args: { name: a } }] }, ${say("Done.")}, ${say("Again.")}]`;
    const { bench } = await run(script, { agent: named("outer", "inner"), middleware });
    const order = [
      "start outer tester 0 Go",
      "start inner tester 0 Go",
      "finish inner tester Done.",
      "finish outer tester Done.",
    ];
    expect(seen).toEqual(order);
    bench.send("More");
    await bench.idle();
    expect(seen.slice(4)).toEqual([
      "start outer tester 0 More",
      "start inner tester 0 More",
      "finish inner tester Again.",
      "finish outer tester Again.",
    ]);
  });

  test("AG-37: its place among guardrails is that of the list", async () => {
    const { middleware } = spy({ finish: (_, { text }) => ({ text: `${text}!` }) });
    const guardrail = "{ kind: output_guardrail, params: { must_contain: ['!'] } }";
    const own = "{ kind: own, params: { name: a } }";
    const inside = await run(`replies: [${say("Hi")}]`, {
      agent: `middleware: [${guardrail}, ${own}]`,
      middleware,
    });
    expect(ends(inside.bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(inside.bench).text).toBe("Hi!");
    const outside = await run(`replies: [${say("Hi")}]`, {
      agent: `middleware: [${own}, ${guardrail}]`,
      middleware,
    });
    expect(ends(outside.bench)).toEqual(["failed:output_invalid"]);
  });

  test("★ AG-37: children have it too, around their reports", async () => {
    const { seen, middleware } = spy({
      start: (name) => ({ note: `Note of ${name}.` }),
      finish: (_, { text }) => ({ text: `${text} Signed.` }),
    });
    const made = await crew(
      [
        { name: "lead", script: replies(said(delegate("coder")), said("Done.")) },
        {
          name: "coder",
          script: replies(said(["task_complete", { status: "completed", summary: "Coded." }])),
          yaml: named("a"),
        },
      ],
      { middleware },
    );
    made.bench.send("Go");
    await made.bench.idle();
    const [coder = ""] = childIds(made);
    expect(endings(made)).toEqual(["coder completed:terminal_tool", "lead completed:end_turn"]);
    expect(seen).toEqual(
      ["start a coder 1 Do it", "finish a coder Coded."].map(
        (line) => expect.stringMatching(new RegExp(`^${line.replace("Do it", ".*")}$`)) as string,
      ),
    );
    expect(chatOf(made, coder).map(textsOf).join("\n")).toContain("Note of a.");
    expect(JSON.stringify(chatOf(made, "main"))).toContain("Coded. Signed.");
    checkInvariants(made.bench, ["in_1"]);
  });
});

describe("AG-37: start", () => {
  test("AG-37: a run that is planned first is started once, before its plan", async () => {
    const { seen, middleware } = spy({ start: () => ({ note: "Be brief." }) });
    const { bench } = await run(`replies: [${say("1. Answer.")}, ${say("Done.")}]`, {
      agent: `${named("a")}\noptions: { plan_before_execute: true }`,
      middleware,
    });
    expect(bench.chat().map(textsOf).slice(0, 3)).toEqual(["Go", "Be brief.", "1. Answer."]);
    expect(seen).toEqual(["start a tester 0 Go", "finish a tester Done."]);
  });

  test("AG-37: its notes follow the input, the outer one first", async () => {
    const { middleware } = spy({ start: (name) => ({ note: `I am ${name}.` }) });
    const { bench } = await run(`replies: [${say("Done.")}]`, { agent: named("outer", "inner"), middleware });
    expect(bench.chat().map(textsOf)).toEqual(["Go", "I am outer.", "I am inner.", "Done."]);
    expect(JSON.stringify(bench.requests[0]?.messages)).toContain("I am inner.");
    checkInvariants(bench, ["in_1"]);
  });

  test.each([
    ["a reason to fail", () => ({ fail: "not today" }), "own: not today"],
    [
      "a throw",
      () => {
        throw new Error("broken");
      },
      "own: broken",
    ],
    ["a promise", () => Promise.reject(new Error("late")) as never, "own: start may return only"],
    ["something else", () => ({ retry: "x" }) as never, "own: start may return only"],
    ["a note that is too long", () => ({ note: "x".repeat(8_001) }), "own: its note has more than 8000"],
  ])("AG-37: %s ends the run before the model is asked, and the session goes on", async (_, start, error) => {
    let fails = true;
    const { seen, middleware } = spy({ start: () => (fails ? start() : {}) });
    const { bench } = await run(`replies: [${say("Done.")}]`, { agent: named("outer", "inner"), middleware });
    expect(ends(bench)).toEqual(["failed:effect_failed"]);
    expect(lastResult(bench).error).toContain(error);
    expect(bench.requests).toEqual([]);
    expect(seen).toEqual(["start outer tester 0 Go"]);
    fails = false;
    bench.send("Again");
    await bench.idle();
    expect(ends(bench)).toEqual(["failed:effect_failed", "completed:end_turn"]);
  });
});

describe("AG-37: finish", () => {
  test("AG-37: fail ends the run output_invalid, its text instead of the answer", async () => {
    const { middleware } = spy({ finish: () => ({ fail: "it is rude", text: "Not shown." }) });
    const { bench } = await run(`replies: [${say("Rude.")}]`, { agent: named("a"), middleware });
    expect(ends(bench)).toEqual(["failed:output_invalid"]);
    expect(lastResult(bench)).toMatchObject({
      text: "Not shown.",
      error: expect.stringContaining("it is rude") as string,
    });
    expect(JSON.stringify(dataOf(bench, "message_added"))).not.toContain("Rude.");
  });

  test("AG-37: retry injects the reason and says how often it was; one answer in the end", async () => {
    const { seen, middleware } = spy({
      finish: (_, { text, retries }) => (text === "three" ? {} : { retry: `try ${retries} was short` }),
    });
    const script = `replies: [${say("one")}, ${say("two")}, ${say("three")}]`;
    const { bench } = await run(script, {
      agent: `${named("a")}\noptions: { max_iterations: 1 }`,
      middleware,
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).text).toBe("three");
    expect(textsOf(bench.requests[2]?.messages.at(-1) ?? { parts: [] })).toContain(
      "not accepted: try 1 was short",
    );
    expect(seen.filter((line) => line.startsWith("finish"))).toHaveLength(3);
  });

  test("AG-37: middleware that is never content fails the run after 20 retries", async () => {
    const { middleware } = spy({ finish: () => ({ retry: "more" }) });
    const { bench } = await run(`scenes: [{ name: a, reply: [{ text: x }] }]`, {
      agent: named("a"),
      middleware,
    });
    expect(ends(bench)).toEqual(["failed:output_invalid"]);
    expect(bench.requests).toHaveLength(21);
  });

  test.each([
    [
      "a throw",
      () => {
        throw new Error("broken");
      },
      "own: broken",
    ],
    ["a promise", () => Promise.resolve({}) as never, "own: finish may return only"],
    ["both", () => ({ fail: "a", retry: "b" }), "own: finish may not return both"],
  ])("AG-37: %s ends the run effect_failed without its answer", async (_, finish, error) => {
    const { middleware } = spy({ finish });
    const { bench } = await run(`replies: [${say("Hi")}]`, { agent: named("a"), middleware });
    expect(ends(bench)).toEqual(["failed:effect_failed"]);
    expect(lastResult(bench)).toMatchObject({ text: "", error: expect.stringContaining(error) as string });
  });

  test("AG-37: a run that failed already is not shown to it", async () => {
    const { seen, middleware } = spy();
    const { bench } = await run("replies: [{ reply: [{ call: look }] }]", {
      agent: `${named("a")}\noptions: { max_iterations: 1 }`,
      middleware,
    });
    expect(ends(bench)).toEqual(["failed:max_iterations"]);
    expect(seen).toEqual(["start a tester 0 Go"]);
  });
});

test("★ AG-37: the power cut at every write: one note, one answer, as many retries as without", async () => {
  const script = `replies: [{ reply: [{ call: look, args: { name: a } }] }, ${say("one")}, ${say("two")}]`;
  const hooks = {
    start: (): StartResult => ({ note: "Be brief." }),
    finish: (_: string, { text, retries }: RunOutcome): FinishResult =>
      text === "one" && retries === 0 ? { retry: "once more" } : { text: `${text}.` },
  };
  let survived = 0;
  for (let write = 1; ; write++) {
    const { bench } = await play(script, { agent: named("a"), middleware: spy(hooks).middleware });
    const before = bench.writes();
    bench.cutAt(write);
    insist(bench, "send", { content: "Go" }, "k1");
    await settleSoon(bench);
    const struck = bench.writes() - before >= write;
    bench.cutAt(null);
    bench.crash();
    await settleSoon(bench);
    expect(ends(bench), `write ${write}`).toEqual(["completed:end_turn"]);
    const texts = bench.chat().map(textsOf);
    expect(
      texts.filter((text) => text === "Be brief."),
      `write ${write}`,
    ).toHaveLength(1);
    expect(
      texts.filter((text) => text.includes("once more")),
      `write ${write}`,
    ).toHaveLength(1);
    expect(lastResult(bench).text, `write ${write}`).toBe("two.");
    checkInvariants(bench, []);
    survived += 1;
    if (!struck) break;
  }
  expect(survived).toBeGreaterThan(8);
});

test("AG-37: without the middleware that its definition needs, an agent waits and says so", async () => {
  const { middleware } = spy();
  const toolboxes = [createProbe(true).toolbox];
  const yaml = scripted(`replies: [${say("Done.")}]`, named("a"));
  const { team } = await engineOf(yaml, { middleware, toolboxes });
  const { bench } = await play("", { yaml, middleware });
  const engine = createEngine({ team, env: {}, toolboxes });
  expect(engine.agent("tester", bench.state()).missing).toContain("middleware own");
});

describe("AG-37: finish of a run that ends without words", () => {
  test("AG-37: after a terminal call", async () => {
    const submit = "replies: [{ reply: [{ call: submit, args: {} }] }]";
    const { seen, middleware } = spy({ finish: () => ({ fail: "say something" }) });
    const { bench } = await run(submit, { agent: named("a"), middleware });
    expect(seen.at(-1)).toBe("finish a tester ");
    expect(ends(bench)).toEqual(["failed:output_invalid"]);
  });

  test("AG-37: after empty replies, in whose place it may put a text", async () => {
    const { seen, middleware } = spy({ finish: () => ({ text: "Nothing to say." }) });
    const empty = "{ reply: [] }";
    const script = `replies: [{ reply: [{ call: look, args: { name: a } }] }, ${empty}, ${empty}, ${empty}]`;
    const { bench } = await run(script, {
      agent: `middleware: [{ kind: output_guardrail, params: { min_length: 3 } }, { kind: own, params: { name: a } }]`,
      middleware,
    });
    expect(seen.at(-1)).toBe("finish a tester ");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).text).toBe("Nothing to say.");
    checkInvariants(bench, ["in_1"]);
  });
});
