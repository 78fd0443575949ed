import { defineTool } from "../../tools/define-tool.ts";
import { onlyId } from "./parameters.ts";

export const sharedTasksClaim = defineTool({
  name: "shared_tasks_claim",
  description:
    "Takes a pending task that is not blocked, so that it is yours and in progress. Only one of several agents gets it.",
  params: onlyId,
  safety: "idempotent",
  workspace: "none",
  volatile: ["updated_at"],
  run: ({ id }) => ({ content: "", stores: [{ store: "tasks", op: "claim", id }] }),
});
