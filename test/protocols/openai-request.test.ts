import { expect, test } from "vitest";
import { createReasoningDetails } from "../../src/protocols/reasoning-details.ts";
import type { Json, Message, Part } from "../../src/chat/message.ts";
import { describeModel } from "../../src/model/catalogue.ts";
import type { ModelRequest } from "../../src/model/completer.ts";
import type { Capabilities } from "../../src/model/schema.ts";
import { buildOpenAi } from "../../src/protocols/openai/request.ts";
import { wireName } from "../../src/protocols/tool-names.ts";
import { profiles } from "../../src/providers/index.ts";
import { checkBody } from "../support/fake-provider-check.ts";
import type { Kind } from "../support/fake-provider-fields.ts";
import { configOf, message, requestOf, result } from "../support/fake-provider-client.ts";

interface Body {
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly [key: string]: unknown;
}

const build = (
  kind: Kind,
  fields: Partial<ModelRequest>,
  config: Record<string, unknown> = {},
  able: Partial<Capabilities> = {},
): { readonly body: Body; readonly droppedParameters: readonly string[] } => {
  const section = configOf(kind, config);
  const profile = profiles.find((each) => each.kind === section.kind);
  if (profile === undefined) throw new Error(kind);
  const { capabilities, max_output: maxOutput, efforts } = describeModel(section.kind, section.model);
  const traits = profile.traits(section);
  const target = {
    provider: section.name,
    capabilities: { ...capabilities, ...able },
    maxOutput,
    traits: { ...traits, efforts: efforts ?? traits.efforts },
  };
  const { body, droppedParameters } = buildOpenAi(requestOf(kind, fields), target);
  const parsed = JSON.parse(body) as Body;
  expect(checkBody(parsed, kind)).toBeNull();
  return { body: parsed, droppedParameters };
};

const call = (id: string, name = "fs_read", args = "{}", more: Partial<Part> = {}): Part =>
  ({ type: "tool_call", id, name, args, ...more }) as Part;
const loop = (...parts: readonly Part[]): readonly Message[] => [
  message("user", "Go."),
  message("assistant", parts),
  ...parts.flatMap((part) => (part.type === "tool_call" ? [result(part.id, part.name, "ok")] : [])),
];
const tool = {
  name: "fs_read",
  description: "Reads.",
  schema: { type: "object", additionalProperties: false },
};

test("MO-14: results are tool messages in call order, errors are visible as such ★", () => {
  const messages = [
    message("user", "Go."),
    message("assistant", [{ type: "text", text: "Two." }, call("a"), call("b")]),
    result("a", "fs_read", "A"),
    result("b", "fs_read", "not_found: none", "error"),
  ];
  expect(build("openai", { messages, tools: [tool] }).body.messages).toEqual([
    { role: "system", content: "You help." },
    { role: "user", content: "Go." },
    {
      role: "assistant",
      content: "Two.",
      tool_calls: ["a", "b"].map((id) => ({
        id,
        type: "function",
        function: { name: "fs_read", arguments: "{}" },
      })),
    },
    { role: "tool", tool_call_id: "a", content: "A" },
    { role: "tool", tool_call_id: "b", content: "[tool error] not_found: none" },
  ]);
});

test("MO-14: images of results follow the whole block as one user message", () => {
  const image = { type: "image", blob: "b", media_type: "image/png" } as const;
  const shot = (id: string): Message =>
    message("tool", [{ type: "tool_result", call: id, name: "shot", status: "ok", content: [image] }]);
  const messages = [
    message("user", "Go."),
    message("assistant", [call("a", "shot"), call("b", "shot")]),
    shot("a"),
    shot("b"),
  ];
  const { body } = build("openai", { messages });
  expect(body.messages.slice(3)).toEqual([
    { role: "tool", tool_call_id: "a", content: "" },
    { role: "tool", tool_call_id: "b", content: "" },
    {
      role: "user",
      content: [0, 1].flatMap(() => [
        { type: "text", text: "[image from shot]" },
        { type: "image_url", image_url: { url: "data:image/png;base64,aGVsbG8=" } },
      ]),
    },
  ]);
});

test("MO-4 MO-14: a PDF is a file where the model takes it, else a sentence", () => {
  const messages = [
    message("user", [{ type: "document", blob: "b", media_type: "application/pdf", name: "a.pdf" }]),
  ];
  expect(build("openai", { messages }).body.messages[1]?.["content"]).toEqual([
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,aGVsbG8=" } },
  ]);
  expect(build("grok", { messages }).body.messages[1]?.["content"]).toBe(
    "[document omitted: this model takes no documents]",
  );
});

test("MO-14: openai stores nothing, keeps one cache key per thread and asks for usage", () => {
  const first = build("openai", {}).body;
  expect(first).toMatchObject({ store: false, stream: true, stream_options: { include_usage: true } });
  expect(first).toMatchObject({ max_completion_tokens: 16_384 });
  const { context } = requestOf("openai");
  const other = build("openai", { context: { ...context, thread: "t_2", turn: 9 } }).body;
  const again = build("openai", { context: { ...context, turn: 9, call: 4 } }).body;
  expect(again["prompt_cache_key"]).toBe(first["prompt_cache_key"]);
  expect(other["prompt_cache_key"]).not.toBe(first["prompt_cache_key"]);
  expect(JSON.stringify(first)).not.toContain(context.session);
});

test("MO-14: tool names over 64 characters are cut with a hash", () => {
  const name = "a".repeat(70);
  const { body } = build("openai", { tools: [{ ...tool, name }], toolChoice: { tool: name } });
  expect(wireName(name)).toMatch(/^a{55}_[0-9a-f]{8}$/);
  expect(body["tool_choice"]).toEqual({ type: "function", function: { name: wireName(name) } });
  expect(wireName(`${name}b`)).not.toBe(wireName(name));
});

test("MO-14: strict is true only for a schema that fits", () => {
  const format = (schema: Record<string, never> | object) =>
    build("openai", { responseFormat: { type: "json_schema", schema: schema as never } }).body[
      "response_format"
    ];
  const closed = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    additionalProperties: false,
  };
  expect(format(closed)).toMatchObject({ json_schema: { name: "answer", strict: true, schema: closed } });
  expect(format({ ...closed, required: [] })).toMatchObject({ json_schema: { strict: false } });
  expect(format({ ...closed, additionalProperties: true })).toMatchObject({ json_schema: { strict: false } });
  const deep = { ...closed, properties: { a: { type: "object", properties: { b: { type: "string" } } } } };
  expect(format(deep)).toMatchObject({ json_schema: { strict: false } });
  const { additionalProperties: _, ...adapted } = closed;
  const toGrok = build("grok", { responseFormat: { type: "json_schema", schema: closed } });
  expect(toGrok.body["response_format"]).toMatchObject({ json_schema: { strict: true } });
  expect(toGrok.body["response_format"]).toHaveProperty("json_schema.schema", adapted);
});

test("MO-14 SE-14: an answer that is asked for as json_object is sent so; the prompt tells its schema", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const { body } = build("openai", { responseFormat: { type: "json_object", schema } });
  expect(body["response_format"]).toEqual({ type: "json_object" });
  expect(JSON.stringify(body.messages[0])).toContain("It must match this JSON Schema");
});

test("MO-14: reasoning_effort is what the model takes, or is left out and named", () => {
  expect(build("openai", { reasoning: { effort: "max" } }).body["reasoning_effort"]).toBe("high");
  expect(build("openai", { reasoning: { effort: "none" } }).body["reasoning_effort"]).toBe("none");
  expect(build("grok", { reasoning: { effort: "max" } }).body["reasoning_effort"]).toBe("xhigh");
  expect(build("gemini", { reasoning: { budgetTokens: 5000 } }).body["reasoning_effort"]).toBe("medium");
  const none = build("compatible", { reasoning: { effort: "high" }, temperature: 0.2 });
  expect(none.droppedParameters).toEqual(["reasoning"]);
  expect(none.body["temperature"]).toBe(0.2);
  expect(build("openai", { temperature: 1, topP: 0.5 }).droppedParameters).toEqual(["temperature", "top_p"]);
});

test("MO-16: Gemini's signatures go back in place; a call without one carries the bypass ★", () => {
  const signed = {
    opaque: { provider: "gemini", model: "gemini-3.8-pro", data: { thought_signature: "CpQB+/==" } },
  };
  const foreign = { opaque: { provider: "openai", model: "gpt", data: { thought_signature: "X" } } };
  const messages = loop(call("a", "fs_read", "{}", signed), call("b"), call("c", "fs_read", "{}", foreign));
  const calls = build("gemini", { messages, tools: [tool] }).body.messages[2]?.["tool_calls"] as readonly {
    readonly extra_content: unknown;
  }[];
  const google = (thought_signature: string) => ({ google: { thought_signature } });
  expect(calls.map(({ extra_content }) => extra_content)).toEqual([
    google("CpQB+/=="),
    google("skip_thought_signature_validator"),
    google("skip_thought_signature_validator"),
  ]);
  const elsewhere = build("openai", { messages, tools: [tool] });
  expect(JSON.stringify(elsewhere.body)).not.toContain("CpQB");
});

test("MO-16 MO-17: schemas lose what a vendor refuses", () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      kind: { const: "a" },
      link: { type: "string", format: "uri" },
      at: { type: "string", format: "date-time" },
      size: { type: "integer", format: "int32", enum: [1, 2] },
      way: { type: ["string", "null"], enum: ["in", null] },
      odd: { type: "string", properties: { no: {} }, required: ["no"] },
      maybe: { type: ["string", "null"] },
      either: { oneOf: [{ type: "string" }, { type: "number" }] },
      node: { $ref: "#/$defs/node" },
    },
    required: ["kind", "gone"],
    additionalProperties: false,
    $defs: {
      node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, additionalProperties: false },
    },
  };
  const parameters = (kind: Kind) =>
    (
      build(kind, { tools: [{ ...tool, schema }] }).body["tools"] as readonly {
        readonly function: { readonly parameters: unknown };
      }[]
    )[0]?.function.parameters;
  expect(parameters("openai")).toEqual(schema);
  expect(JSON.stringify(parameters("grok"))).not.toContain("additionalProperties");
  expect(parameters("gemini")).toEqual({
    type: "object",
    properties: {
      kind: { type: "string", enum: ["a"] },
      link: { type: "string" },
      at: { type: "string", format: "date-time" },
      size: { type: "integer", format: "int32" },
      way: { type: "string", enum: ["in"], nullable: true },
      odd: { type: "string" },
      maybe: { type: "string", nullable: true },
      either: { anyOf: [{ type: "string" }, { type: "number" }] },
      node: { type: "object", properties: { next: { type: "object" } } },
    },
    required: ["kind"],
  });
});

test("MO-7 MO-18: alternatives at the root of a tool's parameters, which servers refuse, become properties", () => {
  const schema = {
    type: "object",
    properties: { name: { type: "string" } },
    required: ["name"],
    anyOf: [{ required: ["file"], properties: { file: { type: "string" } } }, { $ref: "#/$defs/link" }],
    allOf: [{ properties: { size: { type: "integer" } }, required: ["size"] }],
    not: { required: ["no"] },
    $defs: {
      link: { oneOf: [{ $ref: "#/$defs/url" }, { $ref: "#/$defs/link" }] },
      url: { properties: { url: { type: "string" } }, required: ["url"] },
    },
  };
  const { body } = build("openai", { tools: [{ ...tool, schema }] });
  const [sent] = body["tools"] as readonly { readonly function: { readonly parameters: unknown } }[];
  expect(sent?.function.parameters).toEqual({
    type: "object",
    properties: {
      name: { type: "string" },
      file: { type: "string" },
      url: { type: "string" },
      size: { type: "integer" },
    },
    required: ["size", "name"],
    $defs: schema.$defs,
  });
});

test("MO-7 MO-18: a tool of several actions keeps each, and what is named where it may not stand is written out", () => {
  const home = { type: "object", properties: { street: { type: "string" } } };
  const schema = {
    type: "object",
    oneOf: [
      { properties: { action: { const: "create" }, home } },
      { properties: { action: { const: "delete" }, work: { $ref: "#/oneOf/0/properties/home" } } },
    ],
  };
  const { body } = build("openai", { tools: [{ ...tool, schema }] });
  const [sent] = body["tools"] as readonly { readonly function: { readonly parameters: unknown } }[];
  expect(sent?.function.parameters).toEqual({
    type: "object",
    properties: { action: { anyOf: [{ const: "create" }, { const: "delete" }] }, home, work: home },
  });
});

test.each<[Kind, Json, Json]>([
  ["openai", { properties: {} }, {}],
  ["grok", { properties: {} }, {}],
  ["gemini", {}, { type: "object" }],
])(
  "MO-7 MO-18: to %s a tool says what its lists hold, and that it takes nothing",
  (kind, nothing, anything) => {
    const schema = { type: "object", properties: { paths: { type: "array" } } };
    const tools = [
      { ...tool, schema: { type: "object" } },
      { ...tool, name: "list", schema },
    ];
    const sent = build(kind, { tools }).body["tools"] as readonly {
      readonly function: { readonly parameters: unknown };
    }[];
    expect(sent.map((each) => each.function.parameters)).toEqual([
      { type: "object", ...(nothing as object) },
      {
        type: "object",
        properties: { paths: { type: "array", items: anything } },
      },
    ]);
  },
);

test("MO-14: a half of a character in a description or schema, which servers refuse, is replaced", () => {
  const { body } = build("openai", {
    tools: [{ ...tool, description: "Reads \ud83d." }],
    responseFormat: { type: "json_schema", schema: { type: "object", description: "\ude00" } },
  });
  expect(body["tools"]).toMatchObject([{ function: { description: "Reads \ufffd." } }]);
});

test("MO-17: to grok an object that takes any names is open, one that does not says nothing, and lengths are left out", () => {
  const schema = {
    type: "object",
    properties: {
      path: { type: "string", maxLength: 9, pattern: "^a" },
      headers: { type: "object", additionalProperties: { type: "string", minLength: 1 } },
      any: { type: ["object", "null"] },
      more: { type: "object", properties: { a: {} }, additionalProperties: {} },
      minContains: { type: "array", items: { type: "object", properties: {} }, maxItems: 3 },
    },
    additionalProperties: false,
  };
  const { body } = build("grok", { tools: [{ ...tool, schema }] });
  const [sent] = body["tools"] as readonly { readonly function: { readonly parameters: unknown } }[];
  expect(sent?.function.parameters).toEqual({
    type: "object",
    properties: {
      path: { type: "string", pattern: "^a" },
      headers: { type: "object", additionalProperties: { type: "string" } },
      any: { type: ["object", "null"], additionalProperties: true },
      more: { type: "object", properties: { a: {} }, additionalProperties: true },
      minContains: { type: "array", items: { type: "object", properties: {} } },
    },
  });
});

test("MO-17: grok gets no stop words or penalties", () => {
  const { body } = build("grok", { tools: [tool] });
  expect(Object.keys(body).toSorted()).toEqual(
    ["max_completion_tokens", "messages", "model", "stream", "stream_options", "tools"].toSorted(),
  );
});

test("MO-18: compat changes field, role, usage, schema and images", () => {
  const compat = {
    max_tokens_field: "max_completion_tokens",
    system_role: "developer",
    stream_usage: false,
    schema: "minimal",
  };
  const { body } = build("compatible", { tools: [tool] }, { compat });
  expect(body).toMatchObject({ max_completion_tokens: 16_384, messages: [{ role: "developer" }, {}] });
  expect(body["stream_options"]).toBeUndefined();
  expect(JSON.stringify(body["tools"])).not.toContain("additionalProperties");
  expect(build("compatible", {}).body).toMatchObject({
    max_tokens: 16_384,
    messages: [{ role: "system" }, {}],
  });
});

test("MO-3 MO-18: reasoning goes back in the field that the server wants, to its own model only", () => {
  const model = "compatible/local-1";
  const opaque = {
    provider: "compatible",
    model: "local-1",
    data: { details: [{ type: "reasoning.text", text: "Hm." }] },
  };
  const own: Part = { type: "reasoning", text: "Hm.", model, opaque };
  const foreign: Part = { type: "reasoning", text: "Other.", model: "openai/gpt" };
  const messages = loop(own, foreign, call("a"));
  const replay = (reasoning_replay: string) =>
    build("compatible", { messages, tools: [tool] }, { compat: { reasoning_replay } }).body.messages[2];
  expect(replay("reasoning_content")).toMatchObject({ reasoning_content: "Hm." });
  expect(replay("reasoning_details")).toMatchObject({
    reasoning_details: [{ type: "reasoning.text", text: "Hm." }],
  });
  expect(replay("none")).not.toHaveProperty("reasoning_content");
});

test("MO-18: to a server that wants its reasoning back no answer goes without it, whichever model wrote it", () => {
  const messages = [...loop(call("a")), message("assistant", "Done."), message("user", "More.")];
  const sent = build(
    "compatible",
    { messages, tools: [tool] },
    { compat: { reasoning_replay: "reasoning_content" } },
  );
  const answers = sent.body.messages.filter(({ role }) => role === "assistant");
  expect(answers.map(({ reasoning_content }) => reasoning_content)).toEqual([" ", " "]);
});

test("MO-3 MO-18: Mistral gets ids of nine characters, and an answer between results and what follows them", () => {
  const image = { type: "image", blob: "b", media_type: "image/png" } as const;
  const shot: Part = { type: "tool_result", call: "call_1-0", name: "shot", status: "ok", content: [image] };
  const messages = [
    ...loop(call("Ab3De5Gh7")),
    message("user", "[STEERING] Faster."),
    message("assistant", [call("call_1-0", "shot")]),
    message("tool", [shot]),
    message("user", "Look."),
  ];
  const sent = build(
    "compatible",
    { messages },
    { model: "mistralai/mistral-small-4", compat: { images: true } },
    { images: true },
  );
  const { messages: out } = sent.body;
  expect(out.map(({ role }) => role).slice(2)).toEqual([
    "assistant",
    "tool",
    "assistant",
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
    "user",
  ]);
  const ids = out.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id]));
  expect(ids).toEqual(["Ab3De5Gh7", expect.stringMatching(/^[a-z0-9]{9}$/)]);
  expect(
    build("compatible", { messages }).body.messages.filter(({ role }) => role === "assistant"),
  ).toHaveLength(2);
});

test("MO-3: a later piece of reasoning without a field leaves what came of it before", () => {
  const details = createReasoningDetails(true);
  const pieces = [
    { text: "Let me ", signature: null },
    { text: "think", signature: null },
    { text: null, signature: "SIG" },
    { text: null, signature: null },
  ];
  for (const piece of pieces) details.take([{ type: "reasoning.text", index: 0, ...piece }]);
  expect(details.all()).toEqual([
    { type: "reasoning.text", index: 0, text: "Let me think", signature: "SIG" },
  ]);
});
