import type { SimpleCommand, Statement } from "./script-syntax.ts";
import { call, either, fromNothing, literal, pipeline, variable } from "./script-syntax.ts";

/** How scripts run commands with `&` here: at once and to their end, with a status that `wait` finds later. */

/** The variable that takes the place of `$!`. */
export const lastJob = "__last_job";

/** Commands that take the place of those that the shell has itself, which know of no jobs. */
export const jobCommands = { end: "end-job", wait: "wait-job" } as const;

/** Makes `command &` run in a subshell, without input, and its status be noted. */
export const startJob = (each: Statement): Statement => {
  const body = [{ ...each, background: false }];
  const job = pipeline({ type: "Subshell", body, redirections: [fromNothing] });
  return either(job, call(jobCommands.end, literal("0")), call(jobCommands.end, variable("?")));
};

export const renameJobCommand = (command: SimpleCommand, name: string): void => {
  if (name === "wait") command.name = literal(jobCommands.wait);
};
