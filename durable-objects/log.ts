import { describeFault, isLogged } from "../src/tools/log-line.ts";
import type { LogLevel, LogLine } from "../src/tools/log-line.ts";

/** Logs one line, if its level is logged; `below` is printed under it as it is. */
export const createLogger =
  (line: LogLine, least: LogLevel) =>
  (msg: string, fields: Readonly<Record<string, unknown>>, level: LogLevel = "info", below = ""): void => {
    if (!isLogged(level, least)) return;
    console.log(line({ at: new Date().toISOString(), level, msg, ...fields }) + below);
  };

/** Logs a failure in one line, with its place and code but without content. */
export const logFailure = (line: LogLine, msg: string, error: unknown): void =>
  console.error(line({ at: new Date().toISOString(), level: "error", msg, ...describeFault(error) }));
