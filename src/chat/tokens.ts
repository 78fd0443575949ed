import { imageSize } from "./image-size.ts";
import type { DocumentPart, ImagePart, Json, Part, ReasoningPart, ToolResultPart } from "./message.ts";

/** The wire family of a provider, which decides how it counts images. */
export type TokenFamily = "anthropic" | "openai-chat" | "gemini";

/** How a message is estimated: the family for media, and access to the base64 of stored bytes. */
export interface EstimateOptions {
  readonly family: TokenFamily;
  readonly media: (blob: string) => string;
}

/** Counts the UTF-8 bytes of a text; a lone surrogate counts as the three bytes of U+FFFD. */
export const utf8Length = (text: string): number => {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else {
      bytes += 2;
      if (unit >= 0xd800 && unit <= 0xdbff && isLow(text.charCodeAt(i + 1))) i++;
    }
  }
  return bytes;
};

/** True for the second half of a pair: with the first half's three bytes and its own unit the pair counts four. */
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** Estimates the tokens of a text: a quarter of its UTF-8 bytes, rounded up. */
export const estimateText = (text: string): number => Math.ceil(utf8Length(text) / 4);

const unreadableImageTokens = 3000;
const pdfPageTokens = 3000;

const estimateImage = (part: ImagePart, { family, media }: EstimateOptions): number => {
  if (family === "gemini") return 1120;
  const size = part.blob === undefined ? null : imageSize(media(part.blob));
  if (size === null) return unreadableImageTokens;
  const tiles = (edge: number) => Math.ceil(size.width / edge) * Math.ceil(size.height / edge);
  return family === "anthropic" ? Math.min(4000, tiles(28)) : Math.min(15_000, Math.ceil(1.2 * tiles(32)));
};

const estimateDocument = (part: DocumentPart, { media }: EstimateOptions): number => {
  if (part.blob === undefined) return pdfPageTokens;
  const base64 = media(part.blob);
  const bytes = Math.floor((base64.length * 3) / 4) - (/=*$/.exec(base64)?.[0].length ?? 0);
  if (part.media_type !== "application/pdf") return Math.ceil(bytes / 4);
  const pages = atob(base64).match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0;
  return pages > 0 ? pages * pdfPageTokens : Math.ceil(bytes / 20);
};

const estimatePart = (part: Part, options: EstimateOptions): number => {
  if (part.type === "text") return estimateText(part.text);
  if (part.type === "image") return estimateImage(part, options);
  if (part.type === "document") return estimateDocument(part, options);
  if (part.type === "tool_result") return estimateResult(part, options);
  if (part.type === "tool_call") {
    return Math.ceil((utf8Length(part.id) + utf8Length(part.name) + utf8Length(part.args)) / 4);
  }
  return estimateReasoningPart(part);
};

/** Estimates reasoning by its text or by the data that stands for it, whichever is longer: the text may be a summary. */
const estimateReasoningPart = ({ text, opaque }: ReasoningPart): number =>
  opaque === undefined ? 0 : Math.max(estimateText(text), estimateText(JSON.stringify(opaque.data)));

const estimateResult = ({ content }: ToolResultPart, options: EstimateOptions): number => {
  let text = 0;
  let media = 0;
  for (const part of content) {
    if (part.type === "text") text += utf8Length(part.text);
    else media += estimatePart(part, options);
  }
  return Math.ceil(text / 4) + media;
};

/**
 * Estimates the tokens of one message, once: the result is stored as `Message.tokens`. Reasoning counts only if it can
 * be sent back, that is with opaque data.
 */
export const estimateTokens = (parts: readonly Part[], options: EstimateOptions): number =>
  parts.reduce((sum, part) => sum + estimatePart(part, options), 4);

/** Lists the parts of a message, and of its results, whose tokens every provider counts alike. */
const plainParts = (parts: readonly Part[]): readonly Part[] =>
  parts
    .filter(({ type }) => type !== "reasoning" && type !== "image" && type !== "document")
    .map((part) =>
      part.type === "tool_result"
        ? { ...part, content: part.content.filter(({ type }) => type === "text") }
        : part,
    );

/**
 * Estimates what providers count differently or may leave out of a chat: reasoning, which goes back, and images and
 * documents.
 */
export const estimateUncertain = (
  chat: readonly { readonly parts: readonly Part[]; readonly tokens: number }[],
): number =>
  chat.reduce((sum, { parts, tokens }) => {
    const plain = estimateTokens(plainParts(parts), { family: "gemini", media: () => "" });
    return sum + Math.max(0, tokens - plain);
  }, 0);

/** Estimates a tool's part of a request: a quarter of its JSON, plus ten. */
const estimateTool = (tool: { name: string; description: string; schema: Json }): number =>
  Math.ceil((utf8Length(tool.name) + utf8Length(tool.description) + schemaBytes(tool.schema)) / 4) + 10;

const schemaByteCache = new WeakMap<object, number>();

/** The UTF-8 bytes of a schema's JSON, measured once per schema value. */
const schemaBytes = (schema: Json): number => {
  if (typeof schema !== "object" || schema === null) return utf8Length(JSON.stringify(schema));
  const known = schemaByteCache.get(schema);
  if (known !== undefined) return known;
  const bytes = utf8Length(JSON.stringify(schema));
  schemaByteCache.set(schema, bytes);
  return bytes;
};

/** Estimates the input tokens of a request: stored estimates of its messages, the system prompt, the declared tools. */
export const estimateRequest = (request: {
  readonly system: string;
  readonly messages: readonly { readonly tokens: number }[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly schema: Json }[];
}): number => {
  const messages = request.messages.reduce((sum, { tokens }) => sum + tokens, 0);
  const tools = request.tools.reduce((sum, tool) => sum + estimateTool(tool), 0);
  return messages + tools + estimateText(request.system);
};
