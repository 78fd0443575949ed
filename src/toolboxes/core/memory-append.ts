import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { memoryTags, memoryText } from "../../tools/stores.ts";

export const memoryAppend = defineTool({
  name: "memory_append",
  description:
    "Remembers a text of up to 8 KiB for later conversations. Inputs and answers need not be repeated here.",
  params: z.strictObject({
    text: memoryText.describe("What to remember, so that it can be understood by itself."),
    tags: memoryTags.default([]).describe("Words to find it by."),
  }),
  safety: "idempotent",
  workspace: "none",
  run: (entry) => ({ content: "", stores: [{ store: "memory", op: "append", ...entry }] }),
});
