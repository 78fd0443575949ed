import { findBudgetHold } from "../budgets/limits.ts";
import { missingAgentCheckMs, missingAgentLimitMs } from "../run/wait.ts";
import type { PendingFileChange } from "../state/files.ts";
import type { EndingCommand, Outbox } from "../state/records.ts";
import { isTryDue } from "../state/ask.ts";
import type { Run } from "../state/run.ts";
import { runDeadlineOf, waitsOf } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import { openChildren, sessionStatusOf } from "../state/thread.ts";

/** Returns when waits of a thread end; none while others bring it on: it is held, or due and queued. */
const waitsDue = (session: Session, { id, run, announce }: Thread, now: number): readonly number[] => {
  if (run !== null && run.phase.at !== "acting" && findBudgetHold(session, id) !== null) return [];
  const waits = run === null ? [announce?.wait ?? []].flat() : waitsOf(run);
  const isQueued = run === null || session.queue.includes(id);
  return waits.flatMap(({ until }) => (until === null || (isQueued && until <= now) ? [] : [until]));
};

/** Returns when the clock ends a run, unless it is over and only waits for called agents that were stopped. */
const endDue = (session: Session, threadId: string, run: Run, now: number): readonly number[] => {
  const due = runDeadlineOf(run);
  if (due === null) return [];
  const stopping =
    due <= now && openChildren(session, threadId).some(({ run: own }) => own?.cancel?.mode === "now");
  return stopping ? [] : [due];
};

const deadlinesOf = (session: Session, thread: Thread, now: number): readonly number[] => {
  const { id, run } = thread;
  if (run === null) return waitsDue(session, thread, now);
  const times = [...endDue(session, id, run, now)];
  if (run.missingSince !== null) {
    const limit = run.missingSince + missingAgentLimitMs;
    return [...times, now < limit ? Math.min(now + missingAgentCheckMs, limit) : now + missingAgentCheckMs];
  }
  if (run.cancel?.mode === "now") times.push(run.cancel.until);
  return [...times, ...waitsDue(session, thread, now)];
};

/** Work beside the runs that is tried until it succeeds or is given up. */
type RetriedWork = { readonly name: string } & (
  | { readonly kind: "deliver"; readonly retry: Outbox }
  | { readonly kind: "end_command"; readonly retry: EndingCommand }
  | { readonly kind: "settle_file"; readonly retry: PendingFileChange }
);

export const retriesOf = ({ outbox, commands, fileChanges }: Session): readonly RetriedWork[] => [
  ...(outbox === null ? [] : [{ kind: "deliver", name: "outbox", retry: outbox } as const]),
  ...commands.ending.map((retry) => ({ kind: "end_command", name: `end:${retry.exec}`, retry }) as const),
  ...fileChanges.map((retry) => ({ kind: "settle_file", name: retry.id, retry }) as const),
];

/** Returns the earliest time at which something is due by itself; null if nothing ever is. */
export const nextDeadline = (session: Session, now: number): number | null => {
  const times = Object.values(session.threads).flatMap((thread) => deadlinesOf(session, thread, now));
  for (const ask of Object.values(session.asks)) times.push(ask.expires_at);
  for (const { retry } of retriesOf(session)) if (!isTryDue(retry, now)) times.push(retry.until);
  return times.length === 0 ? null : Math.min(...times);
};

const dayMs = 86_400_000;

/**
 * Returns when a session that rests is deleted, in milliseconds since the epoch (`retention.session_days`):
 * after the team's days or its own, whichever are fewer; null if it has work or is kept.
 */
export const deletionDueAt = (session: Session, teamDays: number | null): number | null => {
  const days = Math.min(teamDays ?? Infinity, session.retentionDays ?? Infinity);
  const isUsed = sessionStatusOf(session) !== "idle" || session.fileChanges.length > 0;
  return isUsed || days === Infinity ? null : session.updatedAt + days * dayMs;
};
