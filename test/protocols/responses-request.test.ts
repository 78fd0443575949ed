import { OpenAI } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Message, Part } from "../../src/chat/message.ts";
import type { ModelRequest } from "../../src/model/completer.ts";
import { checkBody } from "../support/fake-provider-check.ts";
import { message, requestOf, result, wireOf } from "../support/fake-provider-client.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { sealFor } from "../support/fake-provider-fields.ts";

interface Body {
  readonly input: readonly Readonly<Record<string, unknown>>[];
  readonly [key: string]: unknown;
}

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const build = (fields: Partial<ModelRequest>, config: Record<string, unknown> = {}) => {
  const { protocol, target } = wireOf("responses", config);
  const { model } = { model: "gpt-6.1-sol", ...config };
  const built = protocol.build(requestOf("responses", { model, ...fields }), target);
  const body = JSON.parse(built.body) as Body;
  expect(checkBody(body, "responses")).toBeNull();
  return { ...built, text: built.body, body };
};

const call = (id: string, args = "{}"): Part => ({ type: "tool_call", id, name: "fs_read", args });
const own = { provider: "responses", model: "gpt-6.1-sol" };
const thought = (id: string, text: string, from = own): Part => ({
  type: "reasoning",
  text,
  model: `${from.provider}/${from.model}`,
  opaque: { ...from, data: { encrypted_content: sealFor(id) } },
});
const inputOf = (...messages: readonly Message[]) => build({ messages }).body.input.slice(1);

const tool = {
  name: "fs_read",
  description: "Reads.",
  schema: { type: "object", additionalProperties: false },
};

test("MO-17: calls and results are items in order, errors are visible as such ★", () => {
  const input = inputOf(
    message("user", "Go."),
    message("assistant", [{ type: "text", text: "Two." }, call("a"), call("b", '{"n": 1}')]),
    result("a", "fs_read", "A"),
    result("b", "fs_read", "not_found: none", "error"),
  );
  expect(input).toEqual([
    { role: "user", content: "Go." },
    { role: "assistant", content: "Two." },
    { type: "function_call", call_id: "a", name: "fs_read", arguments: "{}" },
    { type: "function_call", call_id: "b", name: "fs_read", arguments: '{"n": 1}' },
    { type: "function_call_output", call_id: "a", output: "A" },
    { type: "function_call_output", call_id: "b", output: "[tool error] not_found: none" },
  ]);
});

test("MO-17: the server stores nothing, and a thread keeps one cache key", () => {
  const { body } = build({ tools: [tool] });
  expect(body).toMatchObject({
    model: "gpt-6.1-sol",
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    max_output_tokens: 16_384,
    tools: [{ type: "function", name: "fs_read", description: "Reads.", strict: false }],
  });
  expect(body.input[0]).toEqual({ role: "system", content: "You help." });
  const { context } = requestOf("responses");
  const again = build({ context: { ...context, turn: 9, call: 4 } }).body;
  expect(again["prompt_cache_key"]).toBe(body["prompt_cache_key"]);
  const other = build({ context: { ...context, thread: "t_2" } }).body;
  expect(other["prompt_cache_key"]).not.toBe(body["prompt_cache_key"]);
});

test("MO-3: encrypted reasoning and phases go back to the model that sent them, before what they led to ★", () => {
  const phased = (text: string, phase: string, from = own): Part => ({
    type: "text",
    text,
    opaque: { ...from, data: { phase } },
  });
  const parts = [
    thought("rs_1", "I look."),
    phased("Let me look.", "commentary"),
    thought("rs_2", ""),
    call("a"),
  ];
  const reasoning = (id: string, ...summary: readonly object[]) => ({
    type: "reasoning",
    summary,
    encrypted_content: sealFor(id),
  });
  expect(
    inputOf(message("user", "Go."), message("assistant", parts), result("a", "fs_read", "A")).slice(1, 5),
  ).toEqual([
    reasoning("rs_1", { type: "summary_text", text: "I look." }),
    { role: "assistant", content: "Let me look.", phase: "commentary" },
    reasoning("rs_2"),
    { type: "function_call", call_id: "a", name: "fs_read", arguments: "{}" },
  ]);
  const foreign = { provider: "responses", model: "gpt-6-astra" };
  const elsewhere = inputOf(
    message("user", "Go."),
    message("assistant", [
      thought("rs_1", "I look.", foreign),
      phased("Looking.", "commentary", foreign),
      call("a"),
    ]),
    result("a", "fs_read", "A"),
  );
  expect(JSON.stringify(elsewhere)).not.toMatch(/encrypted|I look|commentary/);
});

test("MO-17: results follow their calls, also if the model said something after it called", () => {
  const said = [
    thought("rs_1", ""),
    call("a"),
    { type: "text", text: "I look." },
    thought("rs_2", ""),
    call("b"),
  ] as const;
  const input = inputOf(
    message("user", "Go."),
    message("assistant", said),
    result("a", "fs_read", "A"),
    result("b", "fs_read", "B"),
  );
  expect(input.slice(1)).toMatchObject([
    { role: "assistant", content: "I look." },
    { type: "reasoning", encrypted_content: sealFor("rs_1") },
    { type: "function_call", call_id: "a" },
    { type: "reasoning", encrypted_content: sealFor("rs_2") },
    { type: "function_call", call_id: "b" },
    { type: "function_call_output", call_id: "a" },
    { type: "function_call_output", call_id: "b" },
  ]);
});

test("MO-3: reasoning that led to nothing is left out, since the API refuses it alone ★", () => {
  const cut = inputOf(
    message("user", "Go."),
    message("assistant", [{ type: "text", text: "Half" }, thought("rs_1", "And then")]),
    message("user", "Go on."),
  );
  expect(cut).toEqual([
    { role: "user", content: "Go." },
    { role: "assistant", content: "Half" },
    { role: "user", content: "Go on." },
  ]);
  const blank = message("assistant", [thought("rs_1", "Hm."), { type: "text", text: " " }, call("a")]);
  expect(inputOf(message("user", "Go."), blank, result("a", "fs_read", "A"))).toHaveLength(3);
});

test("MO-4: images stand in results, documents by bytes or address, what a model does not take is a sentence", () => {
  const image = { type: "image", blob: "b", media_type: "image/png" } as const;
  const shot = (status: "ok" | "error"): Message =>
    message("tool", [
      {
        type: "tool_result",
        call: "a",
        name: "fs_read",
        status,
        content: [{ type: "text", text: "Seen." }, image],
      },
    ]);
  const picture = { type: "input_image", image_url: "data:image/png;base64,aGVsbG8=", detail: "auto" };
  for (const [status, text] of [
    ["ok", "Seen."],
    ["error", "[tool error] Seen."],
  ] as const)
    expect(inputOf(message("user", "Go."), message("assistant", [call("a")]), shot(status)).at(-1)).toEqual({
      type: "function_call_output",
      call_id: "a",
      output: [{ type: "input_text", text }, picture],
    });
  const documents = message("user", [
    { type: "document", blob: "b", media_type: "application/pdf", name: "a.pdf" },
    { type: "document", url: "https://x.example/b.pdf", media_type: "application/pdf" },
    { type: "image", blob: "b", media_type: "image/tiff" },
  ]);
  expect(inputOf(documents)[0]?.["content"]).toEqual([
    { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,aGVsbG8=" },
    { type: "input_file", file_url: "https://x.example/b.pdf" },
    { type: "input_text", text: "[image omitted: this model takes no image/tiff]" },
  ]);
});

test("MO-7: efforts, sampling and formats go where the API has them; a summary is asked for only on request", () => {
  expect(build({ reasoning: { effort: "max" }, temperature: 1 })).toMatchObject({
    body: { reasoning: { effort: "xhigh" } },
    droppedParameters: ["temperature"],
  });
  expect(build({ reasoning: { effort: "none" } }).body["reasoning"]).toEqual({ effort: "low" });
  const asked = build({ reasoning: { effort: "high", summary: "auto" } });
  expect(asked.body["reasoning"]).toEqual({ effort: "high", summary: "auto" });
  expect(build({}).body).not.toHaveProperty("reasoning");
  const schema = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    additionalProperties: false,
  };
  expect(build({ responseFormat: { type: "json_schema", schema } }).body["text"]).toEqual({
    format: { type: "json_schema", name: "answer", strict: true, schema },
  });
  for (const format of [{}, { schema }])
    expect(build({ responseFormat: { type: "json_object", ...format } }).body["text"]).toEqual({
      format: { type: "json_object" },
    });
  expect(build({ tools: [tool], toolChoice: { tool: "fs_read" } }).body["tool_choice"]).toEqual({
    type: "function",
    name: "fs_read",
  });
  const plain = build({ reasoning: { effort: "high" } }, { model: "gpt-4o", protocol: "openai-responses" });
  expect(plain.droppedParameters).toEqual(["reasoning"]);
  expect(plain.body).not.toHaveProperty("include");
});

test("MO-17: a Grok that decides itself how hard it reasons is not told, but its reasoning is asked for", () => {
  const grok = { kind: "grok", model: "grok-4.20-0309-reasoning", protocol: undefined };
  for (const [effort, dropped] of [
    ["high", ["reasoning"]],
    ["none", []],
  ] as const) {
    const { body, droppedParameters } = build({ reasoning: { effort } }, grok);
    expect(body).not.toHaveProperty("reasoning");
    expect(body["include"]).toEqual(["reasoning.encrypted_content"]);
    expect(droppedParameters).toEqual(dropped);
  }
});

test("MO-17: OpenAI and xAI get a cache key, other servers, some of which refuse it, none", () => {
  const keyOf = (kind: string, model: string) =>
    build({}, { kind, model, protocol: "openai-responses", base_url: "https://a.example" }).body[
      "prompt_cache_key"
    ];
  expect(keyOf("openai", "gpt-4o")).toMatch(/^limpet-/);
  expect(keyOf("grok", "grok-4.7")).toMatch(/^limpet-/);
  expect(keyOf("openai-compatible", "local")).toBeUndefined();
});

test("MO-6: an output limit below the least that the API takes is raised to it", () => {
  const { body, maxTokens } = build({ maxTokens: 1 });
  expect([body["max_output_tokens"], maxTokens]).toEqual([16, 16]);
});

test("MO-12: a request is a byte prefix of the next up to its last item, and has one digest", () => {
  const messages = [
    message("user", "Go."),
    message("assistant", [thought("rs_1", "Hm."), call("a")]),
    result("a", "fs_read", "A"),
  ];
  const one = build({ messages: messages.slice(0, 1), tools: [tool] });
  const two = build({ messages, tools: [tool] });
  const end = one.text.indexOf('],"max_output_tokens"');
  expect(end).toBeGreaterThan(0);
  expect(two.text.slice(0, end)).toBe(one.text.slice(0, end));
  expect(build({ messages, tools: [tool] }).digest()).toBe(two.digest());
  expect(one.digest()).not.toBe(two.digest());
});

test("a user's turn comes last", () => {
  const input = inputOf(message("user", "Go."), message("assistant", [{ type: "text", text: "So" }]));
  expect(input.at(-1)).toEqual({ role: "user", content: "Continue." });
});

test("OpenAI's own client reads from the fake provider what the tests believe that it says", async () => {
  const pieces = [
    { reasoning: "First I look." },
    { text: "Let me look." },
    { call: "fs_read", args: { n: 1 } },
  ];
  fake.play(() => ({ speech: { pieces } }));
  const client = new OpenAI({ baseURL: fake.url("responses"), apiKey: "k", maxRetries: 0 });
  const { body } = build({ tools: [tool] });
  const stream = client.responses.stream(body as never);
  const { output } = await stream.finalResponse();
  expect(output).toMatchObject([
    { type: "reasoning", summary: [{ text: "First I look." }] },
    { type: "message", phase: "commentary", content: [{ type: "output_text", text: "Let me look." }] },
    { type: "function_call", name: "fs_read", arguments: '{"n":1}' },
  ]);
});
