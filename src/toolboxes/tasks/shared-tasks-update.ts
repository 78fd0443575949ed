import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { taskStatus } from "../../tools/stores.ts";
import { changeableParameters, idParameter } from "./parameters.ts";

export const sharedTasksUpdate = defineTool({
  name: "shared_tasks_update",
  description:
    "Changes a task. In progress it can become completed, failed, cancelled, or pending to release it; failed it can become pending again.",
  params: z.strictObject({
    id: idParameter,
    status: taskStatus.optional().describe("New status."),
    ...changeableParameters,
  }),
  safety: "idempotent",
  workspace: "none",
  volatile: ["updated_at"],
  run: (change) => ({ content: "", stores: [{ store: "tasks", op: "update", ...change }] }),
});
