import * as z from "zod";

/** Defines the schema of a task graph as the model writes it. */

export const graphIdPattern = /^[\w-]{1,64}$/;
export const mostGraphTasks = 64;

export const graphTaskSchema = z.strictObject({
  id: z
    .string()
    .regex(graphIdPattern, "1 to 64 letters, digits, _ and -")
    .describe("Name of the task within this graph."),
  agent: z.string().min(1).describe('Agent for the task, or "auto" for the one that fits best.'),
  message: z
    .string()
    .regex(/[^\s\0]/, "must not be blank")
    .describe("What to do. {{id.output}} stands for the output of a task that it depends on."),
  context: z.string().default("").describe("What the agent needs to know."),
  depends_on: z.array(z.string()).default([]).describe("Tasks that must have ended first."),
  blocking: z.boolean().describe("Whether its failure cancels the tasks that depend on it."),
  timeout_seconds: z.number().positive().max(86_400).optional().describe("Seconds that the task may take."),
  interpolate: z.boolean().default(true).describe("Whether {{id.output}} is replaced."),
});
