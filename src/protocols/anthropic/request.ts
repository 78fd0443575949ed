import type { Anthropic } from "@anthropic-ai/sdk";
import type { Message } from "../../chat/message.ts";
import type { ModelRequest, ToolSpec } from "../../model/completer.ts";
import { isVisible, joinElements, quoteJson, serialise } from "../body.ts";
import { digestBody } from "../fragments.ts";
import type { WireTarget, WireRequest } from "../protocol.ts";
import { systemText } from "../protocol.ts";
import { budgetOf, effortOf, nearestEffort } from "../reasoning.ts";
import { wireName } from "../tool-names.ts";
import { answerSchemaOf } from "./answer-schema.ts";
import { wireSchema } from "./argument-names.ts";
import type { AnthropicFragment } from "./blocks.ts";
import { serialiseAnthropic } from "./blocks.ts";

type AnthropicParams = Anthropic.Messages.MessageCreateParamsStreaming;

/** Request without model, tools, system and messages. Newer API types omit sampling. */
type AnthropicTail = Pick<
  AnthropicParams,
  "max_tokens" | "stream" | "thinking" | "output_config" | "tool_choice"
> & {
  temperature?: number;
  top_p?: number;
};

const breakpointText = (request: ModelRequest): string => {
  if (request.cache.mode === "off") return "";
  return `,"cache_control":{"type":"ephemeral"${request.cache.ttl === "1h" ? ',"ttl":"1h"' : ""}}`;
};

/** Adds a breakpoint to the last of some JSON objects. */
const markLastBlock = (blocks: string, cache: string): string =>
  cache === "" || blocks === "" ? blocks : `${blocks.slice(0, -1)}${cache}}`;

const toolTexts = new WeakMap<ToolSpec, string>();

const toolText = (tool: ToolSpec): string => {
  const known = toolTexts.get(tool);
  if (known !== undefined) return known;
  const { name, description, schema } = tool;
  const built = serialise({
    name: wireName(name),
    description,
    input_schema: wireSchema(schema) as unknown as Anthropic.Messages.Tool.InputSchema,
  } satisfies Anthropic.Messages.Tool);
  toolTexts.set(tool, built);
  return built;
};

/** Returns the names of the calls in a history as they are sent, in order of first use. */
const calledNames = (messages: readonly Message[]): ReadonlySet<string> =>
  new Set(
    messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "tool_call" ? [wireName(part.name)] : [])),
    ),
  );

/** Declares the tools of calls in the history, even if none of them may be called any more. */
const stubTools = (messages: readonly Message[]): readonly ToolSpec[] =>
  [...calledNames(messages)].map((name) => ({
    name,
    description: "Not available now.",
    schema: { type: "object" },
  }));

interface AnthropicThinking {
  readonly thinking?: AnthropicParams["thinking"];
  readonly effort?: NonNullable<AnthropicParams["output_config"]>["effort"];
  readonly maxTokens: number;
  readonly on: boolean;
}

/**
 * Returns the index of the first reply of the tool loop that goes on with the request, or the number of messages if
 * none does. The API takes all replies of a loop for one; notes after the results are part of it.
 */
const findLoopStart = (messages: readonly Message[]): number => {
  let start = messages.length;
  let role: Message["role"] | undefined;
  let hasResults = false;
  for (const [at, message] of messages.entries()) {
    if (message.role === "assistant") {
      if (role !== "assistant" && !hasResults) start = at;
      hasResults = false;
    } else if (message.role === "tool") hasResults = true;
    role = message.role;
  }
  return hasResults ? start : messages.length;
};

/**
 * Returns whether a model with a budget may think: within a tool loop it neither begins to think nor stops, so its
 * loop must have begun with its own thinking.
 */
const mayThink = ({ messages, model }: ModelRequest, { provider }: WireTarget): boolean => {
  const start = messages[findLoopStart(messages)];
  if (start === undefined) return true;
  const [first] = start.parts;
  return first?.type === "reasoning" && first.opaque?.provider === provider && first.opaque.model === model;
};

/**
 * Returns reasoning with its own budget, which counts towards `max_tokens`. It leaves the reply its own tokens, or half
 * of what the model may write where that is too little for both.
 */
const thinkByBudget = (request: ModelRequest, target: WireTarget): AnthropicThinking => {
  const { maxOutput } = target;
  const wanted = mayThink(request, target) ? budgetOf(request) : undefined;
  const plain = Math.min(request.maxTokens, maxOutput);
  if (wanted === undefined) return { maxTokens: plain, on: false };
  const maxTokens = Math.min(request.maxTokens + wanted, maxOutput);
  const budget = Math.min(wanted, Math.max(maxTokens - request.maxTokens, Math.floor(maxTokens / 2)));
  if (budget < 1_024) return { maxTokens: plain, on: false };
  return { thinking: { type: "enabled", budget_tokens: budget }, maxTokens, on: true };
};

/** Returns whether a model thinks without being asked to; one that takes sampling and need not think does not. */
const thinksUnasked = ({
  reasoning,
  reasoning_off: mayBeOff,
  sampling,
}: WireTarget["capabilities"]): boolean => reasoning === "adaptive" && !(mayBeOff && sampling);

const thinkByEffort = (
  request: ModelRequest,
  { capabilities, traits, maxOutput }: WireTarget,
): AnthropicThinking => {
  const maxTokens = Math.min(request.maxTokens, maxOutput);
  const wanted = effortOf(request);
  if (wanted === undefined) return { maxTokens, on: thinksUnasked(capabilities) };
  if (wanted === "none" && capabilities.reasoning_off)
    return { thinking: { type: "disabled" }, maxTokens, on: false };
  const effort = nearestEffort(wanted, traits.efforts) as NonNullable<AnthropicThinking["effort"]>;
  if (capabilities.reasoning === "effort") return { effort, maxTokens, on: true };
  const display = request.reasoning?.summary === "none" ? "omitted" : "summarized";
  return { thinking: { type: "adaptive", display }, effort, maxTokens, on: true };
};

const thinkingOf = (
  request: ModelRequest,
  target: WireTarget,
  droppedParameters: string[],
): AnthropicThinking => {
  const { reasoning } = target.capabilities;
  if (reasoning === "budget") return thinkByBudget(request, target);
  if (reasoning !== "none") return thinkByEffort(request, target);
  const effort = effortOf(request);
  if (effort !== undefined && effort !== "none") droppedParameters.push("reasoning");
  return { maxTokens: Math.min(request.maxTokens, target.maxOutput), on: false };
};

/** Returns whether a model gets its thinking back: one that thinks, or whose server decides it without a parameter. */
const getsThinking = (on: boolean, { capabilities: { reasoning } }: WireTarget): boolean =>
  on || (reasoning !== "budget" && reasoning !== "adaptive");

interface AnthropicChoice {
  readonly choice?: AnthropicParams["tool_choice"];
  /** Instruction for the model where a forced choice is not possible. */
  readonly instruction?: string;
}

const choiceOf = (request: ModelRequest, target: WireTarget, thinking: boolean): AnthropicChoice => {
  const { toolChoice } = request;
  if (request.tools.length === 0) return { choice: { type: "none" } };
  if (toolChoice === "auto" || toolChoice === "none") return { choice: { type: toolChoice } };
  if (thinking && !target.capabilities.forced_tool_with_reasoning) {
    const which =
      typeof toolChoice === "string" ? "one of the tools" : `the tool ${wireName(toolChoice.tool)}`;
    return { choice: { type: "auto" }, instruction: `Call ${which} now.` };
  }
  if (typeof toolChoice === "string") return { choice: { type: "any" } };
  return { choice: { type: "tool", name: wireName(toolChoice.tool) } };
};

/** Returns the format to enforce; undefined if the answer is free, or the API cannot enforce its schema. */
const formatOf = (
  { responseFormat }: ModelRequest,
  target: WireTarget,
): Anthropic.Messages.JSONOutputFormat | undefined => {
  if (responseFormat?.type !== "json_schema" || responseFormat.schema === undefined) return undefined;
  const schema = target.capabilities.strict_schema ? answerSchemaOf(responseFormat.schema) : undefined;
  return schema && { type: "json_schema", schema };
};

const samplingOf = (
  request: ModelRequest,
  target: WireTarget,
  thinking: boolean,
  droppedParameters: string[],
) => {
  const { temperature, topP } = request;
  const out: { temperature?: number; top_p?: number } = {};
  if (temperature !== undefined) {
    if (target.capabilities.sampling && !thinking) out.temperature = Math.min(temperature, 1);
    else droppedParameters.push("temperature");
  }
  if (topP !== undefined) {
    // The API accepts only one of the two.
    if (target.capabilities.sampling && !thinking && temperature === undefined) out.top_p = topP;
    else droppedParameters.push("top_p");
  }
  return out;
};

type WireRole = "user" | "assistant";

type TurnBlocks = Pick<AnthropicFragment, "results" | "others">;

type TurnText = TurnBlocks & Pick<AnthropicFragment, "text">;

const turnText = (role: WireRole, { results, others }: TurnBlocks): string =>
  `{"role":"${role}","content":[${joinElements(results, others)}]}`;

/** Returns a message with a breakpoint in its last block, if that block may carry one. */
const markFragment = (role: WireRole, fragment: AnthropicFragment, cache: string): TurnText => {
  if (!fragment.markable || cache === "") return fragment;
  const { results, others } = fragment;
  const blocks =
    others === ""
      ? { results: markLastBlock(results, cache), others }
      : { results, others: markLastBlock(others, cache) };
  return { ...blocks, text: turnText(role, blocks) };
};

/**
 * Creates a builder of turns: merges messages of one role, puts a user turn's results first, and drops empty
 * messages. The text grows by concatenation, which copies nothing: a long body is copied once, when it is sent.
 */
const createTurnBuilder = () => {
  let closed = "";
  let role: WireRole | undefined;
  let last = "";
  let blocks: TurnBlocks = { results: "", others: "" };
  const add = (next: WireRole, fragment: TurnText): void => {
    if (fragment.text === "") return;
    if (role === next) {
      const results = joinElements(blocks.results, fragment.results);
      blocks = { results, others: joinElements(blocks.others, fragment.others) };
      last = turnText(next, blocks);
      return;
    }
    closed = joinElements(closed, last);
    role = next;
    blocks = fragment;
    last = fragment.text;
  };
  return { add, role: () => role, text: () => joinElements(closed, last) };
};

const createInstruction = (text: string): TurnText => {
  const blocks = { results: "", others: `{"type":"text","text":${quoteJson(text)}}` };
  return { ...blocks, text: turnText("user", blocks) };
};

/**
 * Builds all messages as text, ending with a user's turn; `marked` lists those with a breakpoint. A model that does
 * not think refuses its own thinking in the tool loop that goes on.
 */
const buildMessages = (
  request: ModelRequest,
  target: WireTarget,
  thinks: boolean,
  instruction: string | undefined,
): { readonly text: string; readonly fragments: readonly AnthropicFragment[]; readonly marked: string } => {
  const cache = breakpointText(request);
  const { messages, previousNewest } = request;
  const bareFrom = thinks ? messages.length : findLoopStart(messages);
  const fragments = serialiseAnthropic(request, target, bareFrom);
  const newest = messages.length - 1;
  const previous = messages.findLastIndex(({ id }) => id === previousNewest);
  const turns = createTurnBuilder();
  const marked: number[] = [];
  for (const [at, fragment] of fragments.entries()) {
    const role = fragment.message.role === "assistant" ? "assistant" : "user";
    const last = at === newest || at === previous;
    if (last) marked.push(at);
    turns.add(role, last ? markFragment(role, fragment, cache) : fragment);
  }
  if (instruction !== undefined) turns.add("user", createInstruction(instruction));
  else if (turns.role() !== "user") turns.add("user", createInstruction("Continue."));
  return { text: turns.text(), fragments, marked: `${marked.join()}${cache}` };
};

/** Builds a request of the Messages API. Parts that may change from turn to turn come after the messages. */
export const buildAnthropic = (request: ModelRequest, target: WireTarget): WireRequest => {
  const droppedParameters: string[] = [];
  const cache = breakpointText(request);
  const tools = request.tools.length > 0 ? request.tools : stubTools(request.messages);
  const { thinking, effort, maxTokens, on } = thinkingOf(request, target, droppedParameters);
  const { choice, instruction } = choiceOf(request, target, on);
  const format = formatOf(request, target);
  const system = systemText(request, format !== undefined);
  const tail: AnthropicTail = {
    max_tokens: maxTokens,
    stream: true,
    ...(tools.length > 0 && choice !== undefined && { tool_choice: choice }),
    ...(thinking !== undefined && { thinking }),
    ...((effort !== undefined || format !== undefined) && {
      output_config: { ...(effort !== undefined && { effort }), ...(format !== undefined && { format }) },
    }),
    ...samplingOf(request, target, on, droppedParameters),
  };
  const toolList = tools.map(toolText).join(",");
  let head = `{"model":${quoteJson(request.model)}`;
  if (toolList !== "") head += `,"tools":[${markLastBlock(toolList, cache)}]`;
  if (isVisible(system))
    head += `,"system":[${markLastBlock(`{"type":"text","text":${quoteJson(system)}}`, cache)}]`;
  const { text, fragments, marked } = buildMessages(request, target, getsThinking(on, target), instruction);
  const end = serialise(tail).slice(1);
  const body = `${head},"messages":[${text}],${end}`;
  const rest = `${marked}\n${instruction ?? ""}\n${end}`;
  return {
    body,
    droppedParameters,
    maxTokens,
    digest: () => digestBody({ head, fragments, rest }),
  };
};
