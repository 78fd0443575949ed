import * as z from "zod";
import { effortSchema } from "../../model/schema.ts";
import { workspacePath } from "../../sandbox/paths.ts";
import { globFault } from "../../sandbox/glob.ts";
import { count, duration, fraction, globProblem, mapOf, text } from "../../schema.ts";

const checkpointSchema = z.strictObject({
  fraction: z.number().min(0).max(1).describe("Share of max_iterations at which the note is given."),
  message: text(8_000, 1).describe("Text of the note."),
});

const globSchema = () =>
  z.string().superRefine((value, context) => {
    const problem = globProblem(value) ?? globFault(value);
    if (problem !== null) context.addIssue({ code: "custom", message: `invalid_value: ${problem}` });
  });

/** Returns whether a path stays inside the workspace, where only / stands between folders. */
const isInside = (path: string): boolean => {
  if (path.includes("\\")) return false;
  try {
    workspacePath(path);
  } catch {
    return false;
  }
  return true;
};

const turnKeys = {
  max_iterations: count().default(100).describe("Turns of a run; 0 = no limit, which needs a budget."),
  max_delegation_depth: count(0, 64)
    .default(0)
    .describe("How deep agents may call agents; 0 = not at all. Omitted beside a delegation block: 5."),
  max_handoffs: count(0, 64).default(0).describe("Hand-overs between peers; 0 = off."),
  warn_iterations: count().default(0).describe("Turn from which the agent is told to wrap up; 0 = off."),
  loop_detection_threshold: z
    .int()
    .min(0)
    .refine(
      (value) => value !== 1,
      "out_of_range: 0 switches it off, otherwise at least 2 turns are compared",
    )
    .default(0)
    .describe("Equal turns in a row that end a run; 0 = off."),
  no_progress_turns: count().default(0).describe("Turns without progress that end a run; 0 = off."),
  checkpoints: z.array(checkpointSchema).max(32).default([]).describe("Notes at shares of max_iterations."),
};

const contextKeys = {
  context_window: count(1)
    .optional()
    .describe(
      "Context tokens, regardless of provider and kind, at most the model's own; in defaults: if those set none.",
    ),
  context_threshold: z
    .number()
    .min(0)
    .lt(1)
    .default(0.8)
    .describe("Share of the window at which the chat is compacted; 0 = never."),
  context_window_warning_threshold: fraction()
    .default(0.8)
    .describe("Share of the window at which a warning is given."),
  context_compaction: z.enum(["none", "auto"]).default("none").describe("auto masks old results as digests."),
  compaction_threshold: fraction().optional().describe("Share of the window at which auto acts."),
};

const peopleKeys = {
  interaction_mode: z
    .enum(["blocking", "auto", "interactive"])
    .default("blocking")
    .describe("How delegated agents ask."),
  question_timeout: duration({ min: "1s" })
    .optional()
    .describe("How long a question stays open; omitted: limits.asks.timeout."),
};

const toolKeys = {
  command_timeout: duration({ min: "1s", max: "1h" })
    .prefault("120s")
    .describe("Time of a command by default."),
  max_command_timeout: duration({ min: "1s", max: "1h" })
    .prefault("10m")
    .describe("Time of a command at most, within sandbox.limits.wall."),
  tool_output_limits: mapOf(count(1)).prefault({}).describe("Tool → characters of its output."),
  cache_tool_results: z
    .boolean()
    .default(false)
    .describe("Reuse results of reading tools, up to 1 MiB each."),
  on_interrupt: mapOf(z.enum(["rerun", "unknown", "ask", "fail"]))
    .prefault({})
    .describe("Tool → what happens to a call that a crash interrupted."),
  tool_access: z.string().default("").describe("Any text disables all tools; write none."),
  writable_paths: z
    .array(globSchema())
    .max(200)
    .optional()
    .describe("Globs that bound all writes; omitted: unbounded, []: nothing."),
  working_dir: text(500, 1)
    .refine(isInside, "invalid_value: write a folder of the workspace, like src or src/app")
    .default(".")
    .describe(
      "Folder of the workspace to which its files, searches, commands and writable_paths are relative.",
    ),
  backend: z.enum(["", "native"]).default("").describe("Accepted for older files; both mean the sandbox."),
};

const answerOptionKeys = {
  reasoning_effort: effortSchema
    .optional()
    .describe("Effort of the agent's model; the same as reasoning.effort."),
  response_format: z.enum(["json_object", "json_schema"]).optional().describe("Shape of the final answer."),
  response_schema: z
    .union([z.string(), mapOf(z.json())])
    .optional()
    .describe("JSON Schema of the final answer, as an object or as JSON text."),
};

const checkOptionKeys = {
  reflect_on_error: z
    .boolean()
    .default(true)
    .describe("Ask what went wrong after failed calls; by default false beside the effect reflection."),
  verify_after_edit: z
    .boolean()
    .default(false)
    .describe("Run a check after a turn that edits files; failures are repaired in turns that do not count."),
  verify_command: text(1_000)
    .default("")
    .describe(
      "The check, a shell command in working_dir; empty: detected by go.mod, Cargo.toml, package.json, Makefile, pytest.",
    ),
  verify_broad_command: text(1_000).default("").describe("A wider check after the first passed."),
  max_verify_retries: count(0, 20)
    .default(2)
    .describe("Repair turns after the edits of a turn fail the check."),
  verify_on_breach: z
    .boolean()
    .default(false)
    .describe("Run verify_command once when the turns are used up; if it passes, the run is completed."),
  plan_before_execute: z
    .union([z.boolean(), z.literal("approve")])
    .default(false)
    .describe("Plan before the first turn; approve asks a person to approve the plan."),
  localize: z.boolean().default(false).describe("Look for the files that an input is about."),
};

/** Schema of an agent's `options`. Durations are milliseconds. */
export const optionsSchema = z
  .strictObject({
    ...turnKeys,
    ...contextKeys,
    ...peopleKeys,
    ...toolKeys,
    ...answerOptionKeys,
    ...checkOptionKeys,
  })
  .superRefine((options, context) => {
    const issue = (key: string, message: string) =>
      context.addIssue({ code: "custom", path: [key], message });
    if (options.max_command_timeout < options.command_timeout) {
      issue("max_command_timeout", "out_of_range: it must be at least command_timeout");
    }
    if (options.context_compaction === "auto" && options.compaction_threshold === undefined) {
      issue("compaction_threshold", "missing_key: context_compaction: auto needs a compaction_threshold");
    }
    if (options.response_format === "json_schema" && options.response_schema === undefined) {
      issue("response_schema", "missing_key: response_format: json_schema needs a response_schema");
    }
  });
