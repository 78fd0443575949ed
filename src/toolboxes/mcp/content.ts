import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { checkImage } from "../../chat/image-size.ts";
import type { ContentPart } from "../../chat/message.ts";
import { fromBase64, hasOnlyBase64Letters, toBase64 } from "../../sandbox/base64.ts";
import type { ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import { errorText } from "../../tools/errors.ts";

/** Converts the result of a server's tool to content for a model. */

type Shown = Pick<ToolContext, "keep" | "sees">;

/** Number of images of one result; more would soon fill every later request. */
const mostImages = 20;

const formatNote = (what: string, type: string, base64: string): string =>
  `[${what}: ${type}, ${Math.floor((base64.length * 3) / 4)} bytes]`;

type Resource = Extract<ContentBlock, { readonly type: "resource" }>["resource"];

const formatResource = (resource: Resource): string =>
  "text" in resource
    ? resource.text
    : formatNote(resource.uri, resource.mimeType ?? "application/octet-stream", resource.blob);

const textOf = (block: ContentBlock): string => {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return formatNote("image", block.mimeType, block.data);
    case "audio":
      return formatNote("audio", block.mimeType, block.data);
    case "resource_link":
      return `${block.title ?? block.name}: ${block.uri}`;
    case "resource":
      return formatResource(block.resource);
  }
};

type ImageBlock = Extract<ContentBlock, { readonly type: "image" }>;

/** Shows an image by the type of its bytes, since a provider refuses a whole chat for one unreadable image. */
const imagePartOf = (block: ImageBlock, { keep, sees }: Shown, mayShow: boolean): ContentPart => {
  const note = textOf(block);
  if (!sees.images) return { type: "text", text: note };
  if (!mayShow)
    return { type: "text", text: `${note} Only the first ${mostImages} images of a result are shown.` };
  if (!hasOnlyBase64Letters(block.data))
    return { type: "text", text: `${note} It is not base64, so it cannot be shown.` };
  const bytes = fromBase64(block.data);
  const checked = checkImage(toBase64(bytes));
  if (!checked.ok) return { type: "text", text: `${note} ${checked.problem}` };
  return { type: "image", blob: keep(bytes), media_type: checked.type };
};

const partsOf = (blocks: readonly ContentBlock[], shown: Shown): readonly ContentPart[] => {
  let images = 0;
  return blocks.map((block) => {
    if (block.type !== "image") return { type: "text", text: textOf(block) };
    const part = imagePartOf(block, shown, images < mostImages);
    if (part.type === "image") images += 1;
    return part;
  });
};

/** Joins consecutive texts with line breaks. */
const joinTexts = (parts: readonly ContentPart[]): readonly ContentPart[] => {
  const joined: ContentPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.type === "text" && last?.type === "text")
      joined[joined.length - 1] = { type: "text", text: `${last.text}\n${part.text}` };
    else joined.push(part);
  }
  return joined;
};

const contentOf = ({ content, structuredContent }: CallToolResult, shown: Shown): readonly ContentPart[] => {
  const parts = partsOf(content, shown);
  const hasText = content.some((part) => part.type === "text" && /\S/.test(part.text));
  if (structuredContent === undefined || hasText) return joinTexts(parts);
  return joinTexts([...parts, { type: "text", text: JSON.stringify(structuredContent) }]);
};

/** Returns the output of a call: texts as text, images as parts if the model sees them, an error with its code. */
export const outputOf = (result: CallToolResult, shown: Shown): ToolOutput => {
  const parts = contentOf(result, shown);
  const [only] = parts;
  const text = parts.length === 0 ? "" : parts.length === 1 && only?.type === "text" ? only.text : null;
  if (result.isError !== true) return { content: text ?? parts };
  if (text !== null)
    return { content: errorText("failed", text || "the tool gave no reason"), isError: true };
  return {
    content: [{ type: "text", text: errorText("failed", "the tool reported an error") }, ...parts],
    isError: true,
  };
};
