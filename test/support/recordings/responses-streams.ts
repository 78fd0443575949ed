import type { Json } from "../../../src/chat/message.ts";
import type { Expected, ExpectedPart, Recording } from "./recording.ts";

/** Streams of OpenAI's Responses API, written from its public description. */

type Fields = { readonly [key: string]: Json };
const event = (type: string, fields: Fields): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const response = { id: "resp_1", object: "response", model: "m-1" };
const created =
  event("response.created", { response: { ...response, status: "in_progress" } }) +
  event("response.in_progress", { response: { ...response, status: "in_progress" } });
const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
  output_tokens: 50,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 150,
};
const completed = event("response.completed", { response: { ...response, status: "completed", usage } });
const incomplete = (reason: string): string =>
  event("response.incomplete", {
    response: { ...response, status: "incomplete", incomplete_details: { reason }, usage },
  });
const failed = (error: Fields): string =>
  event("response.failed", { response: { ...response, status: "failed", error, usage } });

const added = (output_index: number, item: Fields): string =>
  event("response.output_item.added", { output_index, item });
const ended = (output_index: number, item: Fields): string =>
  event("response.output_item.done", { output_index, item });
const say = (output_index: number, ...pieces: readonly string[]): string =>
  pieces
    .map((delta) => event("response.output_text.delta", { output_index, content_index: 0, delta }))
    .join("");
const message = (output_index: number, text: string, more: Fields = {}): string => {
  const item = { id: `msg_${output_index}`, type: "message", role: "assistant", ...more };
  const part = { type: "output_text", text };
  return (
    added(output_index, { ...item, content: [] }) +
    event("response.content_part.added", {
      output_index,
      content_index: 0,
      part: { type: "output_text", text: "" },
    }) +
    say(output_index, text.slice(0, 3), text.slice(3)) +
    event("response.output_text.done", { output_index, content_index: 0, text }) +
    event("response.content_part.done", { output_index, content_index: 0, part }) +
    ended(output_index, { ...item, content: [part] })
  );
};
const begin = (output_index: number, name: string): string =>
  added(output_index, { type: "function_call", call_id: `call_${output_index}`, name, arguments: "" });
const more = (output_index: number, delta: string): string =>
  event("response.function_call_arguments.delta", { output_index, delta });
const endCall = (output_index: number, name: string, args: string): string =>
  ended(output_index, { type: "function_call", call_id: `call_${output_index}`, name, arguments: args });
const think = (output_index: number, summary_index: number, delta: string): string =>
  event("response.reasoning_summary_text.delta", { output_index, summary_index, delta });
const endThought = (output_index: number, ...summary: readonly string[]): string =>
  ended(output_index, {
    id: `rs_${output_index}`,
    type: "reasoning",
    summary: summary.map((text) => ({ type: "summary_text", text })),
    encrypted_content: "gAAA==",
  });
const beginThought = (output_index: number): string =>
  added(output_index, { id: `rs_${output_index}`, type: "reasoning", summary: [] });
const kept: Json = { encrypted_content: "gAAA==" };

const streamOf = (name: string, expect: Expected, ...pieces: readonly string[]): Recording => ({
  name: `responses-${name}`,
  kind: "responses",
  expect,
  chunks: pieces.map((text, n) => ({ at: 80 + n * 15, text })),
});
const counted = [50, 50, 40, 10, 150];
const stop = (...parts: readonly ExpectedPart[]): Expected => ({ finish: "stop", parts, usage: counted });
const calls = (...parts: readonly ExpectedPart[]): Expected => ({
  finish: "tool_calls",
  parts,
  usage: counted,
});

export const responsesStreams: readonly Recording[] = [
  streamOf("text", stop(["text", "Grüße 🐚."]), created, message(0, "Grüße 🐚."), completed),
  streamOf(
    "calls-interleaved",
    calls(["text", "Two."], ["call", "a", '{"x": 1}'], ["call", "b", '{"y":2}']),
    created,
    message(0, "Two.", { phase: "commentary" }),
    begin(1, "a") + begin(2, "b"),
    more(1, '{"x"') + more(2, '{"y":2}') + more(1, ": 1}"),
    endCall(2, "b", '{"y":2}') + endCall(1, "a", '{"x": 1}'),
    completed,
  ),
  streamOf(
    "reasoning-summary",
    calls(["reasoning", "First.\n\nThen.", kept], ["call", "a", "{}"]),
    created,
    beginThought(0) + think(0, 0, "Fir") + think(0, 0, "st."),
    think(0, 1, "Then.") + endThought(0, "First.", "Then."),
    begin(1, "a") + more(1, "{}") + endCall(1, "a", "{}"),
    completed,
  ),
  streamOf(
    "reasoning-silent",
    stop(["reasoning", "", kept], ["text", "Yes, it is."]),
    created,
    beginThought(0) + endThought(0),
    message(1, "Yes, it is.", { phase: "final_answer" }),
    completed,
  ),
  streamOf(
    "reasoning-open",
    stop(["reasoning", "It is so."], ["text", "Yes, it is."]),
    created,
    beginThought(0),
    event("response.reasoning_text.delta", { output_index: 0, content_index: 0, delta: "It is so." }),
    think(0, 0, "The same in short."),
    ended(0, { id: "rs_0", type: "reasoning", summary: [], content: [] }),
    message(1, "Yes, it is."),
    completed,
  ),
  streamOf(
    "items-whole",
    calls(["reasoning", "Hm.\n\nSo.", kept], ["text", "One.\n\nTwo."], ["call", "a", '{"n":1}']),
    created,
    endThought(0, "Hm.", "So."),
    ended(1, {
      type: "message",
      role: "assistant",
      content: [
        { type: "output_text", text: "One." },
        { type: "output_text", text: "Two." },
      ],
    }),
    begin(2, "a") + endCall(2, "a", '{"n":1}'),
    `${completed}data: [DONE]\n\n`,
  ),
  streamOf(
    "unknown-items",
    stop(["text", "Seen."]),
    created,
    added(0, { id: "ws_1", type: "web_search_call", status: "in_progress" }),
    event("response.web_search_call.searching", { output_index: 0, item_id: "ws_1" }),
    ended(0, { id: "ws_1", type: "web_search_call", status: "completed" }) +
      event("keepalive", { sequence_number: 7 }),
    message(1, "Seen."),
    completed,
  ),
  streamOf(
    "refusal",
    { finish: "refusal", parts: [["text", "I will not."]] },
    created,
    added(0, { type: "message", role: "assistant", content: [] }),
    event("response.refusal.delta", { output_index: 0, content_index: 0, delta: "I will not." }),
    ended(0, { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "I will not." }] }),
    completed,
  ),
  streamOf(
    "cut",
    { finish: "length", parts: [["call", "a", '{"path":"a']], usage: counted },
    created,
    begin(0, "a") + more(0, '{"path":"a') + endCall(0, "a", '{"path":"a'),
    incomplete("max_output_tokens"),
  ),
  streamOf(
    "cut-in-call",
    { finish: "length", parts: [["call", "a", '{"path":"a']], usage: counted },
    created,
    begin(0, "a") + more(0, '{"path":"a'),
    incomplete("max_output_tokens"),
  ),
  // vLLM names the end of every reply a completed one, and its status tells.
  streamOf(
    "cut-completed",
    { finish: "length", parts: [["call", "a", '{"path":"a"}']], usage: counted },
    created,
    begin(0, "a") + more(0, '{"path":"a"}') + endCall(0, "a", '{"path":"a"}'),
    incomplete("max_output_tokens").replaceAll("response.incomplete", "response.completed"),
  ),
  streamOf(
    "filtered",
    { finish: "filtered", parts: [["text", "Half of it"]] },
    created,
    added(0, { type: "message", role: "assistant", content: [] }) + say(0, "Half of it"),
    incomplete("content_filter"),
  ),
  streamOf("failed", { error: "server_error" }, created, failed({ code: "server_error", message: "Oops." })),
  streamOf(
    "overflow",
    { error: "context_overflow" },
    created,
    failed({ code: "context_length_exceeded", message: "Your input exceeds the context window." }),
  ),
  streamOf(
    "error",
    { error: "rate_limited" },
    created,
    message(0, "So far"),
    event("error", { code: "rate_limit_exceeded", message: "Rate limit reached.", param: null }),
  ),
  streamOf("call-open", { error: "protocol_error" }, created, begin(0, "a") + more(0, '{"x":1}'), completed),
];
