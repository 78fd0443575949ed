import type { OpenAI } from "openai";
import { fieldsOf, isJsonObject, isShallow } from "../../chat/json.ts";
import type {
  ContentPart,
  Message,
  Part,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
} from "../../chat/message.ts";
import type { ModelRequest } from "../../model/completer.ts";
import type { Fragment } from "../fragments.ts";
import { createFragmentCache } from "../fragments.ts";
import { isVisible, quoteJson, replayArguments, serialise } from "../body.ts";
import { wireMediaOf } from "../media.ts";
import type { WireTarget } from "../protocol.ts";
import { shortId, wireId, wireName } from "../tool-names.ts";

type ContentPartParam = OpenAI.Chat.Completions.ChatCompletionContentPart;

/** A message's wire form: message objects as JSON texts, joined by commas, and what must follow its results. */
interface OpenAiTexts {
  /** Both of the following fields, which the request's digest covers. */
  readonly text: string;
  readonly messages: string;
  /** Content parts with the images and documents of tool results, joined by commas. */
  readonly media: string;
}

export type OpenAiFragment = Fragment<OpenAiTexts>;

const serialiseMessages = createFragmentCache<OpenAiTexts>();

/** Google's placeholder for a call without a signature of its own. */
const noSignature = "skip_thought_signature_validator";

const textPart = (text: string): ContentPartParam => ({ type: "text", text });

const contentPart = (part: ContentPart, request: ModelRequest, target: WireTarget): ContentPartParam => {
  if (part.type === "text") return textPart(part.text);
  const media = wireMediaOf(part, target.capabilities, request.media);
  if (media.kind === "text") return textPart(media.text);
  const { source, type, name } = media;
  if ("text" in source) return textPart(`${name}:\n${source.text}`);
  const url = "url" in source ? source.url : `data:${type};base64,${source.base64}`;
  if (media.kind === "image") return { type: "image_url", image_url: { url } };
  if ("url" in source) return textPart(`[document omitted: this API takes no addresses of documents]`);
  return { type: "file", file: { filename: name, file_data: url } };
};

const isText = (part: ContentPartParam): part is Extract<ContentPartParam, { type: "text" }> =>
  part.type === "text";

const partsText = (parts: readonly ContentPartParam[]): string =>
  parts
    .filter(isText)
    .map(({ text }) => text)
    .join("\n\n");

const userMessage = (parts: readonly Part[], request: ModelRequest, target: WireTarget): string => {
  const content = parts
    .filter((part) => part.type === "text" || part.type === "image" || part.type === "document")
    .filter((part) => part.type !== "text" || isVisible(part.text))
    .map((part) => contentPart(part, request, target));
  if (content.length === 0) return "";
  return `{"role":"user","content":${content.every(isText) ? quoteJson(partsText(content)) : serialise(content)}}`;
};

/** Returns Google's signature of a call, which is sent only to the provider and model that issued it. */
const signatureOf = ({ opaque }: ToolCallPart, request: ModelRequest, target: WireTarget): string => {
  if (opaque?.provider !== target.provider || opaque.model !== request.model) return noSignature;
  const { thought_signature: signature } = fieldsOf(opaque.data);
  return typeof signature === "string" ? signature : noSignature;
};

const idOf = (id: string, { traits }: WireTarget): string => (traits.strictTurns ? shortId(id) : wireId(id));

const callText = (part: ToolCallPart, request: ModelRequest, target: WireTarget): string => {
  const call = {
    id: idOf(part.id, target),
    type: "function",
    function: { name: wireName(part.name), arguments: replayArguments(part.args) },
  } satisfies OpenAI.Chat.Completions.ChatCompletionMessageFunctionToolCall;
  if (!target.traits.thoughtSignatures) return serialise(call);
  const google = { thought_signature: signatureOf(part, request, target) };
  return serialise({ ...call, extra_content: { google } });
};

/**
 * Puts reasoning into the field in which a compatible server expects it, within size limits. Servers that want
 * `reasoning_content` refuse a history in which an answer, of whatever model, lacks it or has an empty one.
 */
const reasoningFields = (
  parts: readonly ReasoningPart[],
  request: ModelRequest,
  target: WireTarget,
): string => {
  const { reasoningReplay } = target.traits;
  const own = parts.filter(({ model }) => model === `${target.provider}/${request.model}`);
  if (reasoningReplay === "none") return "";
  if (reasoningReplay === "reasoning_content")
    return `,"reasoning_content":${quoteJson(own.map(({ text }) => text).join("\n") || " ")}`;
  const details = own.flatMap(({ opaque }) => {
    const { details: list } = fieldsOf(opaque?.data);
    return Array.isArray(list) ? list.filter((each) => isJsonObject(each) && isShallow(each)) : [];
  });
  return details.length === 0 ? "" : `,"reasoning_details":${serialise(details)}`;
};

const assistantMessage = (parts: readonly Part[], request: ModelRequest, target: WireTarget): string => {
  const content = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const calls = parts.filter((part) => part.type === "tool_call");
  if (calls.length === 0 && !isVisible(content)) return "";
  const reasoning = reasoningFields(
    parts.filter((part) => part.type === "reasoning"),
    request,
    target,
  );
  const list = calls.map((part) => callText(part, request, target)).join(",");
  const tools = list === "" ? "" : `,"tool_calls":[${list}]`;
  return `{"role":"assistant","content":${isVisible(content) ? quoteJson(content) : "null"}${reasoning}${tools}}`;
};

const resultText = (part: ToolResultPart, target: WireTarget): string => {
  const text = part.content.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n\n");
  const content = part.status === "ok" ? text : `[tool error] ${text}`;
  return `{"role":"tool","tool_call_id":${quoteJson(idOf(part.call, target))},"content":${quoteJson(content)}}`;
};

const resultMedia = (part: ToolResultPart, request: ModelRequest, target: WireTarget): string[] =>
  part.content
    .filter((each) => each.type !== "text")
    .flatMap((each) => [textPart(`[${each.type} from ${part.name}]`), contentPart(each, request, target)])
    .map(serialise);

const createFragment = (messages: string, media: string): OpenAiTexts => {
  // A join makes one flat string, and a body is a join of few strings.
  const text = [messages, media].join("\n");
  return { text, messages: text.slice(0, messages.length), media };
};

const buildFragment = (message: Message, request: ModelRequest, target: WireTarget): OpenAiTexts => {
  if (message.role === "assistant")
    return createFragment(assistantMessage(message.parts, request, target), "");
  const results = message.parts.filter((part) => part.type === "tool_result");
  const media = results.flatMap((part) => resultMedia(part, request, target));
  const user = userMessage(message.parts, request, target);
  const messages = [...results.map((part) => resultText(part, target)), user].filter((text) => text !== "");
  return createFragment(messages.join(","), media.join(","));
};

/** Returns everything besides the message on which its wire form depends. */
const targetKey = (request: ModelRequest, { provider, capabilities, traits }: WireTarget): string =>
  [
    `${provider}/${request.model}`,
    capabilities.images,
    capabilities.documents,
    traits.reasoningReplay,
    traits.thoughtSignatures,
    traits.strictTurns,
  ].join();

/** Serialises the messages of a request. */
export const serialiseOpenAi = (request: ModelRequest, target: WireTarget): readonly OpenAiFragment[] => {
  const key = targetKey(request, target);
  const build = (message: Message): OpenAiTexts => buildFragment(message, request, target);
  return serialiseMessages(request.messages, () => key, build);
};
