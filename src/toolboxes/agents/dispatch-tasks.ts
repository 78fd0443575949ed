import * as z from "zod";
import { defineTool, withFields } from "../../tools/define-tool.ts";
import type { Tool } from "../../tools/define-tool.ts";
import { graphTaskSchema, mostGraphTasks } from "../../tools/task-graph.ts";

const declaredTool = defineTool({
  name: "dispatch_tasks",
  description:
    "Gives a graph of tasks to other agents: each starts when those it depends on have ended, as many at once as possible. Waits for all and reports the outcome of each.",
  params: z.strictObject({
    tasks: z.array(graphTaskSchema).min(1).max(mostGraphTasks).describe("The tasks, in any order."),
    async: z
      .boolean()
      .optional()
      .describe("Run it in the background: the report arrives later as a message."),
  }),
  safety: "idempotent",
  workspace: "none",
  does: ["delegate"],
  volatile: ["dispatch"],
  request: (graph) => ({ do: "dispatch_tasks", graph }),
});

/** Tool whose session gets the graph unchanged and reports all of its mistakes at once. */
export const dispatchTasks: Tool = withFields(declaredTool, { params: z.looseObject({}) });
