import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import type { ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import { checkImage } from "../../chat/image-size.ts";
import { toBase64 } from "../../sandbox/base64.ts";
import { callSandbox, onPaths } from "../sandbox-call.ts";
import { binaryNote, readFileText } from "./content.ts";
import type { FileText } from "./content.ts";
import { pathParameter } from "./parameters.ts";

type BinaryFile = Extract<FileText, { readonly kind: "binary" }>;

/** Shows an image to a model that accepts images; returns the type and size of other files. */
const showBinary = (path: string, file: BinaryFile, context: ToolContext): ToolOutput => {
  const note = binaryNote(path, file);
  if (!file.type.startsWith("image/") || !context.sees.images) return { content: note };
  const checked = checkImage(toBase64(file.bytes));
  if (!checked.ok) return { content: `${note} ${checked.problem}` };
  const image = { type: "image", media_type: file.type, blob: context.keep(file.bytes), name: path } as const;
  return { content: [{ type: "text", text: note }, image] };
};

export const fsRead = defineTool({
  name: "fs_read",
  description: "Reads a whole text file, or shows an image. For any other file it returns type and size.",
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
