import * as z from "zod";
import { imageSize } from "../../chat/image-size.ts";
import { toBase64 } from "../../tools/base64.ts";
import { defineTool } from "../../tools/define-tool.ts";
import type { ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import { callSandbox, onPaths } from "../sandbox-call.ts";
import { binaryNote, readFileText } from "./content.ts";
import type { FileText } from "./content.ts";
import { pathParameter } from "./parameters.ts";

type BinaryFile = Extract<FileText, { readonly kind: "binary" }>;

/** The most bytes of an image whose base64 models still accept, and the most pixels of its longer side. */
const maxImageBytes = 3_932_160;
const maxImagePixels = 8_000;
/** Bytes that are sure to contain the header, whatever comes before it. */
const headerBytes = 262_144;

/** Says why models would refuse an image; null if they would not. */
const imageProblem = ({ bytes }: BinaryFile): string | null => {
  if (bytes.length > maxImageBytes) return `It is larger than ${maxImageBytes} bytes, so it cannot be shown.`;
  const size = imageSize(toBase64(bytes.subarray(0, headerBytes)));
  if (size === null) return "Its header cannot be read, so it cannot be shown.";
  const side = Math.max(size.width, size.height);
  return side > maxImagePixels
    ? `It is more than ${maxImagePixels} pixels wide or high, so it cannot be shown.`
    : null;
};

/** Shows an image to a model that accepts images; of other files it gives type and size. */
const showBinary = (path: string, file: BinaryFile, context: ToolContext): ToolOutput => {
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
    callSandbox(context, async (sandbox) => {
      const file = await readFileText(sandbox, path);
      if (file.kind === "error") return file.error;
      return file.kind === "text" ? { content: file.text } : showBinary(path, file, context);
    }),
});
