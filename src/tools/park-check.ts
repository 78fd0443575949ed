import * as z from "zod";
import type { Park } from "./define-tool.ts";

/** Checks a wait that a tool returned, since a team's own tools are not type-checked. */

const timestampSchema = z.number().nonnegative();
const task = z.object({
  agent: z.string().min(1),
  task: z.string().min(1),
  context: z.string(),
  task_id: z.string().optional(),
  async: z.boolean().optional(),
  mode: z.enum(["blocking", "interactive"]).optional(),
  persistent: z.boolean().optional(),
  provider: z.string().optional(),
  timeout_seconds: z.number().positive().optional(),
  writable_paths: z.array(z.string()).optional(),
});
const question = z.object({
  text: z.string(),
  options: z.array(z.string()),
  header: z.string().optional(),
  multi_select: z.boolean(),
  max_selections: z.number().optional(),
  strict: z.boolean(),
});

const parkSchema = z.discriminatedUnion("on", [
  z.object({ on: z.literal("ask"), question }),
  z.object({
    on: z.literal("thread"),
    tasks: z.array(task),
    on_error: z.enum(["cancel", "collect"]),
    answer: z.enum(["text", "items"]),
  }),
  z.object({
    on: z.literal("answer"),
    subject: z.union([
      z.object({ question }),
      z.object({
        authorization: z.object({ server: z.string(), url: z.string(), login: z.boolean().optional() }),
      }),
    ]),
    memo: z.json(),
  }),
  z.object({ on: z.enum(["time", "exec"]), until: timestampSchema }),
  z.object({ on: z.literal("verdict"), args: z.json(), memo: z.json() }),
  z.object({ on: z.literal("task"), task: z.string(), until: timestampSchema, memo: z.json() }),
]);

/** Reads a wait without its unknown fields; returns null if it is invalid. */
export const readPark = (value: unknown): Park | null => {
  const read = parkSchema.safeParse(value);
  return read.success ? (read.data as Park) : null;
};
