import * as z from "zod";
import { defineTool, withFields } from "../../tools/define-tool.ts";
import type { Tool, ToolDefinition } from "../../tools/define-tool.ts";
import type { ChildTask, SessionRequest, StartChildren } from "../../tools/session-request.ts";
import { childVolatile, listLimit, taskSchema } from "./parameters.ts";

type OnError = StartChildren["on_error"];

const onErrorSchema = (standard: OnError) =>
  z
    .enum(["cancel", "collect"])
    .default(standard)
    .describe("cancel: the first failure stops the others. collect: the others go on.");

const paramsFor = (standard: OnError) =>
  z.strictObject({
    tasks: z.array(taskSchema).describe("One entry for each agent; they work at the same time."),
    on_error: onErrorSchema(standard),
  });

/**
 * Returns the schema of the parameters as they are parsed: with `collect` an invalid task fails alone, and the
 * others start.
 */
const readParamsFor = (standard: OnError) =>
  z
    .strictObject({ tasks: z.array(z.unknown()), on_error: onErrorSchema(standard) })
    .superRefine(({ tasks, on_error }, context) => {
      if (on_error === "collect") return;
      for (const [at, task] of tasks.entries())
        for (const { path, message } of taskSchema.safeParse(task).error?.issues ?? [])
          context.addIssue({ code: "custom", path: ["tasks", at, ...path], message });
    });

const readAgent = (task: unknown): string => {
  const { data } = z.looseObject({ agent: z.string().max(64) }).safeParse(task);
  return data?.agent ?? "";
};

const readTask = (task: unknown): ChildTask => {
  const { data, error } = taskSchema.safeParse(task);
  if (data !== undefined) return data;
  const problems = error.issues
    .slice(0, 5)
    .map(({ path, message }) => [path.join("."), message].filter(Boolean).join(": "));
  return { agent: readAgent(task), task: "", context: "", invalid: problems.join("; ") };
};

const startRequestOf = ({
  tasks,
  on_error,
}: {
  readonly tasks: readonly unknown[];
  readonly on_error: OnError;
}): SessionRequest => ({ do: "start_children", tasks: tasks.map(readTask), on_error, answer: "items" });

const defineSpawn = (
  standard: OnError,
  words: Pick<ToolDefinition, "name" | "description" | "aliasOf">,
): Tool => {
  const declared = defineTool({
    ...words,
    params: paramsFor(standard),
    safety: "idempotent",
    workspace: "none",
    does: ["delegate"],
    volatile: childVolatile,
    limit: listLimit,
    request: startRequestOf,
  });
  return withFields(declared, { params: readParamsFor(standard) });
};

export const spawnAgents = defineSpawn("cancel", {
  name: "spawn_agents",
  description:
    "Gives tasks to several agents at once and waits for all of them. The result is a JSON array with one item for each task, in their order.",
});

/** Alias of spawn_agents, with `collect` as its default. */
export const delegate = defineSpawn("collect", {
  name: "delegate",
  description: "Gives tasks to several agents at once; failures of some do not stop the others.",
  aliasOf: "spawn_agents",
});
