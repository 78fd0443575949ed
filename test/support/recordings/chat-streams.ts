import type { Json } from "../../../src/chat/message.ts";
import type { Kind } from "../fake-provider-fields.ts";
import type { Expected, ExpectedPart, Recording } from "./recording.ts";

/** Streams of the chat completions API and its relatives, written from their public descriptions. */

type Fields = { readonly [key: string]: Json };
const data = (value: Json): string => `data: ${JSON.stringify(value)}\n\n`;
const base = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m-1" };
const chunk = (delta: Fields, finish_reason: string | null = null, more: Fields = {}): string =>
  data({ ...base, choices: [{ index: 0, delta, finish_reason, logprobs: null }], ...more });
const usage = (figures: Fields): string => data({ ...base, choices: [], usage: figures });
const plainUsage = usage({ prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 });
const role = chunk({ role: "assistant", content: "" });
const say = (...pieces: readonly string[]): string => pieces.map((content) => chunk({ content })).join("");
const piece = (fields: Fields): string => chunk({ tool_calls: [fields] });
const begin = (index: number, id: string, name: string, args = ""): string =>
  piece({ index, id, type: "function", function: { name, arguments: args } });
const more = (index: number, args: string): string => piece({ index, function: { arguments: args } });
const done = "data: [DONE]\n\n";
const end = (reason = "stop"): string => chunk({}, reason) + plainUsage + done;

const streamOf =
  (kind: Kind, compat?: Fields) =>
  (name: string, expect: Expected, ...pieces: readonly string[]): Recording => ({
    name: `${kind}-${name}`,
    kind,
    ...(compat !== undefined && { compat }),
    expect,
    chunks: pieces.map((text, n) => ({ at: 80 + n * 15, text })),
  });
const stop = (...parts: readonly ExpectedPart[]): Expected => ({ finish: "stop", parts });
const calls = (...parts: readonly ExpectedPart[]): Expected => ({ finish: "tool_calls", parts });

const openai = streamOf("openai");
const openaiStreams: readonly Recording[] = [
  openai("text", stop(["text", "Hello there."]), role, say("Hello", " there."), end()),
  openai("unicode", stop(["text", "Grüße 🐚 日本"]), role, say("Grü", "ße 🐚", " 日本"), end()),
  openai(
    "call",
    calls(["call", "fs_write", '{"path": "a", "content": "x\\ny"}']),
    role,
    begin(0, "call_1", "fs_write"),
    more(0, '{"path": "a", "con') + more(0, 'tent": "x\\ny"}'),
    end("tool_calls"),
  ),
  openai(
    "calls-parallel",
    calls(["text", "Three."], ["call", "a", '{"n":1}'], ["call", "b", '{"n":2}'], ["call", "a", '{"n":3}']),
    role,
    say("Three."),
    begin(0, "call_1", "a") + more(0, '{"n":1}'),
    begin(1, "call_2", "b") + more(1, '{"n"') + more(1, ":2}"),
    begin(2, "call_3", "a", '{"n":3}'),
    end("tool_calls"),
  ),
  openai(
    "calls-interleaved",
    calls(["call", "a", '{"x":1}'], ["call", "b", '{"y":2}']),
    role,
    begin(0, "call_1", "a") + begin(1, "call_2", "b"),
    more(1, '{"y"') + more(0, '{"x"'),
    more(0, ":1}") + more(1, ":2}"),
    end("tool_calls"),
  ),
  openai(
    "call-without-arguments",
    calls(["call", "now", ""]),
    role,
    begin(0, "call_1", "now"),
    end("tool_calls"),
  ),
  openai(
    "refusal",
    { finish: "refusal", parts: [["text", "I cannot help."]] },
    chunk({ role: "assistant", refusal: "" }),
    chunk({ refusal: "I cannot" }) + chunk({ refusal: " help." }),
    end(),
  ),
  openai(
    "filtered",
    { finish: "filtered", parts: [["text", "Som"]] },
    role,
    say("Som"),
    end("content_filter"),
  ),
  openai(
    "length-call",
    { finish: "length", parts: [["call", "rm", '{"path":"a']] },
    role,
    begin(0, "call_1", "rm") + more(0, '{"path":"a'),
    end("length"),
  ),
  openai(
    "length-text",
    { finish: "length", parts: [["text", "Cut of"]] },
    role,
    say("Cut of"),
    end("length"),
  ),
  openai(
    "error-after-text",
    { error: "server_error" },
    role,
    say("Half"),
    data({ error: { message: "The server had an error", type: "server_error", code: null } }),
  ),
  openai(
    "usage-details",
    { finish: "stop", parts: [["text", "Ok."]], usage: [60, 50, 40, 0, 150] },
    role,
    say("Ok."),
    chunk({}, "stop") +
      usage({
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 20 },
      }) +
      done,
  ),
  openai("no-done", stop(["text", "Whole."]), role, say("Whole."), chunk({}, "stop"), plainUsage),
  openai("empty", stop(), role, end()),
  openai(
    "unknown-fields",
    stop(["text", "Known."]),
    chunk({ role: "assistant", content: "", audio: null, annotations: [] }, null, { obfuscation: "xyz" }),
    chunk({ content: "Known.", mystery: { a: 1 } }),
    data({ object: "something.else", id: "x" }),
    end("a_new_reason"),
  ),
  {
    ...openai("crlf-comments", stop(["text", "Lines."])),
    chunks: [": keep-alive\n\n", role, ": ping\n\n", say("Li", "nes."), end()].map((text, at) => ({
      at,
      text: text.replaceAll("\n", "\r\n"),
    })),
  },
];

const plain = streamOf("compatible");
const details = streamOf("compatible", { reasoning_replay: "reasoning_details" });
const tags = streamOf("compatible", { think_tags: true });
const compatibleStreams: readonly Recording[] = [
  plain(
    "reasoning-content",
    stop(["reasoning", "Let me see."], ["text", "42"]),
    chunk({ role: "assistant", content: null, reasoning_content: "" }),
    chunk({ reasoning_content: "Let me" }) + chunk({ reasoning_content: " see.", content: null }),
    say("42"),
    end(),
  ),
  plain(
    "reasoning",
    stop(["reasoning", "Let me see."], ["text", "42"]),
    role,
    chunk({ reasoning: "Let me" }) + chunk({ reasoning: " see." }),
    say("42"),
    end(),
  ),
  details(
    "reasoning-details",
    calls(
      [
        "reasoning",
        "Let me see.",
        {
          details: [
            { type: "reasoning.text", text: "Let me see.", index: 0, signature: "sg" },
            { type: "reasoning.encrypted", data: "AAECAw", index: 1 },
          ],
        },
      ],
      ["call", "a", "{}"],
    ),
    role,
    chunk({ reasoning: "Let me", reasoning_details: [{ type: "reasoning.text", text: "Let me", index: 0 }] }),
    chunk({
      reasoning: " see.",
      reasoning_details: [{ type: "reasoning.text", text: " see.", index: 0, signature: "sg" }],
    }),
    chunk({ reasoning_details: [{ type: "reasoning.encrypted", data: "AAECAw", index: 1 }] }),
    begin(0, "call_1", "a", "{}"),
    end("tool_calls"),
  ),
  tags(
    "think-tags",
    stop(["reasoning", "Let me see."], ["text", "42"]),
    role,
    say("<think>\nLet me see.\n</think>\n\n42"),
    end(),
  ),
  tags(
    "think-tags-split",
    stop(["reasoning", "Let me < see > </th."], ["text", "42 <think>x</think>"]),
    role,
    say(
      "<th",
      "ink>",
      "\nLet",
      " me < see",
      " > </th",
      ".\n",
      "</",
      "thi",
      "nk",
      ">\n",
      "\n4",
      "2 <think>x</think>",
    ),
    end(),
  ),
  tags(
    "think-tags-none",
    stop(["text", "<thin ice> is thin"]),
    role,
    say("<thin", " ice> is", " thin"),
    end(),
  ),
  plain(
    "calls-by-id",
    calls(["call", "a", '{"n":1}'], ["call", "b", '{"n":2}']),
    role,
    piece({ id: "x1", type: "function", function: { name: "a", arguments: '{"n"' } }),
    piece({ id: "x1", function: { arguments: ":1}" } }),
    piece({ id: "x2", type: "function", function: { name: "b", arguments: '{"n":2}' } }),
    end("tool_calls"),
  ),
  plain(
    "calls-whole-without-id",
    calls(["call", "a", '{"n":1}'], ["call", "a", '{"n":2}']),
    role,
    piece({ type: "function", function: { name: "a", arguments: '{"n":1}' } }),
    piece({ type: "function", function: { name: "a", arguments: '{"n":2}' } }),
    end("tool_calls"),
  ),
  plain(
    "call-name-repeated",
    calls(["call", "a", '{"n":12}']),
    role,
    begin(0, "call_1", "a", '{"n"') + begin(0, "call_1", "a", ":1") + begin(0, "call_1", "a", "2}"),
    end("tool_calls"),
  ),
  plain(
    "call-name-repeated-without-id",
    calls(["call", "a", '{"n":12}']),
    role,
    piece({ index: 0, id: "", function: { name: "a", arguments: '{"n":1' } }),
    piece({ index: 0, id: "", function: { name: "a", arguments: "2}" } }),
    end("tool_calls"),
  ),
  plain(
    "call-nameless",
    calls(["call", "b", "{}"]),
    role,
    piece({ index: 0, id: "n1", function: { arguments: '{"x":1}' } }),
    begin(1, "call_2", "b", "{}"),
    end("tool_calls"),
  ),
  plain(
    "call-name-late",
    calls(["call", "a", '{"n":1}']),
    role,
    piece({ index: 0, id: "call_1", function: { arguments: '{"n"' } }),
    piece({ index: 0, function: { name: "a", arguments: ":1}" } }),
    end("tool_calls"),
  ),
  plain(
    "calls-with-stop",
    calls(["call", "a", '{"n":1}']),
    role,
    begin(0, "call_1", "a", '{"n":1}'),
    end("stop"),
  ),
  plain(
    "call-arguments-object",
    calls(["call", "a", '{"n":1}']),
    role,
    piece({ index: 0, id: "call_1", function: { name: "a", arguments: { n: 1 } } }),
    end("tool_calls"),
  ),
  plain(
    "calls-other-name-without-id",
    calls(["call", "a", ""], ["call", "b", ""]),
    role,
    piece({ index: 0, function: { name: "a" } }),
    piece({ index: 0, function: { name: "b" } }),
    end("tool_calls"),
  ),
  plain(
    "content-list",
    stop(["reasoning", "Let me think."], ["text", "Hello there."]),
    role,
    chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Let me think." }] }] }),
    chunk({
      content: [
        { type: "text", text: "Hello " },
        { type: "reference", reference_ids: [1] },
      ],
    }),
    chunk({ content: [null, { type: "text", text: "there." }] }),
    end(),
  ),
  plain("finish-error", { error: "server_error" }, role, say("Half"), end("error")),
  plain(
    "error-in-choice",
    { error: "overloaded" },
    role,
    say("Half"),
    data({
      ...base,
      choices: [{ index: 0, delta: {}, finish_reason: "error", error: { code: 503, message: "upstream" } }],
    }),
  ),
  plain(
    "error-event",
    { error: "rate_limited" },
    role,
    `event: error\n${data({ code: 429, message: "slow down", type: "rate_limit_error" })}`,
  ),
  plain(
    "message-for-delta",
    calls(["text", "Let me see."], ["call", "a", '{"n":1}']),
    data({
      ...base,
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "Let me see.",
            tool_calls: [{ id: "call_1", type: "function", function: { name: "a", arguments: '{"n":1}' } }],
          },
          finish_reason: "tool_calls",
        },
      ],
    }),
    plainUsage + done,
  ),
  plain(
    "message-beside-empty-delta",
    stop(["reasoning", "Hm."], ["text", "Hello there."]),
    role,
    data({
      ...base,
      choices: [
        {
          index: 0,
          delta: { role: "assistant", content: "" },
          message: { role: "assistant", reasoning_content: "Hm.", content: "Hello there." },
          finish_reason: "stop",
        },
      ],
    }),
    plainUsage + done,
  ),
  plain(
    "message-after-deltas",
    stop(["text", "Hello there."]),
    role,
    say("Hello", " there."),
    data({
      ...base,
      choices: [{ index: 0, message: { role: "assistant", content: "Hello there." }, finish_reason: "stop" }],
    }),
    plainUsage + done,
  ),
  plain(
    "usage-empty",
    { finish: "stop", parts: [["text", "Ok."]], usage: [12, 5, 0, 0, 17] },
    role,
    say("Ok."),
    chunk({}, "stop", { usage: {} }),
    plainUsage + done,
  ),
  plain(
    "usage-timings",
    { finish: "stop", parts: [["text", "Ok."]] },
    role,
    say("Ok."),
    chunk({}, "stop") + done,
  ),
];

const gemini = streamOf("gemini");
const google = (name: string, args: string, signature?: string, fields: Fields = {}): Json => ({
  function: { name, arguments: args },
  type: "function",
  id: "",
  ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
  ...fields,
});
const figures = { usage: { prompt_tokens: 300, completion_tokens: 120, total_tokens: 420 } };
const geminiStreams: readonly Recording[] = [
  gemini(
    "text",
    { finish: "stop", parts: [["text", "Hello there."]], usage: [300, 120, 0, 0, 420] },
    chunk({ role: "assistant", content: "Hello" }, null, figures),
    chunk({ content: " there." }, "stop", figures) + done,
  ),
  gemini(
    "calls-whole",
    calls(["call", "a", '{"n":1}', { thought_signature: "CpQB+/==" }], ["call", "a", '{"n":2}']),
    chunk(
      { role: "assistant", tool_calls: [google("a", '{"n":1}', "CpQB+/=="), google("a", '{"n":2}')] },
      null,
      figures,
    ),
    chunk({ role: "assistant" }, "stop", figures) + done,
  ),
  gemini(
    "calls-apart",
    calls(["text", "Look."], ["call", "a", '{"n":1}', { thought_signature: "S1" }], ["call", "b", "{}"]),
    chunk({ role: "assistant", content: "Look." }, null, figures),
    chunk({ tool_calls: [google("a", '{"n":1}', "S1")] }, null, figures),
    chunk({ tool_calls: [google("b", "{}")] }, "tool_calls", figures),
    done,
  ),
  gemini(
    "calls-index-zero",
    calls(["call", "a", '{"n":1}', { thought_signature: "S1" }], ["call", "a", '{"n":2}']),
    chunk({ tool_calls: [google("a", '{"n":1}', "S1", { index: 0 })] }, null, figures),
    chunk({ tool_calls: [google("a", '{"n":2}', undefined, { index: 0 })] }, null, figures),
    chunk({}, "stop", figures) + done,
  ),
  gemini(
    "error-array",
    { error: "overloaded" },
    chunk({ role: "assistant", content: "Half" }, null, figures),
    data([{ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }]),
  ),
];

const grok = streamOf("grok");
const grokUsage = (completion: number): Fields => ({
  usage: {
    prompt_tokens: 663,
    completion_tokens: completion,
    total_tokens: 837,
    prompt_tokens_details: { cached_tokens: 654 },
    completion_tokens_details: { reasoning_tokens: 124 },
  },
});
const grokStreams: readonly Recording[] = [
  grok(
    "reasoning",
    {
      finish: "stop",
      parts: [
        ["reasoning", "Hm."],
        ["text", "Yes."],
      ],
      usage: [9, 174, 654, 0, 837],
    },
    chunk({ role: "assistant", reasoning_content: "Hm." }, null, grokUsage(10)),
    chunk({ content: "Yes." }, null, grokUsage(50)),
    chunk({}, "stop", grokUsage(50)) + done,
  ),
  grok(
    "call-whole",
    calls(["call", "a", '{"n":1}']),
    chunk({ role: "assistant", content: "" }, null, grokUsage(0)),
    piece({ index: 0, id: "call_12345678", type: "function", function: { name: "a", arguments: '{"n":1}' } }),
    chunk({}, "tool_calls", grokUsage(50)) + done,
  ),
];

export const chatStreams: readonly Recording[] = [
  ...openaiStreams,
  ...compatibleStreams,
  ...geminiStreams,
  ...grokStreams,
];
