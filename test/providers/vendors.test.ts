import { afterAll, beforeAll, expect, test } from "vitest";
import { framesOfKind, startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { attempt, completerFor, requestOf } from "../support/fake-provider-client.ts";
import { chatFrames } from "../support/fake-provider-reply.ts";
import type { Kind } from "../support/fake-provider-fields.ts";

/** What single vendors send besides what their protocol says. */

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const ask = (kind: Kind, raw: string) => {
  fake.play(() => ({ raw }));
  return attempt(completerFor(fake, kind), requestOf(kind));
};

const half = (finish: string): string =>
  chatFrames({ pieces: [{ text: "Half an" }, { call: "rm", args: { path: "/" } }], finish }, "m").join("");

test.each([
  ["Mistral", "model_length", "context_full"],
  ["Z.ai", "model_context_window_exceeded", "context_full"],
  ["Z.ai", "sensitive", "filtered"],
  ["Google", "MAX_TOKENS", "length"],
  ["Google", "SAFETY", "filtered"],
  ["Google", "RECITATION", "filtered"],
  ["Google", "content_filter: PROHIBITED_CONTENT", "filtered"],
])("MO-15 MO-22: a reply that %s ends by %s is cut, and its calls never run", async (_, finish, reason) => {
  const { completion } = await ask("compatible", half(finish));
  expect(completion).toMatchObject({ finish: reason, parts: [{}, { invalid: "truncated" }] });
});

test.each([
  ["DeepSeek", "insufficient_system_resource", "server_error"],
  ["Z.ai", "network_error", "server_error"],
  ["vLLM", "abort", "server_error"],
  ["Google", "MALFORMED_FUNCTION_CALL", "protocol_error"],
  ["Google", "function_call_filter: MALFORMED_FUNCTION_CALL", "protocol_error"],
])("MO-15 MO-23: a reply that %s breaks off by %s is no answer, and is asked for again", async (...row) => {
  const [, finish, code] = row;
  const { failure } = await ask("compatible", half(finish));
  expect(failure).toMatchObject({ code, retryable: true, billed: true });
});

test.each([
  ["with the reason on each chunk", "", "stop"],
  ["cut at last", "", "length"],
  ["without its usage and [DONE]", null, "stop"],
] as const)("MO-15: NVIDIA's text after the first reason counts, %s", async (_, tail, last) => {
  const [role = "", text = "", end = "", ...rest] = chatFrames(
    { pieces: [{ text: "Hello there." }], finish: last },
    "m",
  );
  const early = role.replace('"finish_reason":null', '"finish_reason":"stop"');
  const raw = [early, text, end, ...(tail === null ? [] : rest)].join("");
  expect((await ask("compatible", raw)).completion).toMatchObject({
    parts: [{ type: "text", text: "Hello there." }],
    finish: last,
    usage: tail === null ? {} : { input: 25, output: 15 },
  });
});

test("MO-15 MO-22: a call that begins after the reason of the end is no part of a whole reply", async () => {
  const [role = "", ...rest] = chatFrames({ pieces: [{ call: "rm", args: { path: "/" } }] }, "m");
  const early = role.replace('"finish_reason":null', '"finish_reason":"stop"');
  const { failure } = await ask("compatible", [early, ...rest].join(""));
  expect(failure).toMatchObject({ code: "protocol_error", retryable: true });
});

test("MO-19: an error that a stream names as its object is classified by it, and is no cut reply", async () => {
  const message = "The decoder prompt (length 9000) is longer than the maximum model length of 8192.";
  const error = { object: "error", type: "BadRequestError", code: 400, message };
  const { failure } = await ask("compatible", `data: ${JSON.stringify(error)}\n\ndata: [DONE]\n\n`);
  expect(failure).toMatchObject({ code: "context_overflow", retryable: false });
});

test("MO-31: Moonshot's usage is that of its choice", async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150, cached_tokens: 40 };
  const raw = chatFrames({ pieces: [{ text: "Yes." }], usage: null }, "kimi-k2.6")
    .join("")
    .replace('"finish_reason":"stop"', () => `"finish_reason":"stop","usage":${JSON.stringify(usage)}`);
  const { completion } = await ask("compatible", raw);
  expect(completion).toMatchObject({
    estimated: false,
    usage: { input: 60, output: 50, cacheRead: 40, cacheWrite: 0, total: 150 },
  });
});

/** An event of the Messages API. */
const event = (data: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

test("MO-13 MO-31: input that is reported at the start stays if the end fills its field with 0", async () => {
  const raw = [
    event({ type: "message_start", message: { model: "m", usage: { input_tokens: 900, output_tokens: 1 } } }),
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "Yes." } }),
    event({ type: "content_block_stop", index: 0 }),
    event({
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { input_tokens: 0, output_tokens: 7 },
    }),
    event({ type: "message_stop" }),
  ].join("");
  const { completion } = await ask("anthropic", raw);
  expect(completion?.usage).toMatchObject({ input: 900, output: 7 });
});

test.each([
  [429, "quota_exceeded", "Extra usage is required for long context requests."],
  [
    400,
    "quota_exceeded",
    "You have reached your specified API usage limits. You will regain access on 2026-12-01.",
  ],
  [400, "auth", "This organization has been disabled."],
])("MO-25: Anthropic's HTTP %i is %s where the account is the reason: %s", async (status, code, message) => {
  fake.play(() => ({
    status,
    body: { type: "error", error: { type: "invalid_request_error", message } },
  }));
  const { failure } = await attempt(completerFor(fake, "anthropic"), requestOf("anthropic"));
  expect(failure).toMatchObject({ code, retryable: false });
});

test("MO-15: xAI's own end of a reply, and a call that comes without its pieces, count", async () => {
  const frames = framesOfKind("responses", { pieces: [{ call: "look", args: { place: "pool" } }] }, "m");
  const raw = frames
    .filter((frame) => !/function_call_arguments|output_item\.added/.test(frame))
    .join("")
    .replaceAll("response.completed", "response.done");
  expect((await ask("responses", raw)).completion).toMatchObject({
    finish: "tool_calls",
    parts: [{ type: "tool_call", name: "look", args: '{"place":"pool"}' }],
  });
});

test("MO-15 MO-25: a reply that ends as failed is an error, whatever the name of its end", async () => {
  const raw = framesOfKind("responses", { pieces: [{ text: "So" }] }, "m")
    .join("")
    .replaceAll("response.completed", "response.done")
    .replaceAll('"error":null', '"error":{"code":"rate_limit_exceeded","message":"canary"}')
    .replaceAll('"status":"completed","incomplete_details"', '"status":"failed","incomplete_details"');
  const { failure } = await ask("responses", raw);
  expect(failure).toMatchObject({ code: "rate_limited", billed: true });
});

test("MO-10: a signature that thinking brings at its start goes back, unless pieces of one follow", async () => {
  const thinking = (at: string, ...pieces: readonly string[]): string =>
    [
      { type: "message_start", message: { model: "m" } },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "thinking", thinking: "So", signature: at },
      },
      ...pieces.map((signature) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "signature_delta", signature },
      })),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" } },
      { type: "message_stop" },
    ]
      .map(event)
      .join("");
  const signatureOf = async (raw: string) => (await ask("anthropic", raw)).completion?.parts;
  for (const raw of [thinking("SIGNED"), thinking("", "SIG", "NED"), thinking("SIGNED", "SIGNED")])
    expect(await signatureOf(raw)).toMatchObject([{ opaque: { data: { signature: "SIGNED" } } }]);
});

test.each([
  ["429", "rate_limited"],
  ["400", "invalid_request"],
  ["401", "auth"],
])("MO-19 MO-25: LiteLLM's error %s in a stream is that of its status, which is a text", async (...row) => {
  const [status, code] = row;
  const error = { message: "litellm.Error: canary", type: "None", param: "None", code: status };
  const { failure } = await ask("compatible", `data: ${JSON.stringify({ error })}\n\n`);
  expect(failure).toMatchObject({ code, status: Number(status) });
});
