import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";

const filledParameter = (what: string, description: string) =>
  z.string().max(100_000).regex(/\S/, `${what} is blank; fill it in`).describe(description);

/** Tool for called agents with `max_handoffs`. */
export const handoff = defineTool({
  name: "handoff",
  description:
    "Hands your task over to another agent and ends your work. It gets your context, and its result goes to the agent that called you.",
  params: z.strictObject({
    agent: z.string().min(1).max(64).describe("Name of the agent that takes over."),
    reason: filledParameter("reason", "Why that agent fits better."),
    context: filledParameter("context", "What you have found out and done so far."),
  }),
  safety: "idempotent",
  workspace: "none",
  does: ["delegate"],
  terminal: true,
  request: (args) => ({ do: "hand_over", ...args }),
});
