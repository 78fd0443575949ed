import { describeFault, isLogged } from "../src/tools/log-line.ts";
import type { LogLevel, LogLine } from "../src/tools/log-line.ts";

/** Says what happened in one line of the log, if its level is logged. */
export const createLogger =
  (line: LogLine, least: LogLevel) =>
  (msg: string, fields: Readonly<Record<string, unknown>>, level: LogLevel = "info"): void => {
    if (isLogged(level, least)) console.log(line({ at: new Date().toISOString(), level, msg, ...fields }));
  };

/** Says what failed in one line of the log: where and with which code, without content. */
export const logFailure = (line: LogLine, msg: string, error: unknown): void =>
  console.error(line({ at: new Date().toISOString(), level: "error", msg, ...describeFault(error) }));
