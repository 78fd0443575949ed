import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { childParameter, listLimit, textParameter } from "./parameters.ts";

export const answerChild = defineTool({
  name: "answer_child",
  description: "Answers a question of a child and waits for the child's result or its next question.",
  params: z.strictObject({
    child: childParameter,
    question: z.string().min(1).max(64).describe("Id of the question, as the child's item gives it."),
    answer: textParameter("answer", "Your answer."),
  }),
  safety: "idempotent",
  workspace: "none",
  limit: listLimit,
  request: ({ child, question, answer }) => ({ do: "answer_child", child, question, answer }),
});
