import * as z from "zod";
import { writablePathProblem } from "../../sandbox/writable.ts";

/** Parameters that the tools of this toolbox share. */

const filledText = (what: string) => z.string().regex(/[^\s\0]/, `${what} is blank; say what it should be`);

const writablePaths = z
  .array(
    z
      .string()
      .max(500)
      .superRefine((entry, context) => {
        const problem = writablePathProblem(entry);
        if (problem !== null) context.addIssue({ code: "custom", message: `${problem}: ${entry}` });
      }),
  )
  .max(200);

/** Schema of a task for another agent. */
export const taskSchema = z.strictObject({
  agent: z
    .string()
    .min(1)
    .max(64)
    .describe('Name of the agent as list_agents gives it, or "auto" for the best match.'),
  task: filledText("task").describe(
    "What it is to do, complete in itself: it sees nothing of this conversation.",
  ),
  context: z
    .string()
    .describe("What it needs to know: file contents, decisions, constraints. Empty if nothing is needed."),
  task_id: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe("Id of this task on the board; the task is assigned to the agent."),
  async: z.boolean().optional().describe("Work in the background: the result arrives later as a message."),
  mode: z
    .enum(["blocking", "interactive"])
    .optional()
    .describe("interactive lets it ask you questions while it works."),
  persistent: z
    .boolean()
    .default(false)
    .describe("Continue the same conversation at the next call of this agent."),
  provider: z.string().min(1).max(64).optional().describe("Provider of its model, if you may choose one."),
  timeout_seconds: z.int().min(1).max(86_400).optional().describe("Seconds after which it is stopped."),
  writable_paths: writablePaths.optional().describe("Globs that bound what it may write, like src/**."),
});

/** Longest result in characters; children's texts are cut earlier, so that lists stay whole. */
export const listLimit = 400_000;

/** Fields of an item that differ for every child, whatever its outcome. */
export const childVolatile = ["child", "usage"] as const;

export const childParameter = z.string().min(1).max(64).describe("Id of the child, as its item gives it.");
export const textParameter = (what: string, description: string) =>
  filledText(what).max(32_000).describe(description);
