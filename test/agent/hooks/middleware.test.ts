import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { ToolDefinition } from "../../../src/tools/define-tool.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { dataOf, ends, lastResult, onlyAsk, play, results, roles, run, textsOf } from "../loop/play.ts";

const say = (text: string): string => `{ reply: [{ text: ${JSON.stringify(text)} }] }`;

const guardrail = (params: string, more = ""): string =>
  `middleware: [{ kind: output_guardrail, params: { ${params} } }${more}]`;

describe("AG-37: output_guardrail", () => {
  test("AG-37: a text that breaks a rule fails the run, and is neither answer nor event", async () => {
    const { bench } = await run(`replies: [${say("-----BEGIN PRIVATE KEY-----")}]`, {
      agent: guardrail('must_not_contain: ["BEGIN PRIVATE KEY"], text: "Not shown."'),
    });
    expect(ends(bench)).toEqual(["failed:output_invalid"]);
    expect(lastResult(bench)).toMatchObject({
      text: "Not shown.",
      error: expect.stringContaining("not accepted"),
    });
    expect(JSON.stringify(dataOf(bench, "message_added"))).not.toContain("BEGIN PRIVATE KEY");
    expect(bench.chat().map(textsOf)).toEqual(["Go", "Not shown."]);
    const stored = bench.ok("messages", { retired: true }) as unknown as { data: readonly object[] };
    expect(JSON.stringify(stored)).toContain("BEGIN PRIVATE KEY");
    checkInvariants(bench, []);
  });

  test("AG-37: without a text of its own nothing stands for the answer", async () => {
    const { bench } = await run(`replies: [${say("abc")}, ${say("abcdef")}]`, {
      agent: guardrail("min_length: 5"),
    });
    expect(lastResult(bench).text).toBe("");
    bench.send("Again");
    await bench.idle();
    expect(ends(bench)).toEqual(["failed:output_invalid", "completed:end_turn"]);
    expect(lastResult(bench).text).toBe("abcdef");
  });

  test("AG-37: fails twice, then passes on retry: one answer", async () => {
    const { bench } = await run(`replies: [${say("one")}, ${say("two")}, ${say("yes, three")}]`, {
      agent: `${guardrail("must_contain: [yes], on_fail: retry")}\noptions: { max_iterations: 1 }`,
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).text).toBe("yes, three");
    expect(bench.requests).toHaveLength(3);
    expect(textsOf(bench.requests[1]?.messages.at(-1) ?? { parts: [] })).toContain(
      'does not contain \\"yes\\"'.replaceAll("\\", ""),
    );
    expect(dataOf(bench, "run_end")).toHaveLength(1);
  });

  test("AG-37: retries are bounded", async () => {
    const { bench } = await run(`replies: [${say("one")}, ${say("two")}, ${say("three")}]`, {
      agent: guardrail("must_contain: [yes], on_fail: retry, max_retries: 1"),
    });
    expect(ends(bench)).toEqual(["failed:output_invalid"]);
    expect(bench.requests).toHaveLength(2);
  });

  test("AG-37: replace puts its text in the answer's place, the run completes", async () => {
    const { bench } = await run(`replies: [${say("too long a text")}]`, {
      agent: guardrail('max_length: 5, on_fail: replace, text: "Short."'),
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).text).toBe("Short.");
    expect(roles(bench)).toEqual(["user", "assistant"]);
  });

  test("AG-37: a JSON Schema, and a check of the team's own", async () => {
    const schema = await run(`replies: [${say("{}")}]`, {
      agent: guardrail("schema: { type: object, required: [name] }"),
    });
    expect(ends(schema.bench)).toEqual(["failed:output_invalid"]);
    const checks = [
      { name: "polite", check: (text: string) => (text.includes("please") ? null : "it is not polite") },
    ];
    const own = await run(`replies: [${say("Do it.")}]`, { agent: guardrail("check: polite"), checks });
    expect(lastResult(own.bench).error).toContain("it is not polite");
    await expect(
      play(`replies: [${say("x")}]`, { agent: guardrail("check: polit"), checks }),
    ).rejects.toThrow(/polite/);
  });

  test("AG-37: the innermost guardrail checks first; a run that failed already is not checked", async () => {
    const { bench } = await run(`replies: [${say("x")}]`, {
      agent: guardrail(
        "must_contain: [outer], on_fail: fail",
        ', { kind: output_guardrail, params: { must_contain: [inner], on_fail: replace, text: "outer" } }',
      ),
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).text).toBe("outer");
    const limited = await run("replies: [{ reply: [{ call: look }] }]", {
      agent: `${guardrail("min_length: 5")}\noptions: { max_iterations: 1 }`,
    });
    expect(ends(limited.bench)).toEqual(["failed:max_iterations"]);
  });
});

describe("AG-37: timeout", () => {
  const timeout = (count: string): string =>
    `middleware: [{ kind: timeout, params: { duration: 10m, count: ${count} } }]`;
  const asking =
    'replies: [{ reply: [{ call: ask_user, args: { question: "Which?" } }] }, { reply: [{ call: look }] }]';
  const agent = (count: string): string => `${timeout(count)}\ntoolboxes: [ask, probe]`;
  const yaml = (count: string) => ({ agent: agent(count).replace(/^toolboxes.*$/m, "") });

  test("AG-37: active time stands still while a person is waited for, and goes on after the answer", async () => {
    const { bench } = await play(asking, yaml("active"));
    bench.send("Go");
    await bench.idle();
    await bench.pass(3_600_000);
    expect(ends(bench)).toEqual([]);
    bench.hold = true;
    bench.ok("answer", { ask: onlyAsk(bench), decision: "answer", text: "a" });
    await bench.steps();
    await bench.tick(599_000);
    expect(ends(bench)).toEqual([]);
    bench.crash();
    await bench.tick(2_000);
    await bench.steps();
    expect(ends(bench)).toEqual(["failed:deadline_exceeded"]);
  });

  test("AG-37: wall time goes on", async () => {
    const { bench } = await play(asking, yaml("wall"));
    bench.send("Go");
    await bench.idle();
    await bench.pass(600_000);
    expect(ends(bench)).toEqual(["failed:deadline_exceeded"]);
  });

  test("AG-37: killed during the timeout, it ends at the original time", async () => {
    const { bench } = await play(`replies: [${say("x")}]`, yaml("active"));
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    await bench.tick(300_000);
    bench.crash();
    await bench.steps();
    await bench.tick(299_000);
    expect(ends(bench)).toEqual([]);
    await bench.tick(1_500);
    await bench.steps();
    expect(ends(bench)).toEqual(["failed:deadline_exceeded"]);
  });
});

describe("AG-37: logger and recovery", () => {
  const loggers =
    "middleware: [{ kind: logger, params: { level: info } }, { kind: recovery }, { kind: logger, params: { level: warn, content: true } }]";

  test("AG-37: outer start, inner start, inner finish, outer finish; texts only where asked for", async () => {
    const { bench } = await run(`replies: [${say("Secret text.")}]`, { agent: loggers });
    expect(bench.logs.map(({ level, msg }) => `${String(level)} ${String(msg)}`)).toEqual([
      "info run_start",
      "warn run_start",
      "warn run_end",
      "info run_end",
    ]);
    const plain = JSON.stringify(bench.logs.filter(({ level }) => level === "info"));
    expect(plain).not.toContain("Secret text");
    expect(plain).toContain('"reason":"end_turn"');
    expect(bench.logs.map(({ agent }) => agent)).toEqual(Array(4).fill("tester"));
    expect(JSON.stringify(bench.logs.filter(({ level }) => level === "warn"))).toContain("Secret text.");
  });

  test("MO-41: what is wrong with an answer may quote it, so without content no line has the text of an error", async () => {
    const schema = "schema: { type: object, additionalProperties: false }";
    const { bench } = await run(`replies: [${say('{"canary":1}')}]`, {
      agent: guardrail(schema, `, ${loggers.replace(/^middleware: \[(.*)\]$/, "$1")}`),
    });
    expect(lastResult(bench).error).toContain("canary");
    const plain = bench.logs.filter((line) => !JSON.stringify(line).includes("canary"));
    expect(plain.map(({ level, msg, code, reason }) => [level, msg, code ?? reason])).toEqual([
      ["info", "run_start", undefined],
      ["warn", "run_start", undefined],
      ["error", "run_error", "output_invalid"],
      ["info", "run_end", "output_invalid"],
      ["error", "error", "output_invalid"],
    ]);
    expect(bench.logs).toHaveLength(7);
  });

  test("AG-37: an error is one line of level error", async () => {
    const { bench } = await run("replies: [{ fail: [{ status: 401 }], reply: [{ text: x }] }]", {
      agent: loggers,
    });
    const errors = bench.logs.filter(({ msg }) => msg === "run_error");
    expect(errors.map(({ level, agent }) => [level, agent])).toEqual([
      ["error", "tester"],
      ["error", "tester"],
    ]);
  });
});

describe("AG-37: recovery", () => {
  const thrown = (): never => {
    throw new Error("it broke\nat line 7");
  };
  const broken = (how: Partial<ToolDefinition>) =>
    defineTool({
      name: "brittle",
      description: "Breaks.",
      params: z.strictObject({}),
      run: () => ({ content: "ran" }),
      ...how,
    });

  test("AG-37: a check that throws fails the run, and the session goes on", async () => {
    const check = (text: string): string | null => (text === "one" ? thrown() : null);
    const { bench } = await run(`replies: [${say("one")}, ${say("two")}]`, {
      agent: guardrail('check: strict, on_fail: retry, text: "Not shown."'),
      checks: [{ name: "strict", check }],
    });
    expect(ends(bench)).toEqual(["failed:effect_failed"]);
    expect(lastResult(bench)).toMatchObject({ error: "output_guardrail: it broke", text: "Not shown." });
    bench.send("Again");
    await bench.idle();
    expect(ends(bench)).toEqual(["failed:effect_failed", "completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("AG-37: a check that returns neither a reason nor null fails the run", async () => {
    const check = (() => Promise.resolve(null)) as unknown as () => null;
    const { bench } = await run(`replies: [${say("one")}]`, {
      agent: guardrail("check: late"),
      checks: [{ name: "late", check }],
    });
    expect(ends(bench)).toEqual(["failed:effect_failed"]);
    expect(lastResult(bench).error).toBe("output_guardrail: check late returned neither a reason nor null");
  });

  test.each<[string, Partial<ToolDefinition>]>([
    ["subject", { subject: thrown }],
    ["safety", { safety: thrown }],
    ["timeout", { timeout: thrown }],
    ["params", { params: z.strictObject({}).refine(thrown) }],
    ["run", { run: thrown }],
  ])("AG-37: a tool whose %s throws is an error result, and the run goes on", async (_, how) => {
    const { bench } = await run(`replies: [{ reply: [{ call: brittle }] }, ${say("Done.")}]`, {
      tools: [broken(how)],
    });
    expect(results(bench)).toEqual([expect.stringMatching(/^error: failed: .*it broke$/)]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  });

  test("AG-37: a request that throws is an error result", async () => {
    const { bench } = await run(`replies: [{ reply: [{ call: brittle }] }, ${say("Done.")}]`, {
      tools: [
        defineTool({
          name: "brittle",
          description: "Breaks.",
          params: z.strictObject({}),
          request: thrown,
        }),
      ],
    });
    expect(results(bench)).toEqual(["error: failed: it broke"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("AG-37: subjects that are no list of texts are an error result", async () => {
    const subject = (() => "x") as unknown as () => readonly string[];
    const { bench } = await run(`replies: [{ reply: [{ call: brittle }] }, ${say("Done.")}]`, {
      tools: [broken({ subject })],
    });
    expect(results(bench)).toEqual(["error: failed: subject did not return a list of texts"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });
});
