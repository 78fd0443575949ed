import type { OpenAI } from "openai";
import type { ModelRequest } from "../../model/completer.ts";
import { adaptParameters } from "../json-schema.ts";
import { createToolCache, isVisible, quoteJson, serialise } from "../body.ts";
import { digestBody } from "../fragments.ts";
import { answerSchemaOf, cacheKeyOf, chooseEffort, samplingOf } from "../openai/parameters.ts";
import type { WireRequest, WireTarget } from "../protocol.ts";
import { systemText } from "../protocol.ts";
import { wireName } from "../tool-names.ts";
import { serialiseResponses } from "./blocks.ts";

type ResponsesParams = OpenAI.Responses.ResponseCreateParamsStreaming;

type ResponsesTail = Omit<ResponsesParams, "model" | "input" | "tools">;

const toolText = createToolCache(
  ({ name, description, schema }, dialect) =>
    ({
      type: "function",
      name: wireName(name),
      description,
      parameters: adaptParameters(schema, dialect),
      strict: false,
    }) satisfies OpenAI.Responses.FunctionTool,
);

const choiceOf = ({ tools, toolChoice }: ModelRequest): ResponsesTail["tool_choice"] => {
  if (tools.length === 0 || toolChoice === "auto") return undefined;
  if (typeof toolChoice === "string") return toolChoice;
  return { type: "function", name: wireName(toolChoice.tool) };
};

const formatOf = (request: ModelRequest, target: WireTarget): ResponsesTail["text"] => {
  const answer = answerSchemaOf(request, target);
  if (answer === undefined) return undefined;
  return { format: answer === "json_object" ? { type: answer } : { type: "json_schema", ...answer } };
};

/** Asks for a summary only if the team did, since OpenAI refuses it to organisations that it has not verified. */
const reasoningOf = (
  request: ModelRequest,
  target: WireTarget,
  droppedParameters: string[],
): ResponsesTail["reasoning"] => {
  const effort = chooseEffort(request, target, droppedParameters);
  const wantsSummary = request.reasoning?.summary === "auto" && target.capabilities.reasoning !== "none";
  if (effort === undefined && !wantsSummary) return undefined;
  return { ...(effort !== undefined && { effort }), ...(wantsSummary && { summary: "auto" }) };
};

/** Output limit below which OpenAI refuses a request. */
const leastOutput = 16;

/** Nothing is stored at the server: a model that reasons sends its reasoning along, encrypted, to have it back. */
const tailOf = (
  request: ModelRequest,
  target: WireTarget,
  maxTokens: number,
  droppedParameters: string[],
): ResponsesTail => {
  const reasoning = reasoningOf(request, target, droppedParameters);
  const choice = choiceOf(request);
  const text = formatOf(request, target);
  return {
    max_output_tokens: maxTokens,
    stream: true,
    store: false,
    ...(target.capabilities.reasoning !== "none" && { include: ["reasoning.encrypted_content"] }),
    ...(choice !== undefined && { tool_choice: choice }),
    ...(reasoning !== undefined && { reasoning }),
    ...(text !== undefined && { text }),
    ...samplingOf(request, target, droppedParameters),
    ...(target.traits.cacheKey && { prompt_cache_key: cacheKeyOf(request) }),
  };
};

/**
 * Builds a request of the Responses API. The system prompt is the first item, since what stands in `instructions`
 * does not count where the API demands that the input speaks of JSON. Parts that may change from turn to turn come
 * after the items.
 */
export const buildResponses = (request: ModelRequest, target: WireTarget): WireRequest => {
  const droppedParameters: string[] = [];
  const { traits } = target;
  const maxTokens = Math.max(leastOutput, Math.min(request.maxTokens, target.maxOutput));
  const tail = tailOf(request, target, maxTokens, droppedParameters);
  const tools = request.tools.map((tool) => toolText(tool, traits.schema)).join(",");
  const system = systemText(request, tail.text?.format?.type === "json_schema");
  const first = isVisible(system) ? `{"role":"${traits.systemRole}","content":${quoteJson(system)}}` : "";
  const head = `{"model":${quoteJson(request.model)}${tools === "" ? "" : `,"tools":[${tools}]`},"input":[${first}`;
  const fragments = serialiseResponses(request, target);
  const items = fragments.map(({ text }) => text).filter((text) => text !== "");
  const last = fragments.findLastIndex(({ text }) => text !== "");
  if ((request.messages[last]?.role ?? "assistant") === "assistant")
    items.push('{"role":"user","content":"Continue."}');
  const rest = serialise(tail).slice(1);
  const body = `${head}${first === "" || items.length === 0 ? "" : ","}${items.join(",")}],${rest}`;
  return {
    body,
    droppedParameters,
    maxTokens,
    digest: () => digestBody({ head, fragments, rest }),
  };
};
