import { isLonger } from "../../chat/truncate.ts";
import type { ContentPart, Message, ToolResultPart } from "../../chat/message.ts";
import { countCharacters, firstCharacters, lastCharacters, preview, textOf } from "../../chat/text.ts";

/** Creates the short texts that replace longer ones. Lengths are characters (code points). */

const previewLength = 80;

/** Mark at the end of a text that was cut. */
export const trimMark = "… [trimmed]";

/** Cuts a text that is longer than `max` to its marked beginning; a shorter one stays unchanged. */
export const truncateEnd = (text: string, max: number, mark = trimMark): string =>
  isLonger(text, max) ? `${firstCharacters(text, max)}${mark}` : text;

/**
 * Cuts a text that is longer than `max` to its beginning and end, with the number of omitted characters; a shorter
 * one stays.
 */
export const truncateMiddle = (text: string, max: number): string => {
  if (!isLonger(text, max)) return text;
  const head = firstCharacters(text, Math.ceil(max * 0.6));
  const tail = lastCharacters(text.slice(head.length), Math.floor(max * 0.4));
  const left = countCharacters(text.slice(head.length, text.length - tail.length));
  return `${head}\n[… ${left} characters left out …]\n${tail}`;
};

/** Returns a number of things in words. */
export const countText = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

/** Returns the reference that replaces an image or document that is not shown. */
export const mediaReference = ({ id }: Pick<Message, "id">, part: ContentPart): string =>
  part.type === "text" ? "" : `[${part.type} ${id}]`;

/** Returns a text followed by references to its images and documents. */
export const withReferences = (
  message: Pick<Message, "id">,
  content: readonly ContentPart[],
  text: string,
): string => {
  const references = content.map((part) => mediaReference(message, part)).filter((each) => each !== "");
  return [...(text === "" ? [] : [text]), ...references].join("\n");
};

/** Returns the line that replaces a result: the tool, and the beginning of the result. */
export const maskText = (message: Pick<Message, "id">, { name, content }: ToolResultPart): string =>
  withReferences(message, content, `[tool result for ${name}: ${preview(textOf(content), previewLength)}]`);

/** Returns the result in a tool message; null for every other message. */
export const toolResultOf = ({ role, parts }: Pick<Message, "role" | "parts">): ToolResultPart | null => {
  const part = role === "tool" ? parts[0] : undefined;
  return part?.type === "tool_result" ? part : null;
};

/** Kind of the effect that shows a result as a line which names where `recall` reads it. */
export const offloadKind = "offload";

/**
 * Returns the result in a tool message if it is `ok` or of a command that ended by itself. Errors are never shortened,
 * nor is a line of `offload`, without which the model could not recall the result.
 */
export const okResultOf = (message: Pick<Message, "role" | "parts" | "overlay">): ToolResultPart | null => {
  const result = toolResultOf(message);
  const isOk = result?.status === "ok" || result?.exit_code !== undefined;
  return isOk && message.overlay?.by !== offloadKind ? result : null;
};
