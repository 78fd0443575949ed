import * as z from "zod";
import { count, duration, orOff, text } from "../../schema.ts";

/** What happens when a question gets no answer. */
const onTimeoutSchema = z.union([
  z.enum(["continue", "fail"]),
  z.strictObject({ answer: text(10_000).describe("Text that stands in for the answer.") }),
]);

/** The section `limits`. Durations are milliseconds. */
export const limitsSchema = z.strictObject({
  asks: z
    .strictObject({
      timeout: duration({ min: "1s" }).prefault("24h").describe("How long an ask stays open."),
      on_timeout: onTimeoutSchema.default("continue").describe("What an unanswered question leads to."),
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

/** The section `sessions`, which sets how sessions behave. */
export const sessionsSchema = z.strictObject({
  on_busy: z
    .enum(["reject", "queue", "steer", "interrupt", "rollback"])
    .default("reject")
    .describe("What a message during a run does."),
  revision: z
    .enum(["pin", "follow"])
    .default("pin")
    .describe("Keep the config a session began with, or follow."),
  model_override: z
    .enum(["listed", "any", "off"])
    .default("listed")
    .describe("Which models a session may choose for itself."),
  interactive: z.boolean().default(true).describe("Whether someone is there to answer asks."),
  max_running_threads: count(1, 64).default(5).describe("Threads of a session that run at the same time."),
});

/** The section `retention`: days after which data is deleted; null means it is kept. */
export const retentionSchema = z.strictObject({
  session_days: orOff(count(1, 3_650))
    .prefault("off")
    .describe("Days after a session's last use, if that was since this was set; off = keep."),
  event_days: orOff(count(1, 3_650)).prefault("off").describe("Days that events are kept; off = keep."),
});
