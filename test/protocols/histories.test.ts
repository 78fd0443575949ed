import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Message, Part } from "../../src/chat/message.ts";
import { describeModel } from "../../src/model/catalogue.ts";
import type { ModelRequest } from "../../src/model/completer.ts";
import { anthropicMessages } from "../../src/protocols/anthropic-messages.ts";
import { openAiChat } from "../../src/protocols/openai-chat.ts";
import { profiles } from "../../src/providers/index.ts";
import { checkBody, signatureFor } from "../support/fake-provider-check.ts";
import type { Kind } from "../support/fake-provider-check.ts";
import { configOf, message, requestOf } from "../support/fake-provider-client.ts";

const kinds: readonly Kind[] = ["anthropic", "openai", "grok", "gemini", "compatible"];

const bodyOf = (
  kind: Kind,
  fields: Partial<ModelRequest>,
): { readonly text: string; readonly body: unknown } => {
  const config = configOf(kind);
  const profile = profiles.find((each) => each.kind === config.kind);
  if (profile === undefined) throw new Error(kind);
  const protocol = profile.protocol === "anthropic-messages" ? anthropicMessages : openAiChat;
  const { capabilities, max_output: maxOutput } = describeModel(config.kind, config.model);
  const target = { provider: config.name, capabilities, maxOutput, traits: profile.traits(config) };
  const text = protocol.build(requestOf(kind, fields), target).body;
  return { text, body: JSON.parse(text) as unknown };
};

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.constantFrom("Grüße 🐚", "\ud800 lone", " ", "\n\t", '"quoted"', "<think>", "[DONE]"),
);
const seen = fc.string({ minLength: 1, maxLength: 8 }).map((text) => `.${text}`);
const args = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom("", "{}", '{"a":1}', '{"a":', "[1]", "null", '{"s":"\\ud800"}', "not json"),
);
const origin = fc.constantFrom("anthropic/claude-sonnet-5-5", "openai/gpt-6.1-sol", "gemini/gemini-3.8-pro");
const reasoning = fc.record({ text: word, from: origin }).map(({ text, from }): Part => {
  const [provider = "", model = ""] = from.split("/");
  const data = { signature: signatureFor(text.toWellFormed()), thought_signature: "S" };
  return { type: "reasoning", text: text.toWellFormed(), model: from, opaque: { provider, model, data } };
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
);
const status = fc.constantFrom("ok", "error", "denied", "unknown" as const);
const callName = fc.constantFrom("fs_write", "an.odd name", "x".repeat(90));
const call = fc.record({
  name: callName,
  args,
  status,
  content: fc.array(content, { maxLength: 3 }),
  own: origin,
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
      const calls = each.calls.map((one) => ({ ...one, id: `call_${ids++}` }));
      const parts = calls.map(({ id, name, args: text, own }): Part => {
        const [provider = "", model = ""] = own.split("/");
        const opaque = { provider, model, data: { thought_signature: "TS" } };
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

test.each(kinds)(
  "MO-4 SE-6: any valid history of any vendors is a body that a strict %s server takes",
  (kind) => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 6 }), options, (blocks, fields) => {
        const messages = historyOf(blocks);
        const more = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
        const { text, body } = bodyOf(kind, { ...more, messages });
        expect(checkBody(body, kind)).toBeNull();
        expect(bodyOf(kind, { ...more, messages }).text).toBe(text);
        const fresh = messages.map((each) => structuredClone(each));
        expect(bodyOf(kind, { ...more, messages: fresh }).text).toBe(text);
      }),
      { numRuns: 1500 },
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
    { numRuns: 500 },
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
