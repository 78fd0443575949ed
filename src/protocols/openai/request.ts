import type { OpenAI } from "openai";
import type { Message } from "../../chat/message.ts";
import type { ModelRequest } from "../../model/completer.ts";
import { adaptParameters } from "../json-schema.ts";
import { createToolCache, isVisible, joinElements, quoteJson, serialise } from "../body.ts";
import { digestBody } from "../fragments.ts";
import type { WireTarget, WireRequest } from "../protocol.ts";
import { systemText } from "../protocol.ts";
import { wireName } from "../tool-names.ts";
import type { OpenAiFragment } from "./blocks.ts";
import { serialiseOpenAi } from "./blocks.ts";
import { answerSchemaOf, cacheKeyOf, chooseEffort, samplingOf } from "./parameters.ts";

type OpenAiParams = OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming;

type OpenAiTail = Omit<OpenAiParams, "model" | "messages" | "tools">;

const toolText = createToolCache(
  ({ name, description, schema }, dialect) =>
    ({
      type: "function",
      function: { name: wireName(name), description, parameters: adaptParameters(schema, dialect) },
    }) satisfies OpenAI.Chat.Completions.ChatCompletionFunctionTool,
);

const formatOf = (request: ModelRequest, target: WireTarget): OpenAiTail["response_format"] => {
  const answer = answerSchemaOf(request, target);
  if (answer === "json_object") return { type: "json_object" };
  return answer && { type: "json_schema", json_schema: answer };
};

const choiceOf = ({ tools, toolChoice }: ModelRequest): OpenAiTail["tool_choice"] => {
  if (tools.length === 0 || toolChoice === "auto") return undefined;
  if (typeof toolChoice === "string") return toolChoice;
  return { type: "function", function: { name: wireName(toolChoice.tool) } };
};

/** Answer that stands between results and a user's message for servers that demand one. */
const acknowledgement = '{"role":"assistant","content":"I have read the results."}';

/**
 * Builds all messages; the media of a block of results follow it as one user message. A user's turn comes last. The
 * text grows by concatenation, which copies nothing: a long body is copied once, when it is sent.
 */
const buildMessages = (
  request: ModelRequest,
  target: WireTarget,
): { readonly text: string; readonly fragments: readonly OpenAiFragment[] } => {
  const fragments = serialiseOpenAi(request, target);
  let out = "";
  let media = "";
  let last: Message["role"] = "assistant";
  const append = (role: Message["role"], text: string): void => {
    if (text === "") return;
    if (target.traits.strictTurns && last === "tool" && role === "user")
      out = joinElements(out, acknowledgement);
    out = joinElements(out, text);
    last = role;
  };
  const flush = (): void => {
    append("user", media === "" ? "" : `{"role":"user","content":[${media}]}`);
    media = "";
  };
  for (const fragment of fragments) {
    const { role } = fragment.message;
    if (role !== "tool") flush();
    append(role, fragment.messages);
    media = joinElements(media, fragment.media);
  }
  flush();
  if (last === "assistant") append("user", '{"role":"user","content":"Continue."}');
  return { text: out, fragments };
};

const tailOf = (
  request: ModelRequest,
  target: WireTarget,
  maxTokens: number,
  droppedParameters: string[],
): OpenAiTail => {
  const { traits } = target;
  const effort = chooseEffort(request, target, droppedParameters);
  const choice = choiceOf(request);
  const format = formatOf(request, target);
  return {
    [traits.tokensField]: maxTokens,
    stream: true,
    ...(traits.streamUsage && { stream_options: { include_usage: true } }),
    ...(choice !== undefined && { tool_choice: choice }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(format !== undefined && { response_format: format }),
    ...samplingOf(request, target, droppedParameters),
    ...(traits.openaiFields && { store: false, prompt_cache_key: cacheKeyOf(request) }),
  };
};

/** Builds a request of the chat completions API. Parts that may change from turn to turn come after the messages. */
export const buildOpenAi = (request: ModelRequest, target: WireTarget): WireRequest => {
  const droppedParameters: string[] = [];
  const maxTokens = Math.min(request.maxTokens, target.maxOutput);
  const tail = tailOf(request, target, maxTokens, droppedParameters);
  const tools = request.tools.map((tool) => toolText(tool, target.traits.schema)).join(",");
  const system = systemText(request, tail.response_format?.type === "json_schema");
  const first = isVisible(system)
    ? `{"role":"${target.traits.systemRole}","content":${quoteJson(system)}}`
    : "";
  const head = `{"model":${quoteJson(request.model)}${tools === "" ? "" : `,"tools":[${tools}]`},"messages":[${first}`;
  const { text, fragments } = buildMessages(request, target);
  const rest = serialise(tail).slice(1);
  const body = `${head}${first === "" || text === "" ? "" : ","}${text}],${rest}`;
  return {
    body,
    droppedParameters,
    maxTokens,
    digest: () => digestBody({ head, fragments, rest }),
  };
};
