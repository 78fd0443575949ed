import { mostEpisodes } from "../../src/agent/context/reports.ts";
import type { Episode } from "../../src/agent/state/events.ts";
import type { EventText } from "../../src/session/event-lines.ts";
import { readLogBackwards } from "./event-log.ts";

/** Newest episodes of a run, for its end. */
export interface Episodes {
  /** Remembers the episodes of a commit. */
  readonly note: (events: readonly EventText[]) => void;
  /** Returns a run's newest episodes, oldest first. */
  readonly newest: (run: string, most: number) => readonly Episode[];
}

/** Reads the log back to the oldest wanted episode, or to the run's start, past the events of other runs. */
const readEpisodes = (sql: SqlStorage, run: string, most: number): readonly Episode[] => {
  const ofRun = `,"run":${JSON.stringify(run)}`;
  const found: Episode[] = [];
  for (const { events } of readLogBackwards(sql))
    for (const { type, scope, data } of events.toReversed()) {
      if (!scope.includes(ofRun)) continue;
      if (type === "episode_recorded") found.push(JSON.parse(data) as Episode);
      if (type === "run_start" || found.length === most) return found.toReversed();
    }
  return found.toReversed();
};

const runIn = (scope: string): string => /,"run":"([^"]*)"/.exec(scope)?.[1] ?? "";

/** Creates the memory of the episodes of runs that began since the session woke; for other runs the log is read. */
export const createEpisodes = (sql: SqlStorage): Episodes => {
  const known = new Map<string, string[]>();
  return {
    note: (events) => {
      for (const { type, scope, data } of events) {
        if (type === "run_start") known.set(runIn(scope), []);
        else if (type === "run_end") known.delete(runIn(scope));
        else if (type === "episode_recorded") {
          const ofRun = known.get(runIn(scope));
          ofRun?.push(data);
          if (ofRun !== undefined && ofRun.length > mostEpisodes) ofRun.shift();
        }
      }
    },
    newest: (run, most) =>
      known
        .get(run)
        ?.slice(-most)
        .map((data) => JSON.parse(data) as Episode) ?? readEpisodes(sql, run, most),
  };
};
