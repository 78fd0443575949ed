import * as z from "zod";
import { defineTool, parkCallOn } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";

export const askUser = defineTool({
  name: "ask_user",
  description:
    "Asks the person a question and waits for the answer. The result is the answer's text, or a JSON array with multi_select.",
  params: z.strictObject({
    question: z.string().max(4000).describe("The question."),
    options: z.array(z.string().min(1).max(500)).max(50).optional().describe("Answers to choose from."),
    header: z.string().max(100).optional().describe("A short title above the question."),
    multi_select: z.boolean().default(false).describe("Whether several options may be chosen."),
    max_selections: z.int().min(1).max(50).optional().describe("Most options that may be chosen."),
    strict: z.boolean().default(false).describe("Whether the answer must be one of the options."),
  }),
  aliases: { multiSelect: "multi_select", maxSelections: "max_selections" },
  safety: "read",
  workspace: "none",
  run: ({ question, options = [], header, max_selections, ...flags }) => {
    if (question.trim() === "")
      return toolError("invalid_arguments", "question is blank; say what you want to know");
    if (flags.strict && options.length === 0) {
      return toolError("invalid_arguments", "options: a strict question needs options to choose from");
    }
    return parkCallOn({
      on: "ask",
      question: {
        text: question,
        options,
        ...flags,
        ...(header === undefined ? {} : { header }),
        ...(max_selections === undefined ? {} : { max_selections }),
      },
    });
  },
});
