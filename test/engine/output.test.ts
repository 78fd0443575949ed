import { afterAll, beforeAll, expect, test } from "vitest";
import { cpuOf } from "../support/cpu.ts";
import { outputProblems } from "../../src/engine/models/output-check.ts";
import { schemaProblem } from "../../src/tools/schema/json-schema-check.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { scripted } from "../support/scripts.ts";
import { createProbe } from "../support/probe.ts";
import { benchOf, eventsOf, lastText, refused, say, wireEnv } from "./harness.ts";

const answers = (...texts: string[]): string =>
  `replies: [${texts.map((text) => `{ reply: [{ text: ${JSON.stringify(text)} }] }`).join(", ")}]`;

const schema =
  "{ type: object, properties: { n: { type: integer } }, required: [n], additionalProperties: false }";
const byAgent = `options: { response_format: json_schema, response_schema: ${schema} }`;

const run = async (replies: string, agent = "", create: object = {}, input: object = {}) => {
  const bench = await benchOf(scripted(replies, agent), { toolboxes: [createProbe().toolbox] }, create);
  return { bench, end: await say(bench, "Go", input) };
};

test("SE-14: an answer that fits the agent's schema ends the run", async () => {
  const { bench, end } = await run(answers('{"n":4}'), byAgent);
  expect(end).toMatchObject({ state: "completed", reason: "end_turn" });
  expect(bench.requests).toHaveLength(1);
  expect(bench.requests[0]?.responseFormat).toMatchObject({ type: "json_schema" });
});

test("SE-14: a violation becomes a note with path and rule, and an uncounted repair turn", async () => {
  const { bench, end } = await run(
    answers("four", '{"n":"4"}', '{"n":4}'),
    byAgent.replace("{ resp", "{ max_iterations: 1, resp"),
  );
  expect(end).toMatchObject({ state: "completed" });
  const notes = bench.chat().filter(({ marks }) => marks?.includes("note"));
  const texts = notes.map(({ parts }) => (parts[0]?.type === "text" ? parts[0].text : ""));
  expect(texts[0]).toContain("the answer is not JSON");
  expect(texts[1]).toMatch(/n: .*expected/i);
  expect(bench.requests.map(({ context }) => context.purpose)).toEqual(["turn", "repair", "repair"]);
});

test("SE-14: after two repairs the run fails output_invalid", async () => {
  const { bench, end } = await run(answers("a", "b", "c", "d"), byAgent);
  expect(end).toMatchObject({ state: "failed", reason: "output_invalid" });
  expect(bench.requests).toHaveLength(3);
  expect(end["error"]).toMatchObject({ detail: expect.stringContaining("not JSON") });
});

test("SE-14: a schema may be JSON text, and json_object asks for any object", async () => {
  const text = `options: { response_format: json_schema, response_schema: '{"type":"object","required":["n"]}' }`;
  expect((await run(answers('{"n":1}'), text)).bench.requests).toHaveLength(1);
  const any = "options: { response_format: json_object }";
  expect((await run(answers('{"x":1}'), any)).bench.requests).toHaveLength(1);
  for (const wrong of ["[1]", "3", "null", "no"]) {
    const { bench } = await run(answers(wrong, "{}"), any);
    expect(bench.requests, wrong).toHaveLength(2);
  }
});

test("SE-14: an input's output_schema overrides the session's, which overrides the agent's", async () => {
  const of = (name: string) => ({ type: "object", required: [name] });
  const own = await run(answers('{"n":4}', '{"n":4}'), byAgent, { output_schema: of("s") });
  expect(own.bench.requests.length).toBeGreaterThan(1);
  const session = await run(answers('{"s":4}'), byAgent, { output_schema: of("s") });
  expect(session.end).toMatchObject({ state: "completed" });
  expect(session.bench.requests[0]?.responseFormat).toEqual({ type: "json_schema", schema: of("s") });
  const input = await run(
    answers('{"i":4}'),
    byAgent,
    { output_schema: of("s") },
    { output_schema: of("i") },
  );
  expect(input.end).toMatchObject({ state: "completed" });
  expect(input.bench.requests[0]?.responseFormat).toEqual({ type: "json_schema", schema: of("i") });
});

test("SE-14: a run without a schema takes any text, and a tool turn is never checked", async () => {
  expect((await run(answers("plain words"))).bench.requests).toHaveLength(1);
  const calls = `replies: [{ reply: [{ text: not json }, { call: look }] }, { reply: [{ text: '{"n":1}' }] }]`;
  const { bench, end } = await run(calls, byAgent);
  expect(end).toMatchObject({ state: "completed" });
  expect(bench.requests).toHaveLength(2);
});

test("AP-16, AP-18: a schema that cannot be used is refused with its reason, and nothing is stored", async () => {
  const bench = await benchOf(scripted(answers("x")), { toolboxes: [createProbe().toolbox] });
  const wrong: readonly [unknown, string][] = [
    ["text", "a JSON Schema is an object"],
    [[], "a JSON Schema is an object"],
    [{ $ref: "https://evil.example/schema" }, "only references inside"],
    [{ description: "x".repeat(70_000) }, "longer than 64 KiB"],
    [JSON.parse('{"not":'.repeat(20) + "{}" + "}".repeat(20)), "nested deeper than 16"],
  ];
  for (const [output_schema, reason] of wrong) {
    const problem = refused(bench, "create", { output_schema });
    expect(problem.code).toBe("output_schema_invalid");
    expect(problem.detail).toContain(reason);
    expect(problem.detail).toContain("/output_schema");
  }
  expect(refused(bench, "get").code).toBe("not_found");
  bench.ok("create");
  expect(refused(bench, "send", { content: "Hi", output_schema: "x" }).code).toBe("output_schema_invalid");
  expect(bench.chat()).toEqual([]);
});

test("SE-14: schemas inside: references, unions, numbers, formats and patterns that are not run", () => {
  const fits = (value: unknown, given: object): boolean =>
    outputProblems(JSON.stringify(value), "json_schema", given as never).length === 0;
  const referring = {
    $defs: { n: { type: "integer", minimum: 2 } },
    type: "object",
    properties: { a: { $ref: "#/$defs/n" } },
  };
  expect(fits({ a: 2 }, referring)).toBe(true);
  expect(fits({ a: 1 }, referring)).toBe(false);
  expect(fits("x", { anyOf: [{ type: "string" }, { type: "null" }] })).toBe(true);
  expect(fits(3, { anyOf: [{ type: "string" }, { type: "null" }] })).toBe(false);
  expect(fits("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", { type: "string", pattern: "^(a+)+$" })).toBe(true);
  expect(
    fits(
      { pattern: 1 },
      { type: "object", properties: { pattern: { type: "integer" } }, required: ["pattern"] },
    ),
  ).toBe(true);
  expect(
    fits(
      { xy: 1 },
      { type: "object", patternProperties: { "^x": { type: "integer" } }, additionalProperties: false },
    ),
  ).toBe(true);
  expect(fits({ y: 1 }, { type: "object", properties: {}, additionalProperties: false })).toBe(false);
});

test("T28: no schema a caller can send takes long to be refused or used", async () => {
  const wide = { anyOf: Array.from({ length: 2_000 }, (_, at) => ({ const: at })) };
  const deep = JSON.parse('{"properties":{"a":'.repeat(7) + "{}" + "}}".repeat(7)) as object;
  const self = { $defs: { x: { $ref: "#/$defs/x" } }, $ref: "#/$defs/x" };
  const took = await cpuOf(() => {
    for (const given of [wide, deep, self]) {
      if (schemaProblem(given as never) !== null) continue;
      outputProblems("[[[[1]]]]", "json_schema", given as never);
    }
  });
  expect(took).toBeLessThan(2_000);
});

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider(() => ({ speech: { pieces: [{ text: '{"n":1}' }] } }));
});
afterAll(() => fake.close());

test("MO-11, MO-14: a model with a strict mode is asked in it, one without is told in its prompt", async () => {
  const asked = async (kind: "openai" | "compatible", model: string): Promise<string> => {
    const yaml = `
providers: [{ name: p, kind: ${kind === "openai" ? kind : "openai-compatible"}, base_url: "${fake.url(kind)}", api_key: "\${KEY}", model: ${model} }]
agents: [{ name: helper, effects: [], ${byAgent} }]`;
    const bench = await benchOf(yaml, { env: wireEnv(fake) }, {});
    expect(await say(bench)).toMatchObject({ state: "completed" });
    expect(lastText(bench, "assistant")).toBe('{"n":1}');
    expect(eventsOf(bench, "error")).toEqual([]);
    return fake.requests.at(-1)?.text ?? "";
  };
  expect(await asked("openai", "gpt-4o")).toContain('"strict":true');
  const told = await asked("compatible", "house");
  expect(told).not.toContain("response_format");
  expect(told).toContain("JSON Schema");
});
