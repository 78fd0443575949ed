import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { idParameter } from "./parameters.ts";

export const sharedTasksReassign = defineTool({
  name: "shared_tasks_reassign",
  description: "Assigns a task to a thread, even if another thread has it. It is then in progress.",
  params: z.strictObject({
    id: idParameter,
    assignee: z.string().min(1).max(64).describe("Id of the thread that is to do it, like main."),
  }),
  safety: "idempotent",
  workspace: "none",
  volatile: ["updated_at"],
  run: ({ id, assignee }) => ({ content: "", stores: [{ store: "tasks", op: "reassign", id, assignee }] }),
});
