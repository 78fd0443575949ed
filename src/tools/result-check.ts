import * as z from "zod";
import { describeIssue } from "../schema.ts";
import type { ToolOutput } from "./define-tool.ts";

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
