import * as z from "zod";
import { imageSize } from "../../chat/image-size.ts";
import { base64Of } from "../../tools/base64.ts";
import { defineTool } from "../../tools/define-tool.ts";
import type { ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import { sandboxed, onPaths } from "../sandbox-call.ts";
import { binaryNote, readText } from "./content.ts";
import type { FileText } from "./content.ts";
import { pathParameter } from "./parameters.ts";

type Binary = Extract<FileText, { readonly kind: "binary" }>;

/** Bytes of an image whose base64 models still take, and pixels of its longer side. */
const mostBytes = 3_932_160;
const mostPixels = 8_000;
/** Bytes in which the header stands, whatever goes before it. */
const headerBytes = 262_144;

/** Why models would refuse an image; null if they would not. */
const imageProblem = ({ bytes }: Binary): string | null => {
  if (bytes.length > mostBytes) return `It is larger than ${mostBytes} bytes, so it cannot be shown.`;
  const size = imageSize(base64Of(bytes.subarray(0, headerBytes)));
  if (size === null) return "Its header cannot be read, so it cannot be shown.";
  const side = Math.max(size.width, size.height);
  return side > mostPixels
    ? `It is more than ${mostPixels} pixels wide or high, so it cannot be shown.`
    : null;
};

/** An image as the model sees it, where it does; of other files type and size. */
const shown = (path: string, file: Binary, context: ToolContext): ToolOutput => {
  const note = binaryNote(path, file);
  if (!file.type.startsWith("image/") || !context.sees.images) return { content: note };
  const problem = imageProblem(file);
  if (problem !== null) return { content: `${note} ${problem}` };
  const image = { type: "image", media_type: file.type, blob: context.keep(file.bytes), name: path } as const;
  return { content: [{ type: "text", text: note }, image] };
};

export const fsRead = defineTool({
  name: "fs_read",
  description: "Reads a whole text file, or shows an image. Of any other file it tells type and size.",
  params: z.strictObject({ path: pathParameter("File to read") }),
  safety: "read",
  workspace: "read",
  cache: true,
  limit: 50_000,
  does: ["read"],
  acts: ({ path }) => onPaths("read", path),
  run: ({ path }, context) =>
    sandboxed(context, async (sandbox) => {
      const file = await readText(sandbox, path);
      if (file.kind === "error") return file.error;
      return file.kind === "text" ? { content: file.text } : shown(path, file, context);
    }),
});
