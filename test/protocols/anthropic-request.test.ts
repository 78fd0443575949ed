import { expect, test } from "vitest";
import type { Message, Part } from "../../src/chat/message.ts";
import { describeModel } from "../../src/model/catalogue.ts";
import type { ModelRequest } from "../../src/model/completer.ts";
import type { Capabilities } from "../../src/model/schema.ts";
import { buildAnthropic } from "../../src/protocols/anthropic/request.ts";
import { wireName } from "../../src/protocols/tool-names.ts";
import { anthropic } from "../../src/providers/anthropic.ts";
import { checkBody } from "../support/fake-provider-check.ts";
import { signatureFor } from "../support/fake-provider-fields.ts";
import { configOf, message, models, requestOf, result, wireOf } from "../support/fake-provider-client.ts";

interface Block {
  readonly type: string;
  readonly [key: string]: unknown;
}
interface Body {
  readonly messages: readonly { readonly role: string; readonly content: readonly Block[] }[];
  readonly [key: string]: unknown;
}

const build = (
  fields: Partial<ModelRequest>,
  able: Partial<Capabilities> = {},
  model = models.anthropic,
): { readonly text: string; readonly body: Body; readonly droppedParameters: readonly string[] } => {
  const { capabilities, max_output: maxOutput } = describeModel("anthropic", model);
  const target = {
    provider: "anthropic",
    capabilities: { ...capabilities, ...able },
    maxOutput,
    traits: anthropic.traits(configOf("anthropic")),
  };
  const { body, droppedParameters } = buildAnthropic(requestOf("anthropic", { model, ...fields }), target);
  const parsed = JSON.parse(body) as Body;
  expect(checkBody(parsed, "anthropic")).toBeNull();
  return { text: body, body: parsed, droppedParameters };
};

const call = (id: string, name = "fs_read", args = "{}"): Part => ({ type: "tool_call", id, name, args });
const tool = { name: "fs_read", description: "Reads.", schema: { type: "object" } };
const thought = (text: string, provider = "anthropic", model = models.anthropic): Part => ({
  type: "reasoning",
  text,
  model: `${provider}/${model}`,
  opaque: { provider, model, data: { signature: signatureFor(text) } },
});

test("MO-8: three parallel results, one failed, and steering make one user message, results first ★", () => {
  const messages = [
    message("user", "Go."),
    message("assistant", [call("a"), call("b"), call("c")]),
    result("a", "fs_read", "A"),
    result("b", "fs_read", "not_found: no such file", "error"),
    result("c", "fs_read", "C"),
    message("user", "[STEERING] Faster.", { marks: ["steering"] }),
  ];
  const { body } = build({ messages, tools: [tool] });
  expect(body.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  const last = body.messages[2]?.content;
  expect(last?.map(({ type }) => type)).toEqual(["tool_result", "tool_result", "tool_result", "text"]);
  expect(last?.map(({ is_error }) => is_error)).toEqual([undefined, true, undefined, undefined]);
  expect(last?.map(({ tool_use_id }) => tool_use_id)).toEqual(["a", "b", "c", undefined]);
});

test("MO-8: no blank block is sent, and no assistant's message last", () => {
  const messages = [message("user", " \n"), message("assistant", "Yes."), message("user", "\t")];
  const { body } = build({ messages: [message("user", "Hi."), ...messages] });
  expect(body.messages.map(({ content }) => content.map(({ text }) => text))).toEqual([
    ["Hi."],
    ["Yes."],
    ["Continue."],
  ]);
});

test("MO-8: an unparsable call is replayed as _invalid with its first 2 000 characters", () => {
  const args = `{"path":"${"x".repeat(3000)}`;
  const messages = [
    message("user", "Go."),
    message("assistant", [call("a", "fs_read", args), call("b", "fs_read", "[1]"), call("c", "fs_read", "")]),
    ...["a", "b", "c"].map((id) => result(id, "fs_read", "bad", "error")),
  ];
  const { body } = build({ messages, tools: [tool] });
  const inputs = body.messages[1]?.content.map(({ input }) => input);
  expect(inputs).toEqual([{ _invalid: args.slice(0, 2000) }, { _invalid: "[1]" }, {}]);
});

test("MO-8 TB-2: arguments of 64 levels go back as they are, deeper ones and numbers beyond all count as _invalid", () => {
  const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  const given = [nested(64), nested(65), nested(50_000), '{"n":1e999}', '{"n":1e-999,"m":1e100}'];
  const messages = [
    message("user", "Go."),
    message(
      "assistant",
      given.map((args, at) => call(`c${at}`, "fs_read", args)),
    ),
    ...given.map((_, at) => result(`c${at}`, "fs_read", "bad", "error")),
  ];
  const { body } = build({ messages, tools: [tool] });
  const inputs = body.messages[1]?.content.map(({ input }) => input);
  expect(inputs).toEqual([
    JSON.parse(nested(64)),
    { _invalid: nested(65) },
    { _invalid: nested(50_000).slice(0, 2_000) },
    { _invalid: '{"n":1e999}' },
    { n: 0, m: 1e100 },
  ]);
});

test("MO-8 SE-7: half a character in arguments is shown as U+FFFD wherever it stands, and nothing else is touched", () => {
  const nested = `${'{"a":'.repeat(40)}"\\ud800"${"}".repeat(40)}`;
  const given = [
    '{"\\ud800":"\\uDC00 \\ud83d\\ude00 \\\\ud800"}',
    '{"raw":"\ud800","mixed":"\ud83d\\ude00"}',
    '{"big":12345678901234567890,"a":1,"a":2,"s":"\\ud800"}',
    nested,
  ];
  const messages = [
    message("user", "Go."),
    message(
      "assistant",
      given.map((args, at) => call(`c${at}`, "fs_read", args)),
    ),
    ...given.map((_, at) => result(`c${at}`, "fs_read", "bad", "error")),
  ];
  const { text } = build({ messages, tools: [tool] });
  for (const part of [
    '{"\\ufffd":"\\ufffd \\ud83d\\ude00 \\\\ud800"}',
    '{"raw":"\ufffd","mixed":"\ufffd\\ufffd"}',
    '{"big":12345678901234567890,"a":1,"a":2,"s":"\\ufffd"}',
    nested.replace("ud800", "ufffd"),
  ])
    expect(text).toContain(`"input":${part}`);
});

test("MO-4: media that is gone, damaged or empty becomes a sentence", () => {
  const parts: readonly Part[] = [
    { type: "image", blob: "gone", media_type: "image/png" },
    { type: "image", blob: "cut", media_type: "image/png" },
    { type: "document", blob: "gone", media_type: "application/pdf", name: "a.pdf" },
    { type: "document", blob: "odd", media_type: "text/plain", name: "a.txt" },
    { type: "document", blob: "blank", media_type: "text/plain", name: "a.txt" },
    { type: "image", url: "https://", media_type: "image/png" },
  ];
  const blobs: Readonly<Record<string, string>> = { cut: "aGVsb", odd: "%%%%", blank: "IAo=" };
  const { body } = build({ messages: [message("user", parts)], media: (blob) => blobs[blob] ?? "" });
  expect(body.messages[0]?.content.map(({ text }) => text)).toEqual([
    "[image omitted: it is no longer stored]",
    "[image omitted: it is damaged]",
    "[document omitted: it is no longer stored]",
    "[document omitted: it is damaged]",
    "[document omitted: it is empty]",
    "[image omitted: its address is not https]",
  ]);
});

test("MO-8 MO-4: media that the API does not take becomes a sentence", () => {
  const parts: readonly Part[] = [
    { type: "image", blob: "b", media_type: "image/png" },
    { type: "image", url: "https://a.example/x.png", media_type: "image/png" },
    { type: "image", blob: "b", media_type: "image/bmp" },
    { type: "document", blob: "b", media_type: "application/pdf", name: "a.pdf" },
    { type: "document", blob: "b", media_type: "text/plain", name: "a.txt" },
    { type: "document", url: "https://a.example/x.pdf", media_type: "application/pdf" },
    { type: "document", url: "https://a.example/x.txt", media_type: "text/plain" },
  ];
  const { body } = build({ messages: [message("user", parts)] });
  expect(body.messages[0]?.content).toMatchObject([
    { type: "image", source: { type: "base64", media_type: "image/png", data: "aGVsbG8=" } },
    { type: "image", source: { type: "url", url: "https://a.example/x.png" } },
    { type: "text", text: "[image omitted: this model takes no image/bmp]" },
    { type: "document", source: { type: "base64", media_type: "application/pdf" }, title: "a.pdf" },
    { type: "document", source: { type: "text", media_type: "text/plain", data: "hello" }, title: "a.txt" },
    { type: "document", source: { type: "url", url: "https://a.example/x.pdf" } },
    { type: "text", text: "[document omitted: this API takes addresses of PDFs only]" },
  ]);
  const none = build({ messages: [message("user", parts.slice(0, 1))] }, { images: false });
  expect(none.body.messages[0]?.content).toMatchObject([
    { text: "[image omitted: this model takes no images]" },
  ]);
  const big = build({
    messages: [message("user", parts.slice(0, 1))],
    media: () => "x".repeat(5 * 1024 * 1024 + 1),
  });
  expect(big.body.messages[0]?.content).toMatchObject([{ text: "[image omitted: it is larger than 5 MiB]" }]);
});

test("MO-9: a tool that was called by its own name and by the one that was sent is declared once", () => {
  const messages = [
    message("user", "Go."),
    message("assistant", [call("a", "fs.read"), call("b", wireName("fs.read"))]),
    result("a", "fs.read", "A"),
    result("b", wireName("fs.read"), "B", "error"),
  ];
  expect(build({ messages }).body["tools"]).toHaveLength(1);
});

test("MO-11: alternatives stay alternatives in the subset, and an object that may be null is closed, too", () => {
  const entry = {
    type: ["object", "null"],
    properties: { n: { oneOf: [{ type: "string" }, { type: "null" }] } },
  };
  const schema = { type: "object", properties: { entry } };
  const { body } = build({ responseFormat: { type: "json_schema", schema } });
  expect(body["output_config"]).toHaveProperty("format.schema.properties.entry", {
    type: ["object", "null"],
    properties: { n: { anyOf: [{ type: "string" }, { type: "null" }] } },
    additionalProperties: false,
  });
});

test("MO-8 MO-11: a half of a character in a description or schema, which servers refuse, is replaced", () => {
  const { body } = build({
    tools: [{ ...tool, description: "Reads \ud83d." }],
    responseFormat: { type: "json_schema", schema: { type: "object", description: "\ude00" } },
  });
  expect(body["tools"]).toMatchObject([{ description: "Reads \ufffd." }]);
});

test("MO-9: tools gone but calls in the history are declared as stubs with choice none", () => {
  const messages = [message("user", "Go."), message("assistant", [call("a")]), result("a", "fs_read", "A")];
  const { body } = build({ messages, tools: [] });
  expect(body["tools"]).toMatchObject([{ name: "fs_read", input_schema: { type: "object" } }]);
  expect(body["tool_choice"]).toEqual({ type: "none" });
  expect(build({}).body["tool_choice"]).toBeUndefined();
});

test("MO-9: a forced choice that reasoning forbids becomes auto and an instruction", () => {
  const forced = build({ tools: [tool], toolChoice: { tool: "fs_read" }, reasoning: { effort: "low" } });
  expect(forced.body["tool_choice"]).toEqual({ type: "auto" });
  expect(forced.body.messages.at(-1)?.content.at(-1)).toEqual({
    type: "text",
    text: "Call the tool fs_read now.",
  });
  const free = build({ tools: [tool], toolChoice: "required" }, {}, "claude-haiku-4-5");
  expect(free.body["tool_choice"]).toEqual({ type: "any" });
});

test("MO-10: an adaptive model gets an effort and no budget", () => {
  const { body } = build({ reasoning: { budgetTokens: 8000, summary: "none" } });
  expect(body["thinking"]).toEqual({ type: "adaptive", display: "omitted" });
  expect(body["output_config"]).toEqual({ effort: "medium" });
  expect(JSON.stringify(body)).not.toContain("budget_tokens");
});

test("MO-10: reasoning that cannot be switched off goes to the lowest effort, else it is disabled", () => {
  const always = build({ reasoning: { effort: "none" } });
  expect(always.body["thinking"]).toMatchObject({ type: "adaptive" });
  expect(always.body["output_config"]).toEqual({ effort: "low" });
  const may = build({ reasoning: { effort: "none" } }, {}, "claude-opus-4-8");
  expect(may.body["thinking"]).toEqual({ type: "disabled" });
});

test.each([
  ["claude-opus-4-6", "xhigh", "high"],
  ["claude-sonnet-4-6", "xhigh", "high"],
  ["claude-opus-4-6", "max", "max"],
  ["claude-opus-4-7", "xhigh", "xhigh"],
] as const)("MO-7 MO-10: %s is asked for an effort of %s as %s, which it takes", (model, wanted, sent) => {
  const { protocol, target } = wireOf("anthropic", { model });
  const { body } = protocol.build(requestOf("anthropic", { model, reasoning: { effort: wanted } }), target);
  expect(JSON.parse(body)).toMatchObject({ output_config: { effort: sent } });
});

test.each([
  ["low", 4_096],
  ["medium", 8_192],
  ["high", 16_384],
  ["xhigh", 32_768],
] as const)("MO-10: effort %s is a budget of %i, added to max_tokens", (effort, budget) => {
  const { body } = build({ reasoning: { effort }, maxTokens: 2000 }, {}, "claude-haiku-4-5");
  expect(body["thinking"]).toEqual({ type: "enabled", budget_tokens: budget });
  expect(body["max_tokens"]).toBe(2000 + budget);
});

test.each([
  ["claude-opus-4-1", { effort: "xhigh" }, 16_384, 16_000],
  ["claude-haiku-4-5", { budgetTokens: 100_000 }, 16_384, 16_384],
  ["claude-haiku-4-5", { effort: "high" }, 64_000, 47_616],
] as const)(
  "MO-10: %s with %o leaves room for the reply that was asked for",
  (model, reasoning, maxTokens, room) => {
    const { body } = build({ reasoning, maxTokens }, {}, model);
    const { budget_tokens: budget } = body["thinking"] as { budget_tokens: number };
    expect(Number(body["max_tokens"]) - budget).toBe(room);
  },
);

test("MO-10: a budget model does not think on in a loop that another model began", () => {
  const model = "claude-haiku-4-5";
  const loop = (first: Part): Message[] => [
    message("user", "Go."),
    message("assistant", [first, call("a")]),
    result("a", "fs_read", "A"),
  ];
  const reasoning = { effort: "low" } as const;
  const other = build(
    { messages: loop(thought("Hm.", "openai", "gpt")), tools: [tool], reasoning },
    {},
    model,
  );
  expect(other.body["thinking"]).toBeUndefined();
  const noted = build(
    {
      messages: [...loop(thought("Hm.", "openai", "gpt")), message("user", "Come to an end.")],
      tools: [tool],
      reasoning,
    },
    {},
    model,
  );
  expect(noted.body["thinking"], "a note after the results is part of the loop").toBeUndefined();
  const own = build(
    { messages: loop(thought("Hm.", "anthropic", model)), tools: [tool], reasoning },
    {},
    model,
  );
  expect(own.body["thinking"]).toMatchObject({ type: "enabled" });
});

test("MO-3 MO-10: reasoning goes back byte-exact to its own model, and to no other", () => {
  const own = thought("Let me see.");
  const redacted: Part = {
    type: "reasoning",
    text: "",
    model: `anthropic/${models.anthropic}`,
    opaque: { provider: "anthropic", model: models.anthropic, data: { redacted: "Enc+/==" } },
  };
  const foreign = [thought("Other model.", "anthropic", "claude-opus-5"), thought("Other vendor.", "openai")];
  const text: Part = { type: "text", text: "So." };
  const messages = [
    message("user", "Go."),
    message("assistant", [own, text, redacted, ...foreign, call("a")]),
    result("a", "fs_read", "A"),
  ];
  const { body } = build({ messages, tools: [tool] });
  expect(body.messages[1]?.content).toEqual([
    { type: "thinking", thinking: "Let me see.", signature: signatureFor("Let me see.") },
    { type: "text", text: "So." },
    { type: "redacted_thinking", data: "Enc+/==" },
    { type: "tool_use", id: "a", name: "fs_read", input: {} },
  ]);
});

test("MO-3: a kept serialisation is not used for another model", () => {
  const messages = [
    message("user", "Go."),
    message("assistant", [thought("Hm."), { type: "text", text: "So." }]),
    message("user", "On."),
  ];
  expect(build({ messages }).body.messages[1]?.content.length).toBe(2);
  expect(build({ messages }, {}, "claude-opus-5-5").body.messages[1]?.content.length).toBe(1);
  expect(build({ messages }).body.messages[1]?.content.length).toBe(2);
});

test("MO-11: a schema goes as output format in the subset the API takes, an object as an instruction", () => {
  const schema = {
    type: "object",
    properties: { n: { type: "integer", minimum: 3 }, list: { type: "array", items: { type: "string" } } },
  };
  const { body } = build({ responseFormat: { type: "json_schema", schema } });
  expect(body["output_config"]).toEqual({
    format: {
      type: "json_schema",
      schema: {
        type: "object",
        properties: {
          n: { type: "integer" },
          list: { type: "array", items: { type: "string" } },
        },
        additionalProperties: false,
      },
    },
  });
  const object = build({ responseFormat: { type: "json_object" } });
  expect(object.body["output_config"]).toBeUndefined();
  expect(JSON.stringify(object.body["system"])).toContain("one JSON object");
  const told = build({ responseFormat: { type: "json_object", schema } });
  expect(told.body["output_config"]).toBeUndefined();
  expect(JSON.stringify(told.body["system"])).toContain("JSON Schema");
  const unable = build({ responseFormat: { type: "json_schema", schema } }, { strict_schema: false });
  expect(JSON.stringify(unable.body["system"])).toContain("JSON Schema");
});

test("MO-12: four breakpoints: last tool, system, newest message, previous newest ★", () => {
  const asked = message("user", "Go.");
  const first = result("a", "fs_read", "A");
  const messages = [
    asked,
    message("assistant", [thought("Hm."), call("a")]),
    first,
    message("user", "More."),
  ];
  const two = [tool, { ...tool, name: "fs_list" }];
  const { body } = build({
    messages,
    tools: two,
    previousNewest: asked.id,
    cache: { mode: "auto", ttl: "1h" },
  });
  const mark = { type: "ephemeral", ttl: "1h" };
  const marks = (blocks: unknown) => (blocks as readonly Block[]).map(({ cache_control }) => cache_control);
  expect(marks(body["tools"])).toEqual([undefined, mark]);
  expect(marks(body["system"])).toEqual([mark]);
  expect(body.messages.map(({ content }) => marks(content))).toEqual([
    [mark],
    [undefined, undefined],
    [undefined, mark],
  ]);
  const off = build({ messages, tools: two, cache: { mode: "off", ttl: "5m" } });
  expect(JSON.stringify(off.body)).not.toContain("cache_control");
});

test("MO-7: what a model refuses is left out and named", () => {
  const { body, droppedParameters } = build({ temperature: 0.3, topP: 0.5 });
  expect([body["temperature"], body["top_p"], droppedParameters]).toEqual([
    undefined,
    undefined,
    ["temperature", "top_p"],
  ]);
  const older = build({ temperature: 1.4 }, {}, "claude-haiku-4-5");
  expect([older.body["temperature"], older.droppedParameters]).toEqual([1, []]);
  const none = build({ reasoning: { effort: "high" } }, { reasoning: "none" });
  expect(none.droppedParameters).toEqual(["reasoning"]);
});

test("MO-6: max_tokens never exceeds what the model gives", () => {
  expect(build({ maxTokens: 16_384 }).body["max_tokens"]).toBe(16_384);
  expect(build({ maxTokens: 999_999 }).body["max_tokens"]).toBe(128_000);
  const thinking = build({ maxTokens: 63_000, reasoning: { effort: "high" } }, {}, "claude-haiku-4-5");
  expect(thinking.body["max_tokens"]).toBe(64_000);
});
