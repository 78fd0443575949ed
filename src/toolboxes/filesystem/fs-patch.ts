import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { changeWorkspace, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

const hunkSchema = z.strictObject({
  old_text: z.string().min(1).describe("The text to replace; it must occur once when its turn comes."),
  new_text: z.string().default("").describe("The replacement; omitted: the text is removed."),
});

export const fsPatch = defineTool({
  name: "fs_patch",
  description: "Makes several replacements in one file, in order: all of them or none.",
  params: z.strictObject({
    path: pathParameter("File to edit"),
    hunks: z
      .array(hunkSchema)
      .min(1)
      .max(100)
      .describe("Replacements, each applied to the result of the one before it."),
  }),
  safety: "idempotent",
  workspace: "write",
  does: ["write", "read"],
  acts: ({ path }) => [...onPaths("write", path), ...onPaths("read", path)],
  run: (args, context) =>
    changeWorkspace(context, "patch", args, () => `Made ${args.hunks.length} replacements in ${args.path}.`),
});
