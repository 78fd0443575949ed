import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { optionalParameters, titleParameter } from "./parameters.ts";

export const sharedTasksCreate = defineTool({
  name: "shared_tasks_create",
  description:
    "Adds a task to the board that all agents of the session share. It is pending until somebody claims it.",
  params: z.strictObject({ title: titleParameter, ...optionalParameters }),
  safety: "idempotent",
  workspace: "none",
  volatile: ["id", "created_at", "updated_at"],
  run: (task) => ({ content: "", stores: [{ store: "tasks", op: "create", ...task }] }),
});
