import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { listLimit, taskSchema } from "./parameters.ts";

const params = (onError: "cancel" | "collect") =>
  z.strictObject({
    tasks: z.array(taskSchema).describe("One entry for each agent; they work at the same time."),
    on_error: z
      .enum(["cancel", "collect"])
      .default(onError)
      .describe("cancel: the first failure stops the others. collect: the others go on."),
  });

export const spawnAgents = defineTool({
  name: "spawn_agents",
  description:
    "Gives tasks to several agents at once and waits for all of them. The result is a JSON array with one item for each task, in their order.",
  params: params("cancel"),
  safety: "idempotent",
  workspace: "none",
  limit: listLimit,
  request: (args) => ({ do: "start_children", ...args, answer: "items" }),
});

/** The name that older prompts know: as spawn_agents with `collect`. */
export const delegate = defineTool({
  name: "delegate",
  description: "Gives tasks to several agents at once; failures of some do not stop the others.",
  params: params("collect"),
  safety: "idempotent",
  workspace: "none",
  limit: listLimit,
  aliasOf: "spawn_agents",
  request: (args) => ({ do: "start_children", ...args, answer: "items" }),
});
