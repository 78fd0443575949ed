import type { Agent } from "../definition/agent.ts";
import type { RunClock } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Draft } from "../transaction/draft.ts";
import { runOf } from "../transaction/draft.ts";

/** The clock of a run counts the time in which agents work, and stops while only people can move the run on. */

/** Returns the deadline, counted from `since`: the agent's timeout, or the announcement's if that is earlier. */
export const deadlineOf = (
  { limits: { timeoutMs }, delegation: { announce } }: Agent,
  since: number,
  announces: boolean,
): number | null => {
  const ms = announces ? Math.min(announce.timeout, timeoutMs ?? Infinity) : timeoutMs;
  return ms === null ? null : since + ms;
};

export const startClock = (activeMs: number | null, now: number): RunClock | null =>
  activeMs === null ? null : { at: now + activeMs, left: activeMs };

const pauseClock = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { clock } = run;
  if (clock?.at == null) return;
  run.clock = { at: null, left: Math.max(0, clock.at - draft.context.now) };
};

const resumeClock = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { clock } = run;
  if (clock !== null && clock.at === null)
    run.clock = { at: draft.context.now + clock.left, left: clock.left };
};

const findClockedThreads = (session: Session): readonly string[] =>
  Object.values(session.threads).flatMap(({ id, run }) => (run?.clock == null ? [] : [id]));

/** Starts and stops the clocks of runs: each stops while its run, or an agent it awaits, waits for a person. */
export const setClocks = (draft: Draft, waitsForPeople: (threadId: string) => boolean): void => {
  for (const id of findClockedThreads(draft.state)) {
    if (waitsForPeople(id)) pauseClock(draft, id);
    else resumeClock(draft, id);
  }
};
