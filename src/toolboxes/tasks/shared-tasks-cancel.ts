import { defineTool } from "../../tools/define-tool.ts";
import { onlyId } from "./parameters.ts";

export const sharedTasksCancel = defineTool({
  name: "shared_tasks_cancel",
  description: "Cancels a task that is not over. A called agent that works on it is stopped.",
  params: onlyId,
  safety: "idempotent",
  workspace: "none",
  volatile: ["updated_at"],
  run: ({ id }) => ({ content: "", stores: [{ store: "tasks", op: "cancel", id }] }),
});
