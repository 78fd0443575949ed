import type { Episode } from "../../src/agent/state/events.ts";
import { readLogBackwards } from "./event-log.ts";

/** Reads the newest episodes of a run, oldest first. It reads back to the oldest of them, or to the run's start. */
export const readEpisodes = (sql: SqlStorage, run: string, most: number): readonly Episode[] => {
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
