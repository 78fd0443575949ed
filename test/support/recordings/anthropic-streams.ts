import type { Json } from "../../../src/chat/message.ts";
import type { Expected, ExpectedPart, Recording } from "./recording.ts";

/** Streams of the Messages API, written from its public description. */

type Fields = { readonly [key: string]: Json };
const event = (type: string, fields: Fields = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

const start = (usage: Fields = {}): string =>
  event("message_start", {
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-x",
      content: [],
      stop_reason: null,
      usage: { input_tokens: 12, output_tokens: 1, ...usage },
    },
  });
const open = (index: number, content_block: Fields): string =>
  event("content_block_start", { index, content_block });
const delta = (index: number, type: string, fields: Fields): string =>
  event("content_block_delta", { index, delta: { type, ...fields } });
const close = (index: number): string => event("content_block_stop", { index });
const end = (stop_reason: string, usage: Fields = { output_tokens: 9 }, more: Fields = {}): string =>
  event("message_delta", { delta: { stop_reason, stop_sequence: null, ...more }, usage }) +
  event("message_stop");

const text = (index: number, ...pieces: readonly string[]): string =>
  [
    open(index, { type: "text", text: "" }),
    ...pieces.map((piece) => delta(index, "text_delta", { text: piece })),
    close(index),
  ].join("");
const thinking = (index: number, signature: string, ...pieces: readonly string[]): string =>
  [
    open(index, { type: "thinking", thinking: "", signature: "" }),
    ...pieces.map((piece) => delta(index, "thinking_delta", { thinking: piece })),
    delta(index, "signature_delta", { signature }),
    close(index),
  ].join("");
const call = (index: number, id: string, name: string, ...pieces: readonly string[]): string =>
  [
    open(index, { type: "tool_use", id, name, input: {} }),
    ...pieces.map((piece) => delta(index, "input_json_delta", { partial_json: piece })),
    close(index),
  ].join("");

const ping = event("ping");

const stream = (name: string, expect: Expected, ...pieces: readonly string[]): Recording => ({
  name: `anthropic-${name}`,
  kind: "anthropic",
  expect,
  chunks: pieces.map((piece, n) => ({ at: 100 + n * 20, text: piece })),
});
const stop = (...parts: readonly ExpectedPart[]): Expected => ({ finish: "stop", parts });
const calls = (...parts: readonly ExpectedPart[]): Expected => ({ finish: "tool_calls", parts });

export const anthropicStreams: readonly Recording[] = [
  stream("text", stop(["text", "Hello there."]), start(), text(0, "Hello", " there", "."), end("end_turn")),
  stream(
    "unicode",
    stop(["text", "Grüße 🐚 日本"]),
    start(),
    text(0, "Grü", "ße 🐚", " 日本"),
    end("end_turn"),
  ),
  stream(
    "thinking",
    stop(["reasoning", "Let me see.", { signature: "EqRkLm+/==" }], ["text", "42"]),
    start(),
    thinking(0, "EqRkLm+/==", "Let me", " see."),
    text(1, "42"),
    end("end_turn"),
  ),
  stream(
    "redacted",
    stop(["reasoning", "", { redacted: "EmwKAhgB" }], ["text", "Fine."]),
    start(),
    open(0, { type: "redacted_thinking", data: "EmwKAhgB" }) + close(0),
    text(1, "Fine."),
    end("end_turn"),
  ),
  stream(
    "thinking-omitted",
    calls(["reasoning", "", { signature: "SigOnly" }], ["call", "fs_read", '{"path":"a.md"}']),
    start(),
    thinking(0, "SigOnly"),
    call(1, "toolu_1", "fs_read", "", '{"path"', ':"a.md"}'),
    end("tool_use"),
  ),
  stream(
    "call",
    calls(["call", "fs_write", '{"path": "a", "content": "x\\ny"}']),
    start(),
    call(0, "toolu_1", "fs_write", '{"path": "a", "con', 'tent": "x\\ny"}'),
    end("tool_use"),
  ),
  stream(
    "call-without-arguments",
    calls(["call", "now", "{}"]),
    start(),
    call(0, "toolu_1", "now", ""),
    end("tool_use"),
  ),
  stream(
    "call-input-at-start",
    calls(["call", "fs_read", '{"path":"b"}']),
    start(),
    open(0, { type: "tool_use", id: "t1", name: "fs_read", input: { path: "b" } }) + close(0),
    end("tool_use"),
  ),
  stream(
    "calls-parallel",
    calls(["text", "Three."], ["call", "a", '{"n":1}'], ["call", "b", '{"n":2}'], ["call", "a", '{"n":3}']),
    start(),
    text(0, "Three."),
    call(1, "toolu_1", "a", '{"n":1}'),
    call(2, "toolu_2", "b", '{"n"', ":2}"),
    call(3, "toolu_3", "a", '{"n":3}'),
    end("tool_use"),
  ),
  stream(
    "thinking-between",
    calls(
      ["reasoning", "First.", { signature: "s1" }],
      ["text", "Look."],
      ["reasoning", "Then.", { signature: "s2" }],
      ["call", "a", '{"k":"v"}'],
    ),
    start(),
    thinking(0, "s1", "First."),
    text(1, "Look."),
    thinking(2, "s2", "Then."),
    call(3, "toolu_9", "a", '{"k":"v"}'),
    end("tool_use"),
  ),
  stream(
    "length-text",
    { finish: "length", parts: [["text", "Cut of"]] },
    start(),
    text(0, "Cut of"),
    end("max_tokens"),
  ),
  stream(
    "length-call",
    { finish: "length", parts: [["call", "rm", '{"path":"a']] },
    start(),
    call(0, "toolu_1", "rm", '{"path":"a'),
    end("max_tokens"),
  ),
  stream(
    "refusal",
    { finish: "refusal", parts: [["text", "I cannot"]] },
    start(),
    text(0, "I cannot"),
    end(
      "refusal",
      { output_tokens: 2 },
      { stop_details: { type: "refusal", category: "cyber", explanation: null } },
    ),
  ),
  stream(
    "paused",
    { finish: "paused", parts: [["text", "Wait"]] },
    start(),
    text(0, "Wait"),
    end("pause_turn"),
  ),
  stream(
    "context-full",
    { finish: "context_full", parts: [["text", "No room"]] },
    start(),
    text(0, "No room"),
    end("model_context_window_exceeded"),
  ),
  stream("stop-sequence", stop(["text", "Up to"]), start(), text(0, "Up to"), end("stop_sequence")),
  stream(
    "error-after-text",
    { error: "overloaded" },
    start(),
    open(0, { type: "text", text: "" }),
    delta(0, "text_delta", { text: "Half" }),
    event("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
  ),
  stream(
    "error-at-once",
    { error: "rate_limited" },
    event("error", { error: { type: "rate_limit_error", message: "slow down" } }),
  ),
  stream(
    "pings",
    stop(["text", "So slow."]),
    ping,
    start(),
    ping,
    open(0, { type: "text", text: "" }) + ping,
    delta(0, "text_delta", { text: "So " }) + ping + ping,
    delta(0, "text_delta", { text: "slow." }),
    close(0) + ping,
    end("end_turn"),
  ),
  {
    ...stream("crlf", stop(["text", "Lines."])),
    chunks: [start(), text(0, "Li", "nes."), end("end_turn")].map((piece, at) => ({
      at,
      text: piece.replaceAll("\n", "\r\n"),
    })),
  },
  stream(
    "usage-cumulative",
    { finish: "stop", parts: [["text", "Ok."]], usage: [200, 80, 50, 10, 340] },
    start({ input_tokens: 190, cache_read_input_tokens: 50, cache_creation_input_tokens: 10 }),
    text(0, "Ok."),
    end("end_turn", { input_tokens: 200, output_tokens: 80, cache_read_input_tokens: null }),
  ),
  stream(
    "server-tools",
    stop(["text", "Found."]),
    start(),
    open(0, { type: "server_tool_use", id: "srv_1", name: "web_search", input: {} }),
    delta(0, "input_json_delta", { partial_json: '{"query":"x"}' }) + close(0),
    open(1, { type: "web_search_tool_result", tool_use_id: "srv_1", content: [] }) + close(1),
    open(2, { type: "text", text: "" }),
    delta(2, "citations_delta", { citation: { type: "char_location", cited_text: "q" } }),
    delta(2, "text_delta", { text: "Found." }) + close(2),
    end("end_turn"),
  ),
  stream(
    "unknown-events",
    stop(["text", "Known."]),
    event("hello_world", { x: [1, 2] }),
    start({ new_field: { a: 1 } }),
    open(0, { type: "text", text: "", extra: true }),
    delta(0, "mystery_delta", { x: 1 }),
    delta(0, "text_delta", { text: "Known.", extra: 1 }) + close(0),
    end("a_new_reason"),
  ),
  stream("empty", stop(), start(), end("end_turn")),
  stream("empty-block", stop(), start(), open(0, { type: "text", text: "" }) + close(0), end("end_turn")),
];
