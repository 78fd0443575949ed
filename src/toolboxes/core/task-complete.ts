import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";

const listParameter = (description: string) =>
  z.array(z.string().max(500)).max(100).optional().describe(description);

/** Tool for called agents only. */
export const taskComplete = defineTool({
  name: "task_complete",
  description: "Ends your work on the task and reports the result to the agent that called you.",
  params: z.strictObject({
    status: z.enum(["completed", "failed"]).describe("Whether the task is done."),
    summary: z
      .string()
      .max(100_000)
      .regex(/\S/, "summary is blank; describe the result of the task")
      .describe("The result that the caller reads, complete in itself."),
    files_modified: listParameter("Paths that you changed."),
    tests_run: listParameter("Tests that you ran, with their outcome."),
    caveats: listParameter("What the caller should know: limits, doubts, what is left."),
  }),
  safety: "idempotent",
  workspace: "none",
  terminal: true,
  request: (completion) => ({ do: "complete", completion }),
});
