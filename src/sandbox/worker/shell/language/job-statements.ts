import type { Statement } from "./script-syntax.ts";
import { call, either, fromNothing, literal, pipeline, variable } from "./script-syntax.ts";

/** Commands with `&` run to their end before the script goes on; `wait` finds their status later. */

/** The variable that takes the place of `$!`. */
export const lastJob = "__last_job";

/** Commands that replace those of the shell itself, which has no jobs. */
export const jobCommands = { end: "end-job", wait: "wait-job" } as const;

/** Writes `command &` as a subshell without input, whose status is noted. */
export const startJob = (each: Statement): Statement => {
  const body = [{ ...each, background: false }];
  const job = pipeline({ type: "Subshell", body, redirections: [fromNothing] });
  return either(job, call(jobCommands.end, literal("0")), call(jobCommands.end, variable("?")));
};
