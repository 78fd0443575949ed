import { fieldsOf, isJsonObject, parseJson } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { Decoder, Protocol } from "../protocol.ts";
import type { SseFrame } from "../sse.ts";
import { openAiPost } from "./chat.ts";
import { createOpenAiDecoder } from "./reply.ts";
import { buildOpenAi } from "./request.ts";

const callPiece = (call: Json, index: number): JsonObject => {
  const { name = null, arguments: args = null } = fieldsOf(call);
  return { index, function: { name, arguments: args } };
};

/** Writes a line of the older form, `{response, tool_calls, usage}`, as a chunk; null if it is none. */
const rephraseLine = (line: Json | undefined): JsonObject | null => {
  if (!isJsonObject(line) || "choices" in line || !("response" in line || "tool_calls" in line)) return null;
  const { response = null, tool_calls: calls, usage = null } = line;
  const list = Array.isArray(calls) ? calls : [];
  // Numbers come as such, not as text.
  const content = typeof response === "number" ? String(response) : response;
  const delta = { content, tool_calls: list.map(callPiece) };
  return { choices: [{ index: 0, delta, finish_reason: null }], usage };
};

const lastChunk = JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });

/** Reads the older lines too, which say no reason: `[DONE]` is their end. */
const createWorkersAiDecoder: Protocol["decoder"] = (...parts): Decoder => {
  const { frame: readChunk, state } = createOpenAiDecoder(...parts);
  let isOlder = false;
  const frame: Decoder["frame"] = (sent: SseFrame, events) => {
    if (isOlder && sent.data.trim() === "[DONE]" && state() === "open")
      readChunk({ ...sent, data: lastChunk }, events);
    const chunk = rephraseLine(parseJson(sent.data));
    isOlder ||= chunk !== null;
    readChunk(chunk === null ? sent : { ...sent, data: JSON.stringify(chunk) }, events);
  };
  return { frame, state };
};

/** Protocol of Workers AI: chat completions, and the lines that some of its models still answer with. */
export const workersAiChat: Protocol = {
  name: "workers-ai",
  path: "",
  build: buildOpenAi,
  decoder: createWorkersAiDecoder,
  post: openAiPost,
};
