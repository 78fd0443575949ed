import type { Transcript, TranscriptRun } from "../../client/transcript.ts";
import { addSpent, nothing, timelineSpent } from "./figures.ts";
import type { Spent } from "./figures.ts";

/** What a run used with all that it called. Only the panel shows it, so that the first page does not load it. */

/** Whether a thread was called by another, or by one that it called. */
const isBelow = ({ threads }: Pick<Transcript, "threads">, thread: string, top: string): boolean => {
  const caller = threads.find(({ id }) => id === thread)?.parent?.thread;
  return caller !== undefined && (caller === top || isBelow({ threads }, caller, top));
};

/** What a run used with all that it called. */
export const runSpent = (transcript: Transcript, run: TranscriptRun): Spent =>
  run.result === null
    ? transcript.runs
        .filter(
          ({ id, thread, started_at: at }) =>
            id === run.id || (at >= run.started_at && isBelow(transcript, thread, run.thread)),
        )
        .map(timelineSpent)
        .reduce(addSpent, nothing)
    : { cost: run.result.cost_usd, tokens: run.result.usage.total };
