import type { LogLine } from "../src/tools/log-line.ts";

/** Says what failed in one line of the log (RE-12): no content, no stack. */
export const logFailure = (line: LogLine, msg: string, error: unknown): void =>
  console.error(line({ level: "error", msg, error: error instanceof Error ? error.message : "unknown" }));
