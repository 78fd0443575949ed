import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { childVolatile, listLimit, textParameter } from "./parameters.ts";

export const spawnAgent = defineTool({
  name: "spawn_agent",
  description:
    "Starts a helper of your own kind for one task, with your tools, and waits for its result. It sees only the task.",
  params: z.strictObject({
    task: textParameter("task", "What it is to do, complete in itself."),
    system_prompt: z.string().max(32_000).optional().describe("Instructions it is to follow."),
    max_turns: z.int().min(1).max(1_000).default(10).describe("Most turns it may take."),
  }),
  safety: "idempotent",
  workspace: "none",
  does: ["delegate"],
  volatile: childVolatile,
  limit: listLimit,
  request: ({ task, system_prompt, max_turns }) => ({
    do: "start_children",
    tasks: [{ agent: null, task, context: "", system_prompt, max_turns }],
    on_error: "cancel",
    answer: "text",
  }),
});
