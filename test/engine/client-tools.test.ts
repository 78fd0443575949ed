import { expect, test } from "vitest";
import type { Bench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import { benchOf, eventsOf, lastEvent, lastText, refused, say, wireEnv } from "./harness.ts";

const pick = {
  name: "pick_color",
  description: "Lets the person pick a colour.",
  params: {
    type: "object",
    properties: { among: { type: "array", items: { type: "string" }, minItems: 1 } },
    required: ["among"],
    additionalProperties: false,
  },
};

const calling = (...args: string[]): string =>
  `replies: [${args.map((each) => `{ reply: [{ call: pick_color, ${each} }] }`).join(", ")}, { reply: [{ text: done }] }, { reply: [{ text: done }] }]`;

const extras = () => ({ toolboxes: [createProbe().toolbox], names: ["pick_color"] });

const open = async (yaml: string, create: object = { client_tools: [pick] }): Promise<Bench> => {
  const bench = await benchOf(yaml, extras(), create);
  bench.send("Go");
  await bench.idle();
  return bench;
};
const good = "args: { among: [red, blue] }";
const asks = (bench: Bench) => Object.values(bench.state().asks);

test("TB-38: a client tool is declared, its call is parked for the client, and the answer is its result", async () => {
  const bench = await open(scripted(calling(good)));
  expect(bench.requests[0]?.tools.find(({ name }) => name === "pick_color")).toEqual({
    name: pick.name,
    description: pick.description,
    schema: pick.params,
  });
  expect(asks(bench)).toMatchObject([
    { kind: "client_tool", client_tool: { tool: "pick_color", input: { among: ["red", "blue"] } } },
  ]);
  bench.crash();
  bench.ok("answer", { ask: asks(bench)[0]?.id, decision: "result", output: { color: "red" } });
  await bench.idle();
  expect(lastText(bench, "tool")).toBe('{"color":"red"}');
  expect(lastText(bench, "assistant")).toBe("done");
});

test("★ TB-38, TB-2: arguments that do not fit the schema go back to the model as invalid_arguments, no one is asked", async () => {
  const bench = await open(
    scripted(
      calling("args: { among: red }", "args: {}", "args: { among: [a], more: 1 }", 'raw_args: "{"', good),
    ),
  );
  const results = eventsOf(bench, "tool_call_end").map(({ output }) => String(output));
  expect(results).toHaveLength(4);
  expect(results.every((text) => text.startsWith("invalid_arguments: "))).toBe(true);
  expect(results[0]).toContain("among");
  expect(results[2]).toContain("more");
  expect(asks(bench)).toHaveLength(1);
});

test("TB-38, SE-29: an error of the client is an error result; an output over 1 MiB is refused and the ask stays open", async () => {
  const bench = await open(scripted(calling(good)));
  const ask = asks(bench)[0]?.id;
  const big = refused(bench, "answer", { ask, decision: "result", output: "é".repeat(524_289) });
  expect(big).toMatchObject({ code: "answer_invalid", errors: [{ pointer: "/output" }] });
  expect(refused(bench, "answer", { ask, decision: "result" }).code).toBe("answer_invalid");
  expect(refused(bench, "answer", { ask, decision: "approve" }).code).toBe("answer_invalid");
  expect(asks(bench)).toHaveLength(1);
  bench.ok("answer", { ask, decision: "result", output: "no screen", is_error: true });
  await bench.idle();
  expect(eventsOf(bench, "tool_call_end")[0]).toMatchObject({ outcome: "error", output: "no screen" });
});

test("MO-8: a failed result of nothing but white space has a text for a provider that refuses empty ones", async () => {
  const call = { call: pick.name, args: { among: ["red"] } };
  const fake = await startFakeProvider((_, count) => ({
    speech: { pieces: count === 0 ? [call] : [{ text: "done" }] },
  }));
  const yaml = `
providers:
  - { name: main, kind: anthropic, base_url: "${fake.url("anthropic")}", api_key: "\${KEY}", model: claude-sonnet-5-5 }
agents: [{ name: helper, effects: [], permissions: { preset: open } }]
`;
  const bench = await benchOf(yaml, { env: wireEnv(fake) }, { client_tools: [pick] });
  await say(bench);
  bench.ok("answer", { ask: asks(bench)[0]?.id, decision: "result", output: " \n", is_error: true });
  await bench.idle();
  await fake.close();
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed", result: { text: "done" } });
});

test("TB-38, SE-18: a long output of a client is cut like a tool's, and recall has all of it", async () => {
  const recalls = calling(good).replace(
    "{ reply: [{ text: done }] }",
    "{ reply: [{ call: recall, args: { id: b1, find: needle } }] }, { reply: [{ text: done }] }",
  );
  const bench = await open(scripted(recalls));
  const output = `${"x".repeat(50_000)}needle${"y".repeat(50_000)}`;
  bench.ok("answer", { ask: asks(bench)[0]?.id, decision: "result", output });
  await bench.idle();
  const [first, second] = eventsOf(bench, "tool_call_end");
  expect(String(first?.["output"]).length).toBeLessThanOrEqual(32_000);
  expect(String(first?.["output"]).length).toBeGreaterThan(31_900);
  expect(first).toMatchObject({ truncated: true });
  expect(String(second?.["output"])).toContain("needle");
});

test("SE-28: a client that does not answer in limits.asks.timeout leaves an error result", async () => {
  const bench = await open(
    scripted(calling(good), "options: { question_timeout: 5m }", "limits: { asks: { timeout: 1h } }"),
  );
  await bench.pass(300_000);
  expect(asks(bench)).toHaveLength(1);
  await bench.pass(3_300_000);
  expect(lastText(bench, "tool")).toBe("timeout: no result came from the client in time.");
});

test("AP-19: a model learns that a client cancelled its tool, and not that the time was over", async () => {
  const bench = await open(scripted(calling(good)));
  bench.ok("answer", { ask: asks(bench)[0]?.id, decision: "cancel" });
  await bench.idle();
  expect(lastText(bench, "tool")).toBe("cancelled: the client gives no result.");
});

test("TB-38, TB-6: client tools stand in the preset column custom: a reading one is free, another asks, locked denies", async () => {
  const under = async (preset: string, safety: string): Promise<readonly string[]> => {
    const yaml = scripted(calling(good)).replace("preset: open", `preset: ${preset}`);
    const bench = await open(yaml, { client_tools: [{ ...pick, safety }] });
    return asks(bench).map(({ kind }) => kind);
  };
  expect(await under("sandboxed", "read")).toEqual(["client_tool"]);
  expect(await under("sandboxed", "unsafe")).toEqual(["approval"]);
  expect(await under("locked", "read")).toEqual(["client_tool"]);
  expect(await under("locked", "unsafe")).toEqual([]);
});

test("TB-38, SE-30: an approved client call goes to the client with the approver's arguments, and the result says so", async () => {
  const bench = await open(scripted(calling(good)).replace("preset: open", "preset: ask"));
  const [approval] = asks(bench);
  expect(refused(bench, "answer", { ask: approval?.id, decision: "edit", input: { among: [] } }).code).toBe(
    "answer_invalid",
  );
  bench.ok("answer", { ask: approval?.id, decision: "edit", input: { among: ["green"] } });
  await bench.idle();
  expect(asks(bench)).toMatchObject([{ kind: "client_tool", client_tool: { input: { among: ["green"] } } }]);
  bench.ok("answer", { ask: asks(bench)[0]?.id, decision: "result", output: "green" });
  await bench.idle();
  expect(lastText(bench, "tool")).toBe('[arguments changed by the approver: {"among":["green"]}]\ngreen');
});

test("TB-38: names that clash and schemas that cannot be used are refused at create, with the field", async () => {
  const problem = async (tool: object, ...more: object[]) => {
    const bench = await benchOf(scripted(calling(good)), extras());
    const { code, detail, errors } = refused(bench, "create", { client_tools: [tool, ...more] });
    return [code, errors?.[0]?.pointer, detail];
  };
  for (const name of ["look", "ask_user", "recall"])
    expect((await problem({ ...pick, name })).slice(0, 2)).toEqual([
      "invalid_request",
      "/client_tools/0/name",
    ]);
  expect((await problem(pick, pick))[1]).toBe("/client_tools/1/name");
  const params = async (schema: unknown) => (await problem({ ...pick, params: schema }))[1];
  expect(await params("text")).toBe("/client_tools/0/params");
  expect(await params({ type: "array" })).toBe("/client_tools/0/params/type");
  expect(await params({ type: "object", $ref: "https://evil.example/x" })).toBe("/client_tools/0/params");
  expect(await params({ type: "object", description: "x".repeat(70_000) })).toBe("/client_tools/0/params");
});

test("TB-38: two sessions bring their own tools and see no others", async () => {
  const one = await open(scripted(calling(good)));
  const two = await open(scripted(calling(good)), { client_tools: [{ ...pick, name: "pick_size" }] });
  expect(two.requests[0]?.tools.map(({ name }) => name)).not.toContain("pick_color");
  expect(lastText(two, "tool")).toContain("unknown_tool");
  expect(asks(one)).toHaveLength(1);
});

test("AP-16: a model that the session chose goes together with its client tools", async () => {
  const bench = await open(scripted(calling(good)), { client_tools: [pick], model: "script" });
  expect(bench.requests[0]?.tools.map(({ name }) => name)).toContain("pick_color");
  bench.ok("patch", { model: null });
  bench.ok("answer", { ask: asks(bench)[0]?.id, decision: "result", output: "red" });
  await bench.idle();
  expect(bench.requests.at(-1)?.tools.map(({ name }) => name)).toContain("pick_color");
});

test("SE-42 SE-43 SE-44: a call that the client answered made progress, counts, and is an episode", async () => {
  const bench = await open(scripted(calling(good), "options: { no_progress_turns: 1 }"));
  bench.ok("answer", { ask: asks(bench)[0]?.id, decision: "result", output: { color: "red" } });
  await bench.idle();
  expect(eventsOf(bench, "episode_recorded")).toMatchObject([{ tool: "pick_color", success: true }]);
  expect(eventsOf(bench, "run_end")).toMatchObject([
    { state: "completed", result: { tool_counts: { pick_color: 1 } } },
  ]);
});
