import * as z from "zod";
import { count, duration, orOff, text } from "../../schema.ts";

/** Schema of what happens when a question is not answered. */
const onTimeoutSchema = z.union([
  z.enum(["continue", "fail"]),
  z.strictObject({ answer: text(10_000).describe("Text that replaces the answer.") }),
]);

/** Schema of the section `limits`. Durations are milliseconds. */
export const limitsSchema = z.strictObject({
  asks: z
    .strictObject({
      timeout: duration({ min: "1s" }).prefault("24h").describe("How long an ask stays open."),
      on_timeout: onTimeoutSchema.default("continue").describe("What an unanswered question causes."),
    })
    .prefault({})
    .describe("Questions and approvals."),
  threads: z
    .strictObject({ per_run: count(1, 1_000).default(64).describe("Threads of one run.") })
    .prefault({})
    .describe("Delegated agents."),
  runs: z
    .strictObject({ per_tenant: count(1).default(100).describe("Runs of a tenant at the same time.") })
    .prefault({})
    .describe("Runs."),
});

/** Schema of the section `sessions`. */
export const sessionsSchema = z.strictObject({
  on_busy: z
    .enum(["reject", "queue", "steer", "interrupt", "rollback"])
    .default("reject")
    .describe("How a message during a run is treated."),
  revision: z
    .enum(["pin", "follow"])
    .default("pin")
    .describe("Whether a session keeps the config with which it began, or follows each deploy."),
  model_override: z
    .enum(["listed", "any", "off"])
    .default("listed")
    .describe("Which models a session may choose for itself."),
  interactive: z.boolean().default(true).describe("Whether someone is there to answer asks."),
  max_running_threads: count(1, 64).default(5).describe("Threads of a session that run at the same time."),
});

/** Schema of the section `retention`: days after which data is deleted; null means it is kept. */
export const retentionSchema = z.strictObject({
  session_days: orOff(count(1, 3_650))
    .prefault("off")
    .describe(
      "Days after a session's last use until it is deleted, if it was used since this was set; off = keep.",
    ),
  event_days: orOff(count(1, 3_650)).prefault("off").describe("Days that events are kept; off = keep."),
});
