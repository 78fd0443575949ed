import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";

/** Tool for called agents whose caller takes questions. */
export const requestInput = defineTool({
  name: "request_input",
  description: "Asks the agent that called you a question and waits for its answer.",
  params: z.strictObject({
    question: z
      .string()
      .max(8_000)
      .regex(/\S/, "question is blank; say what you want to know")
      .describe("The question, complete in itself."),
    options: z.array(z.string().min(1).max(500)).max(50).optional().describe("Answers to choose from."),
  }),
  safety: "idempotent",
  workspace: "none",
  request: ({ question, options = [] }) => ({ do: "request_input", question, options }),
});
