import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { sandboxed, sandboxOf, subjectPath } from "../sandbox-call.ts";
import { binaryNote, readText } from "./content.ts";
import { pathParameter } from "./parameters.ts";

export const fsRead = defineTool({
  name: "fs_read",
  description: "Reads a whole text file. Of a binary file it tells type and size.",
  params: z.strictObject({ path: pathParameter("File to read") }),
  safety: "read",
  workspace: "read",
  cache: true,
  limit: 50_000,
  subject: ({ path }) => [subjectPath(path)],
  run: ({ path }, context) =>
    sandboxed(async () => {
      const file = await readText(sandboxOf(context), path);
      if (file.kind === "error") return file.error;
      return { content: file.kind === "text" ? file.text : binaryNote(path, file) };
    }),
});
