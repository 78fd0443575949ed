import * as z from "zod";
import { describeIssue } from "../schema.ts";
import type { ToolOutput, Park } from "./define-tool.ts";

/** Checks whether an output can be stored and shown, since a team's own tools are not type-checked. */

const textSchema = z.object({ type: z.literal("text"), text: z.string() });
const shownKeys = { media_type: z.string(), name: z.string().optional() };
const mediaSchema = z.union([
  z.object({ type: z.enum(["image", "document"]), blob: z.string(), ...shownKeys }),
  z.object({ type: z.enum(["image", "document"]), url: z.string(), ...shownKeys }),
]);
const changeSchema = z.object({
  path: z.string(),
  op: z.enum(["create", "modify", "delete", "move"]),
  from: z.string().optional(),
  diff: z.string().optional(),
});

const outputSchema = z.object({
  content: z.union([z.string(), z.array(z.union([textSchema, mediaSchema]))], {
    error: "neither text nor a list of text, image and document parts",
  }),
  isError: z.boolean().optional(),
  exitCode: z.int().optional(),
  status: z.enum(["ok", "error", "denied", "skipped", "cancelled", "unknown"]).optional(),
  statusText: z.string().optional(),
  changes: z.array(changeSchema).optional(),
  // Each change is checked where it is applied.
  stores: z.array(z.unknown()).optional(),
  background: z.object({ exec: z.string(), until: z.number() }).optional(),
  ended: z.string().optional(),
});

/** Returns the fault of an output with its field; null if there is none. */
export const outputProblem = (output: ToolOutput): string | null => {
  const issue = outputSchema.safeParse(output, { error: describeIssue }).error?.issues[0];
  return issue === undefined ? null : `${issue.path.join(".") || "result"}: ${issue.message}`;
};

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
