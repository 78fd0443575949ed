import { defineTool } from "../../tools/define-tool.ts";
import { noSuchTask } from "./no-such-task.ts";
import { onlyId } from "./parameters.ts";

export const sharedTasksGet = defineTool({
  name: "shared_tasks_get",
  description: "Reads a task of the board, as JSON.",
  params: onlyId,
  safety: "read",
  workspace: "none",
  run: ({ id }, { stores }) => {
    const task = stores.tasks.get(id);
    return task === null ? noSuchTask(id) : { content: JSON.stringify(task) };
  },
});
