import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { taskStatus } from "../../tools/stores.ts";

export const sharedTasksList = defineTool({
  name: "shared_tasks_list",
  description: "Lists the tasks of the board in the order of their creation, as a JSON array.",
  params: z.strictObject({
    status: taskStatus.optional().describe("Only tasks with this status."),
    assignee: z.string().max(64).optional().describe("Only tasks of this thread."),
    blocked: z.boolean().optional().describe("Only tasks that are, or are not, blocked."),
  }),
  safety: "read",
  workspace: "none",
  run: ({ status, assignee, blocked }, { stores }) => {
    const tasks = stores.tasks
      .list()
      .filter(
        (task) =>
          (status === undefined || task.status === status) &&
          (assignee === undefined || task.assignee === assignee) &&
          (blocked === undefined || task.blocked === blocked),
      );
    return { content: JSON.stringify(tasks) };
  },
});
