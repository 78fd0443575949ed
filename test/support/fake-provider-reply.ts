import type { ChatKind } from "./fake-provider-check.ts";
import { signatureFor } from "./fake-provider-fields.ts";

/** A piece of a reply, in the model's order. */
export type Piece =
  | { readonly text: string }
  | { readonly reasoning: string; readonly redacted?: boolean }
  | { readonly call: string; readonly id?: string; readonly args?: unknown; readonly rawArgs?: string }
  | { readonly refusal: string };

/** What is said as a stream, whatever the dialect. */
export interface Speech {
  readonly pieces: readonly Piece[];
  /** `stop`, `tool_calls`, `length`, `refusal`, or a dialect's own word; absent: by the pieces. */
  readonly finish?: string;
  /** Absent: some plausible figures; null: none. */
  readonly usage?: { readonly [key: string]: unknown } | null;
  /** UTF-16 units per delta; absent: 24. */
  readonly chunk?: number;
  readonly model?: string;
}

export const split = (text: string, size: number): string[] => {
  const out: string[] = [];
  let at = 0;
  while (at < text.length) {
    let end = Math.min(at + size, text.length);
    if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1)) && end < text.length) end += 1;
    out.push(text.slice(at, end));
    at = end;
  }
  return out;
};

export const argumentsOf = (piece: Extract<Piece, { call: string }>): string =>
  piece.rawArgs ?? JSON.stringify(piece.args ?? {});

export const frame = (event: string | null, data: unknown): string =>
  `${event === null ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

const anthropicReasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  refusal: "refusal",
  context_full: "model_context_window_exceeded",
};

export const hasCalls = ({ pieces }: Speech): boolean => pieces.some((piece) => "call" in piece);
const reasonOf = (speech: Speech): string => speech.finish ?? (hasCalls(speech) ? "tool_calls" : "stop");

const anthropicBlock = (piece: Piece, index: number, size: number, seed: number): string[] => {
  const start = (content_block: unknown) =>
    frame("content_block_start", { type: "content_block_start", index, content_block });
  const delta = (part: unknown) =>
    frame("content_block_delta", { type: "content_block_delta", index, delta: part });
  const stop = frame("content_block_stop", { type: "content_block_stop", index });
  if ("call" in piece) {
    const id = piece.id ?? `toolu_${seed}_${index}`;
    const deltas = ["", ...split(argumentsOf(piece), size)];
    return [
      start({ type: "tool_use", id, name: piece.call, input: {} }),
      ...deltas.map((partial_json) => delta({ type: "input_json_delta", partial_json })),
      stop,
    ];
  }
  if ("reasoning" in piece) {
    if (piece.redacted === true) return [start({ type: "redacted_thinking", data: piece.reasoning }), stop];
    return [
      start({ type: "thinking", thinking: "", signature: "" }),
      ...split(piece.reasoning, size).map((thinking) => delta({ type: "thinking_delta", thinking })),
      delta({ type: "signature_delta", signature: signatureFor(piece.reasoning) }),
      stop,
    ];
  }
  const text = "text" in piece ? piece.text : piece.refusal;
  return [
    start({ type: "text", text: "" }),
    ...split(text, size).map((part) => delta({ type: "text_delta", text: part })),
    stop,
  ];
};

/** A stream of the Messages API as its frames. */
export const anthropicFrames = (speech: Speech, model: string, seed = 1): readonly string[] => {
  const usage = {
    input_tokens: 25,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  };
  const message = {
    id: `msg_${seed}`,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
  };
  const end = { stop_reason: anthropicReasons[reasonOf(speech)] ?? reasonOf(speech), stop_sequence: null };
  return [
    frame("message_start", { type: "message_start", message: { ...message, usage } }),
    frame("ping", { type: "ping" }),
    ...speech.pieces.flatMap((piece, index) => anthropicBlock(piece, index, speech.chunk ?? 24, seed)),
    frame("message_delta", {
      type: "message_delta",
      delta: end,
      usage: speech.usage === null ? {} : { output_tokens: 15, ...speech.usage },
    }),
    frame("message_stop", { type: "message_stop" }),
  ];
};

interface Chat {
  readonly kind: ChatKind;
  readonly size: number;
  readonly seed: number;
}

const googleCall = (piece: Extract<Piece, { call: string }>, n: number, { seed }: Chat): unknown => ({
  id: piece.id ?? "",
  type: "function",
  function: { name: piece.call, arguments: argumentsOf(piece) },
  ...(n === 0 && { extra_content: { google: { thought_signature: signatureFor(`${piece.call}${seed}`) } } }),
});

const chatDeltas = (piece: Piece, n: number, chat: Chat): readonly unknown[] => {
  const { kind, size, seed } = chat;
  if ("text" in piece) return split(piece.text, size).map((content) => ({ content }));
  if ("refusal" in piece) return split(piece.refusal, size).map((refusal) => ({ refusal }));
  if ("reasoning" in piece)
    return split(piece.reasoning, size).map((part) =>
      kind === "compatible" ? { reasoning: part } : { reasoning_content: part },
    );
  if (kind === "gemini") return [{ tool_calls: [googleCall(piece, n, chat)] }];
  const id = piece.id ?? `call_${seed}_${n}`;
  const begin = { index: n, id, type: "function", function: { name: piece.call, arguments: "" } };
  return [
    { tool_calls: [begin] },
    ...split(argumentsOf(piece), size).map((part) => ({
      tool_calls: [{ index: n, function: { arguments: part } }],
    })),
  ];
};

/** A stream of the chat completions API in a vendor's dialect as its frames. */
export const chatFrames = (
  speech: Speech,
  model: string,
  kind: ChatKind = "openai",
  seed = 1,
): readonly string[] => {
  const chat = { kind, size: speech.chunk ?? 24, seed };
  const base = { id: `chatcmpl-${seed}`, object: "chat.completion.chunk", created: 1, model };
  const usage = { prompt_tokens: 25, completion_tokens: 15, total_tokens: 40, ...speech.usage };
  const chunk = (delta: unknown, finish_reason: string | null): string =>
    frame(null, {
      ...base,
      choices: [{ index: 0, delta, finish_reason }],
      ...((kind === "gemini" || kind === "grok") && speech.usage !== null && { usage }),
    });
  let calls = 0;
  const deltas = speech.pieces.flatMap((piece) => chatDeltas(piece, "call" in piece ? calls++ : 0, chat));
  const reason = reasonOf(speech) === "refusal" ? "stop" : reasonOf(speech);
  const tail =
    kind === "openai" || kind === "compatible" ? [frame(null, { ...base, choices: [], usage })] : [];
  return [
    chunk({ role: "assistant", content: "" }, null),
    ...deltas.map((delta) => chunk(delta, null)),
    chunk({}, reason),
    ...(speech.usage === null ? [] : tail),
    "data: [DONE]\n\n",
  ];
};
