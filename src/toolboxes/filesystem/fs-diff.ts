import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { callSandbox, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

export const fsDiff = defineTool({
  name: "fs_diff",
  description: "Compares two text files as a unified diff with three lines of context.",
  params: z.strictObject({ file_a: pathParameter("First file"), file_b: pathParameter("Second file") }),
  safety: "read",
  workspace: "read",
  cache: true,
  does: ["read"],
  acts: ({ file_a, file_b }) => onPaths("read", file_a, file_b),
  run: ({ file_a, file_b }, context) =>
    callSandbox(context, async (sandbox) => ({ content: await sandbox.diff(file_a, file_b) })),
});
