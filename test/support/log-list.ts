import type { LiveSessionParts } from "../../durable-objects/live-session.ts";
import type { LogLevel } from "../../src/tools/log-line.ts";
import { isLogged } from "../../src/tools/log-line.ts";

/** The log of a test: the lines that a team's level lets pass, each with what stands below it. */

interface LogList {
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  readonly log: LiveSessionParts["log"];
}

/** Creates a log that keeps its lines; `least` gives the lowest level that is written. */
export const createLogList = (least: () => LogLevel): LogList => {
  const logs: Readonly<Record<string, unknown>>[] = [];
  return {
    logs,
    log: (msg, fields, level = "info", below = "") => {
      if (isLogged(level, least())) logs.push({ level, msg, ...fields, ...(below === "" ? {} : { below }) });
    },
  };
};
