import { faultOf } from "../src/tools/log-line.ts";
import type { LogLine } from "../src/tools/log-line.ts";

/** Says what happened in one line of the log (RE-12). */
export const logTo =
  (line: LogLine) =>
  (msg: string, fields: Readonly<Record<string, unknown>>, level = "info"): void =>
    console.log(line({ at: new Date().toISOString(), level, msg, ...fields }));

/** Says what failed in one line of the log (RE-12): where and with which code, without content. */
export const logFailure = (line: LogLine, msg: string, error: unknown): void =>
  console.error(line({ at: new Date().toISOString(), level: "error", msg, ...faultOf(error) }));
