import { defineTool } from "../../tools/define-tool.ts";
import { childVolatile, listLimit, taskSchema } from "./parameters.ts";

export const delegateToAgent = defineTool({
  name: "delegate_to_agent",
  description:
    "Gives a task to another agent and waits for its result. It sees only the context and the task that you send.",
  params: taskSchema,
  safety: "idempotent",
  workspace: "none",
  does: ["delegate"],
  volatile: childVolatile,
  limit: listLimit,
  request: (task) => ({ do: "start_children", tasks: [task], on_error: "cancel", answer: "text" }),
});
