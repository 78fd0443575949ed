import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Json, Message, Part } from "../../src/chat/message.ts";
import { buildView } from "../../src/chat/view.ts";
import type { ModelRequest } from "../../src/model/completer.ts";
import { checkBody } from "../support/fake-provider-check.ts";
import { sealFor, signatureFor } from "../support/fake-provider-fields.ts";
import type { Kind } from "../support/fake-provider-fields.ts";
import { message, requestOf, wireOf } from "../support/fake-provider-client.ts";
import { sizeOf } from "../support/random-size.ts";

const kinds: readonly Kind[] = ["anthropic", "openai", "responses", "grok", "gemini", "compatible"];

/** Stored bytes: a whole, none, some that lack their end, what is no base64, and a text of nothing. */
const blobs: Readonly<Record<string, string>> = { b1: "aGVsbG8=", cut: "aGVsb", odd: "%%%%", blank: "IAo=" };
const media = (blob: string): string => blobs[blob] ?? "";

const bodyOf = (
  kind: Kind,
  fields: Partial<ModelRequest>,
  compat = {},
): { readonly text: string; readonly body: unknown } => {
  const { protocol, target } = wireOf(kind, kind === "compatible" ? { compat } : {});
  const { body: text, maxTokens } = protocol.build(requestOf(kind, { media, ...fields }), target);
  const body = JSON.parse(text) as Record<string, unknown>;
  expect(maxTokens, "of which an aborted attempt is booked no more").toBe(
    body["max_tokens"] ?? body["max_completion_tokens"] ?? body["max_output_tokens"],
  );
  return { text, body };
};

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.constantFrom("Grüße 🐚", "\ud800 lone", " ", "\n\t", '"quoted"', "<think>", "[DONE]"),
);
const seen = fc.string({ minLength: 1, maxLength: 8 }).map((text) => `.${text}`);
/** Arguments of so many levels. */
const nested = (levels: number, inner = "1"): string =>
  `${'{"a":'.repeat(levels)}${inner}${"}".repeat(levels)}`;
const args = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom("", "{}", '{"a":1}', '{"a":', "[1]", "null", '{"s":"\\ud800"}', "not json"),
  fc.constantFrom(
    nested(64),
    nested(65),
    nested(3_000, '"\\ud800"'),
    nested(50_000),
    `{"list":${"[".repeat(70)}${"]".repeat(70)}}`,
    "{".repeat(100_000),
  ),
  fc.constantFrom(
    '{"\\ud800":1}',
    '{"s":"\\\\ud800","pair":"\\ud83d\\ude00","low":"\\udc00\\ud800"}',
    '{"s":"\ud800 raw","t":"\ud83d\\ude00"}',
    '{"n":1e999,"m":-1e400}',
    `{"n":${"9".repeat(400)}}`,
    '{"n":12345678901234567890.0000000001,"e":1e-999}',
    '{"__proto__":{"a":1},"constructor":null,"toString":1}',
    '{"a":1,"a":2}',
    '\n {"a":"\u2028"} ',
  ),
);
const origin = fc.constantFrom(
  "anthropic/claude-sonnet-5-5",
  "openai/gpt-5.2",
  "responses/gpt-6.1-sol",
  "gemini/gemini-3.8-pro",
  "compatible/local-1",
);
const deep = JSON.parse(nested(1_500)) as Json;
/** What a reasoning part may not hold for its model, and holds all the same. */
const strayData = fc.constantFrom<Json>(
  null,
  7,
  "data",
  [],
  {},
  { signature: 7, redacted: null, details: "x", thought_signature: {} },
  { signature: "", redacted: "" },
  { redacted: "half \ud800" },
  { details: [null, 7, [], { type: "x", text: "\ud800", "\udc00": 1 }, {}] },
  { details: [deep] },
  deep,
);
const opaqueOf = (text: string): fc.Arbitrary<Json> =>
  fc.oneof(
    fc.constant<Json>({ signature: signatureFor(text), thought_signature: "S" }),
    fc.constant<Json>({ encrypted_content: sealFor("rs_1") }),
    strayData,
  );
const reasoning = fc.record({ text: word, from: origin }).chain(({ text, from }): fc.Arbitrary<Part> => {
  const [provider = "", model = ""] = from.split("/");
  const whole = text.toWellFormed();
  return opaqueOf(whole).map((data) => ({
    type: "reasoning",
    text: whole,
    model: from,
    opaque: { provider, model, data },
  }));
});
const content = fc.oneof(
  word.map((text) => ({ type: "text" as const, text })),
  fc.constantFrom(
    { type: "image" as const, blob: "b1", media_type: "image/png" },
    { type: "image" as const, url: "http://plain.example/x.png", media_type: "image/png" },
    { type: "image" as const, blob: "b1", media_type: "image/tiff" },
    { type: "document" as const, blob: "b1", media_type: "application/pdf", name: "a.pdf" },
    { type: "document" as const, blob: "b1", media_type: "text/plain", name: "a.txt" },
  ),
  fc.constantFrom(
    { type: "document" as const, blob: "odd", media_type: "text/csv" },
    ...["gone", "cut", "blank"].flatMap((blob) => [
      { type: "image" as const, blob, media_type: "image/png" },
      { type: "document" as const, blob, media_type: "application/pdf", name: "" },
      { type: "document" as const, blob, media_type: "text/plain", name: "n\ud800".repeat(300) },
    ]),
    { type: "image" as const, url: "https://", media_type: "image/png" },
    { type: "document" as const, url: "https://h.example/\ud800", media_type: "application/pdf" },
    { type: "image" as const, media_type: "image/png" },
  ),
);
const status = fc.constantFrom("ok", "error", "denied", "unknown" as const);
const callName = fc.constantFrom(
  "fs_write",
  "an.odd name",
  "x".repeat(90),
  "",
  "\ud800",
  "__proto__",
  "名前",
);
/** What an id ends in; those of our own making are plain. */
const tail = fc.constantFrom("", "", "", "\ud800", " ", "x".repeat(60), "é", '"');
const call = fc.record({
  name: callName,
  args,
  status,
  content: fc.array(content, { maxLength: 3 }),
  own: origin,
  tail,
  mark: fc.constantFrom<Json>({ thought_signature: "TS" }, null, "s", [], { thought_signature: "\ud800" }),
});

type Block =
  | { readonly kind: "user"; readonly parts: readonly Part[] }
  | { readonly kind: "reply"; readonly parts: readonly Part[] }
  | {
      readonly kind: "calls";
      readonly parts: readonly Part[];
      readonly calls: readonly (typeof call extends fc.Arbitrary<infer Call> ? Call : never)[];
    };

const block: fc.Arbitrary<Block> = fc.oneof(
  fc.array(content, { minLength: 1, maxLength: 3 }).map((parts) => ({ kind: "user" as const, parts })),
  fc.record({ first: fc.array(reasoning, { maxLength: 1 }), text: seen }).map(({ first, text }) => ({
    kind: "reply" as const,
    parts: [...first, { type: "text" as const, text }],
  })),
  fc
    .record({
      first: fc.array(reasoning, { maxLength: 2 }),
      calls: fc.array(call, { minLength: 1, maxLength: 4 }),
    })
    .map(({ first, calls }) => ({ kind: "calls" as const, parts: first, calls })),
);

/** A history as SE-6 lets it through: a user first, results directly after their calls, not the assistant last. */
const historyOf = (blocks: readonly Block[]): readonly Message[] => {
  let ids = 0;
  const messages: Message[] = [message("user", "Begin.")];
  for (const each of blocks) {
    if (each.kind === "user") messages.push(message("user", each.parts));
    else if (each.kind === "reply") messages.push(message("assistant", each.parts));
    else {
      const calls = each.calls.map((one) => ({ ...one, id: `call_${ids++}${one.tail}` }));
      const parts = calls.map(({ id, name, args: text, own, mark: data }): Part => {
        const [provider = "", model = ""] = own.split("/");
        const opaque = { provider, model, data };
        return { type: "tool_call", id, name, args: text, opaque };
      });
      messages.push(message("assistant", [...each.parts, ...parts]));
      for (const { id, name, status: how, content: what } of calls)
        messages.push(message("tool", [{ type: "tool_result", call: id, name, status: how, content: what }]));
    }
  }
  return messages.at(-1)?.role === "assistant" ? [...messages, message("user", "Go on.")] : messages;
};

const tools = [
  {
    name: "fs_write",
    description: "Writes.",
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        path: { type: ["string", "null"] },
        kind: { const: "a" },
        o: { oneOf: [{ type: "string" }] },
      },
      required: ["path"],
      additionalProperties: false,
    },
  },
  { name: "m".repeat(80), description: "Long.", schema: { type: "object" } },
];

const choice = fc.constantFrom<ModelRequest["toolChoice"]>("auto", "none", "required", { tool: "fs_write" });
const options = fc.record(
  {
    toolChoice: choice,
    reasoning: fc.constantFrom<ModelRequest["reasoning"]>(
      { effort: "high" },
      { effort: "none" },
      { budgetTokens: 9000 },
    ),
    temperature: fc.constantFrom(0, 1.5),
    topP: fc.constantFrom(0.5),
    responseFormat: fc.constantFrom<ModelRequest["responseFormat"]>(
      { type: "json_object" },
      {
        type: "json_schema",
        schema: { type: "object", properties: { a: { type: "string", minLength: 3 } } },
      },
    ),
    system: fc.constantFrom("", "You help."),
    tools: fc.constantFrom<ModelRequest["tools"]>(tools, []),
  },
  { requiredKeys: [] },
);

const servers: readonly (readonly [Kind, object])[] = [
  ...kinds.map((kind) => [kind, {}] as const),
  ["compatible", { reasoning_replay: "reasoning_content", images: true }],
  ["compatible", { reasoning_replay: "reasoning_details", images: true }],
];

test.each(servers)(
  "MO-4 MO-8 SE-6 SE-7: any valid history of any vendors, whatever its parts hold, is a body that a strict %s server takes, %j",
  (kind, compat) => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 6 }), options, (blocks, fields) => {
        const messages = historyOf(blocks);
        const more = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
        const { text, body } = bodyOf(kind, { ...more, messages }, compat);
        expect(checkBody(body, kind)).toBeNull();
        expect(bodyOf(kind, { ...more, messages }, compat).text).toBe(text);
        const fresh = messages.map((each) => structuredClone(each));
        expect(bodyOf(kind, { ...more, messages: fresh }, compat).text).toBe(text);
      }),
      sizeOf(1500),
    );
  },
);

test.each(servers)(
  "SE-7 MO-8: any stored messages in any order are a body that a strict %s server takes, %j",
  (kind, compat) => {
    const stored = fc
      .array(block, { maxLength: 6 })
      .chain((blocks) => fc.shuffledSubarray([...historyOf(blocks)]));
    fc.assert(
      fc.property(stored, (chat) => {
        const { messages } = buildView(chat, message("user", "Begin."));
        expect(checkBody(bodyOf(kind, { tools, messages }, compat).body, kind)).toBeNull();
      }),
      sizeOf(500),
    );
  },
);

/** Without breakpoints, which move from call to call. */
const unmarked = (text: string): string => text.replaceAll(/,"cache_control":\{[^}]*\}/g, "");

test("MO-12: request n is a byte prefix of n + 1 up to its last breakpoint ★", () => {
  fc.assert(
    fc.property(fc.array(block, { minLength: 1, maxLength: 6 }), block, (blocks, next) => {
      const before = historyOf(blocks);
      const more = historyOf([next]).slice(1);
      const first = bodyOf("anthropic", { tools, messages: before }).text;
      const answer = message("assistant", ".answer");
      const second = bodyOf("anthropic", {
        tools,
        messages: [...before, answer, ...more],
        previousNewest: before.at(-1)?.id ?? "",
      }).text;
      const prefix = unmarked(first.slice(0, first.lastIndexOf(',"cache_control"')));
      expect(unmarked(second).startsWith(prefix)).toBe(true);
    }),
    sizeOf(500),
  );
});

test("MO-14: a chat request grows at its end only", () => {
  const messages = historyOf([{ kind: "reply", parts: [{ type: "text", text: "One." }] }]);
  const first = bodyOf("openai", { tools, messages }).text;
  const second = bodyOf("openai", { tools, messages: [...messages, message("user", "More.")] }).text;
  expect(second.startsWith(first.slice(0, first.indexOf('],"max')))).toBe(true);
});

test("MO-2: each message object is serialised once, however often it is sent", () => {
  let reads = 0;
  const media = (): string => {
    reads += 1;
    return "aGVsbG8=";
  };
  const messages = [message("user", [{ type: "image", blob: "b1", media_type: "image/png" }])];
  for (let turn = 0; turn < 5; turn++) bodyOf("anthropic", { messages, media });
  expect(reads).toBe(1);
  for (let turn = 0; turn < 5; turn++) bodyOf("openai", { messages, media });
  expect(reads).toBe(2);
});
