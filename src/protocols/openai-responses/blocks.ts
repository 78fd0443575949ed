import type { OpenAI } from "openai";
import { fieldsOf } from "../../chat/json.ts";
import type {
  ContentPart,
  Message,
  Opaque,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "../../chat/message.ts";
import type { ModelRequest } from "../../model/completer.ts";
import type { Fragment } from "../fragments.ts";
import { createFragmentCache } from "../fragments.ts";
import { isVisible, replayArguments, serialise } from "../body.ts";
import { wireMediaOf } from "../media.ts";
import type { WireTarget } from "../protocol.ts";
import { wireId, wireName } from "../tool-names.ts";

type InputContent = OpenAI.Responses.ResponseInputContent;

/** A message's wire form: input items as JSON texts, joined by commas; empty if there is nothing to send. */
interface ResponsesTexts {
  readonly text: string;
}

export type ResponsesFragment = Fragment<ResponsesTexts>;

const serialiseMessages = createFragmentCache<ResponsesTexts>();

const inputText = (text: string): InputContent => ({ type: "input_text", text });

const contentItem = (part: ContentPart, request: ModelRequest, target: WireTarget): InputContent => {
  if (part.type === "text") return inputText(part.text);
  const media = wireMediaOf(part, target.capabilities, request.media);
  if (media.kind === "text") return inputText(media.text);
  const { source, type, name } = media;
  if ("text" in source) return inputText(`${name}:\n${source.text}`);
  const url = "url" in source ? source.url : `data:${type};base64,${source.base64}`;
  if (media.kind === "image") return { type: "input_image", image_url: url, detail: "auto" };
  if ("url" in source) return { type: "input_file", file_url: url };
  return { type: "input_file", filename: name, file_data: url };
};

const isText = (content: InputContent): content is OpenAI.Responses.ResponseInputText =>
  content.type === "input_text";

const joinTexts = (content: readonly InputContent[]): string =>
  content
    .filter(isText)
    .map(({ text }) => text)
    .join("\n\n");

const userItem = (parts: readonly Part[], request: ModelRequest, target: WireTarget): string[] => {
  const content = parts
    .filter((part) => part.type === "text" || part.type === "image" || part.type === "document")
    .filter((part) => part.type !== "text" || isVisible(part.text))
    .map((part) => contentItem(part, request, target));
  if (content.length === 0) return [];
  return [serialise({ role: "user", content: content.every(isText) ? joinTexts(content) : content })];
};

/** Returns the opaque data of a part; none unless this provider and model sent it. */
const ownData = (opaque: Opaque | undefined, request: ModelRequest, target: WireTarget) =>
  opaque?.provider === target.provider && opaque.model === request.model ? fieldsOf(opaque.data) : {};

const isFilled = (value: unknown): value is string => typeof value === "string" && value !== "";

/**
 * Returns the item of a reasoning part. Nothing is stored at the server, so one without encrypted content is none.
 * Items go back without ids: after reasoning with its id, the API demands the very item that followed it, with its own.
 */
const reasoningItem = (part: ReasoningPart, request: ModelRequest, target: WireTarget): string[] => {
  const { encrypted_content } = ownData(part.opaque, request, target);
  if (!isFilled(encrypted_content)) return [];
  const summary = part.text === "" ? [] : [{ type: "summary_text" as const, text: part.text }];
  const item = { type: "reasoning", summary, encrypted_content } satisfies Omit<
    OpenAI.Responses.ResponseReasoningItem,
    "id"
  >;
  return [serialise(item)];
};

/** Returns the item of an answer's text, with the phase that the model gave it: commentary, or the final answer. */
const textItem = ({ text, opaque }: TextPart, request: ModelRequest, target: WireTarget): string => {
  const { phase } = ownData(opaque, request, target);
  return serialise({ role: "assistant", content: text, ...(isFilled(phase) && { phase }) });
};

const callItem = ({ id, name, args }: ToolCallPart): string =>
  serialise({
    type: "function_call",
    call_id: wireId(id),
    name: wireName(name),
    arguments: replayArguments(args),
  } satisfies OpenAI.Responses.ResponseFunctionToolCall);

/**
 * Returns the items of an answer: its texts before its calls, since servers look for the results right after the
 * calls. Reasoning is refused unless what it led to follows it.
 */
const assistantItems = (parts: readonly Part[], request: ModelRequest, target: WireTarget): string[] => {
  const texts: string[] = [];
  const calls: string[] = [];
  let reasoning: string[] = [];
  for (const part of parts) {
    if (part.type === "reasoning") {
      reasoning.push(...reasoningItem(part, request, target));
      continue;
    }
    if (part.type === "tool_call") calls.push(...reasoning, callItem(part));
    else if (part.type === "text" && isVisible(part.text))
      texts.push(...reasoning, textItem(part, request, target));
    reasoning = [];
  }
  return [...texts, ...calls];
};

const resultItem = (part: ToolResultPart, request: ModelRequest, target: WireTarget): string => {
  const content = part.content.map((each) => contentItem(each, request, target));
  const text = `${part.status === "ok" ? "" : "[tool error] "}${joinTexts(content)}`;
  const media = content.filter((each) => !isText(each));
  const output = media.length === 0 ? text : [...(text === "" ? [] : [inputText(text)]), ...media];
  return serialise({ type: "function_call_output", call_id: wireId(part.call), output });
};

const itemsOf = (message: Message, request: ModelRequest, target: WireTarget): string[] => {
  if (message.role === "assistant") return assistantItems(message.parts, request, target);
  const results = message.parts.filter((part) => part.type === "tool_result");
  return [
    ...results.map((part) => resultItem(part, request, target)),
    ...userItem(message.parts, request, target),
  ];
};

/** Serialises the messages of a request. */
export const serialiseResponses = (
  request: ModelRequest,
  target: WireTarget,
): readonly ResponsesFragment[] => {
  const { images, documents } = target.capabilities;
  const key = [`${target.provider}/${request.model}`, images, documents].join();
  const build = (message: Message): ResponsesTexts => ({
    text: itemsOf(message, request, target).join(","),
  });
  return serialiseMessages(request.messages, () => key, build);
};
