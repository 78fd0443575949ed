import type { Anthropic } from "@anthropic-ai/sdk";
import { fieldsOf } from "../../chat/json.ts";
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
import type { WireMedia } from "../media.ts";
import { wireMediaOf } from "../media.ts";
import type { WireTarget } from "../protocol.ts";
import { wireId, wireName } from "../tool-names.ts";

type AnthropicBlock = Anthropic.Messages.ContentBlockParam;

type ResultContent = Exclude<Anthropic.Messages.ToolResultBlockParam["content"], string | undefined>[number];

/** A message's wire form: the whole turn if it stands alone, and its parts for turns of several messages. */
interface AnthropicTexts {
  /** `{"role":…,"content":[…]}` as one flat string; empty if the message has no content to send. */
  readonly text: string;
  /** Content blocks as JSON texts, joined by commas: tool results, which must come first, and the others. */
  readonly results: string;
  readonly others: string;
  /** Whether the last block may carry a cache breakpoint. */
  readonly markable: boolean;
}

export type AnthropicFragment = Fragment<AnthropicTexts>;

const serialiseMessages = createFragmentCache<AnthropicTexts>();

const textBlock = (value: string): string => `{"type":"text","text":${quoteJson(value)}}`;

const mediaBlock = ({ kind, type, name, source }: Exclude<WireMedia, { kind: "text" }>): ResultContent => {
  const title = kind === "document" ? { title: name } : {};
  if ("url" in source) return { type: kind, source: { type: "url", url: source.url }, ...title };
  if ("text" in source) {
    const plain = { type: "text", media_type: "text/plain", data: source.text } as const;
    return { type: "document", source: plain, ...title };
  }
  if (kind === "document") {
    const pdf = { type: "base64", media_type: "application/pdf", data: source.base64 } as const;
    return { type: "document", source: pdf, ...title };
  }
  const media_type = type as Anthropic.Messages.Base64ImageSource["media_type"];
  return { type: "image", source: { type: "base64", media_type, data: source.base64 } };
};

const contentBlock = (part: ContentPart, request: ModelRequest, target: WireTarget): string | null => {
  if (part.type === "text") return isVisible(part.text) ? textBlock(part.text) : null;
  const media = wireMediaOf(part, target.capabilities, request.media);
  if (media.kind === "text") return textBlock(media.text);
  const isOtherAddress =
    media.kind === "document" && media.type !== "application/pdf" && "url" in media.source;
  if (isOtherAddress) return textBlock("[document omitted: this API takes addresses of PDFs only]");
  return serialise(mediaBlock(media));
};

/** Drops media from a failed result, which may hold only text. */
const errorPart = (part: ContentPart): ContentPart =>
  part.type === "text" ? part : { type: "text", text: `[${part.type} omitted: the tool failed]` };

const resultBlock = (part: ToolResultPart, request: ModelRequest, target: WireTarget): string => {
  const failed = part.status !== "ok";
  const parts = failed ? part.content.map(errorPart) : part.content;
  const blocks = parts.map((each) => contentBlock(each, request, target)).filter((block) => block !== null);
  const head = {
    type: "tool_result",
    tool_use_id: wireId(part.call),
  } satisfies Anthropic.Messages.ToolResultBlockParam;
  // The API refuses a failed result without content.
  const content = blocks.length === 0 ? textBlock("(no output)") : blocks.join(",");
  return `${JSON.stringify(head).slice(0, -1)},"content":[${content}]${failed ? ',"is_error":true' : ""}}`;
};

const callBlock = ({ id, name, args }: ToolCallPart): string => {
  const head = { type: "tool_use", id: wireId(id), name: wireName(name) } satisfies Omit<
    Anthropic.Messages.ToolUseBlockParam,
    "input"
  >;
  return `${JSON.stringify(head).slice(0, -1)},"input":${replayArguments(args)}}`;
};

const isFilled = (value: unknown): value is string => typeof value === "string" && value !== "";

/** Returns the block of a reasoning part, null unless this provider and model signed it. */
const thinkingBlock = (part: ReasoningPart, request: ModelRequest, target: WireTarget): string | null => {
  const { opaque } = part;
  if (opaque?.provider !== target.provider || opaque.model !== request.model) return null;
  const { signature, redacted } = fieldsOf(opaque.data);
  if (isFilled(redacted))
    return serialise({ type: "redacted_thinking", data: redacted } satisfies AnthropicBlock);
  if (!isFilled(signature)) return null;
  return serialise({ type: "thinking", thinking: part.text, signature } satisfies AnthropicBlock);
};

const otherBlock = (
  part: Exclude<Part, ToolResultPart>,
  request: ModelRequest,
  target: WireTarget,
): string | null => {
  if (part.type === "tool_call") return callBlock(part);
  if (part.type === "reasoning") return thinkingBlock(part, request, target);
  return contentBlock(part, request, target);
};

/** Returns everything besides the message on which its wire form depends. */
const targetKey = (request: ModelRequest, { provider, capabilities }: WireTarget): string =>
  `${provider}/${request.model}/${capabilities.images ? "i" : ""}${capabilities.documents ? "d" : ""}`;

const buildFragment = (
  message: Message,
  request: ModelRequest,
  target: WireTarget,
  thinks: boolean,
): AnthropicTexts => {
  const results: string[] = [];
  const others: string[] = [];
  let thinking = 0;
  let lastIsThinking = false;
  for (const part of message.parts) {
    if (part.type === "tool_result") {
      results.push(resultBlock(part, request, target));
      continue;
    }
    const block = thinks || part.type !== "reasoning" ? otherBlock(part, request, target) : null;
    if (block === null) continue;
    others.push(block);
    lastIsThinking = part.type === "reasoning";
    if (lastIsThinking) thinking += 1;
  }
  // A message cannot consist of reasoning alone.
  if (others.length === thinking) others.length = 0;
  const markable = others.length === 0 ? results.length > 0 : !lastIsThinking;
  return { ...assemble(message.role, results, others), markable };
};

/** Builds one flat turn, and slices that share its memory, so that a body is a join of few flat strings. */
const assemble = (role: Message["role"], results: readonly string[], others: readonly string[]) => {
  const blocks = [...results, ...others].join(",");
  if (blocks === "") return { text: "", results: "", others: "" };
  const head = `{"role":"${role === "assistant" ? "assistant" : "user"}","content":[`;
  const text = [head, blocks, "]}"].join("");
  const led = results.reduce((sum, { length }) => sum + length, 0) + Math.max(0, results.length - 1);
  const from = head.length;
  const rest = led === 0 || others.length === 0 ? from + led : from + led + 1;
  return { text, results: text.slice(from, from + led), others: text.slice(rest, -2) };
};

/** Serialises the messages of a request, with their thinking up to `bareFrom` and without it from there on. */
export const serialiseAnthropic = (
  request: ModelRequest,
  target: WireTarget,
  bareFrom: number,
): readonly AnthropicFragment[] => {
  const bare = targetKey(request, target);
  const whole = `${bare}t`;
  return serialiseMessages(
    request.messages,
    (at) => (at < bareFrom ? whole : bare),
    (message, at) => buildFragment(message, request, target, at < bareFrom),
  );
};
