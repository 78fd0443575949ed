import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { changeWorkspace, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

export const fsEdit = defineTool({
  name: "fs_edit",
  description:
    "Replaces a text that occurs exactly once in a file. An empty old_text creates the file with new_text as its content.",
  params: z.strictObject({
    path: pathParameter("File to edit"),
    old_text: z.string().describe("The text to replace, exactly as it is in the file; it must occur once."),
    new_text: z.string().default("").describe("The replacement; omitted: the text is removed."),
  }),
  safety: "idempotent",
  workspace: "write",
  does: ["write", "read"],
  // If a text is not found, the error quotes the file, so an edit also counts as reading.
  acts: ({ path, old_text }) => [
    ...onPaths("write", path),
    ...(old_text === "" ? [] : onPaths("read", path)),
  ],
  run: (args, context) => changeWorkspace(context, "edit", args, () => `Edited ${args.path}.`),
});
