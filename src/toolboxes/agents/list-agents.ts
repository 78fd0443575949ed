import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";

export const listAgents = defineTool({
  name: "list_agents",
  description:
    "Lists the agents that you may call, as a JSON array. With a task, those that fit it best come first.",
  params: z.strictObject({
    task: z.string().max(32_000).optional().describe("The task to be done."),
  }),
  safety: "read",
  workspace: "none",
  request: ({ task }) => ({ do: "list_agents", task: task ?? null }),
});
