import type { Tables } from "../database.ts";
import { randomBits } from "../names.ts";
import type { RunRequest, SessionSummary } from "../rpc.ts";

/**
 * A tenant's sessions with a run under way (`limits.runs`): those in the index, and those that were admitted and
 * have not reported yet. This state lives in memory; it is rebuilt from leases, which show which runs began, and
 * from the index, which has the others seconds later.
 */
export interface ActiveRuns {
  /** Returns the id of the admission of a session's run, or null if it may not begin; an admitted session stays admitted. */
  readonly admit: (run: Pick<RunRequest, "session" | "limit">, now: number) => string | null;
  /** Frees the place of a run that did not begin; returns false if this is not the session's newest admission. */
  readonly abandon: (session: string, admission: string) => boolean;
  readonly report: (summary: SessionSummary) => void;
}

/** Milliseconds that an admission lasts if the session does not report that its run began. */
const admissionMs = 30_000;

interface AdmittedRun {
  /** Id of the admission; null means before this object was in memory. */
  readonly admission: string | null;
  /** Time of the admission in milliseconds since the epoch; 0 means before this object was in memory. */
  readonly at: number;
  /** Whether the session has reported its run. */
  readonly hasReported: boolean;
}

const reportedRun: AdmittedRun = { at: 0, hasReported: true, admission: null };

export const createActiveRuns = (tables: Tables): ActiveRuns => {
  let known: Map<string, AdmittedRun> | null = null;
  const load = (): Map<string, AdmittedRun> => {
    const begun = tables.read("SELECT session, at FROM leases");
    const known = tables.read("SELECT id FROM sessions WHERE status <> 'idle'");
    return new Map<string, AdmittedRun>([
      ...begun.map(
        (row) =>
          [String(row["session"]), { at: Number(row["at"]), hasReported: false, admission: null }] as const,
      ),
      ...known.map((row) => [String(row["id"]), reportedRun] as const),
    ]);
  };
  return {
    admit: ({ session, limit }, now) => {
      const places = (known ??= load());
      for (const [id, { at, hasReported }] of places)
        if (!hasReported && now - at >= admissionMs) places.delete(id);
      if (!places.has(session) && places.size >= limit) return null;
      const admission = randomBits();
      places.set(session, { at: now, hasReported: false, admission });
      return admission;
    },
    abandon: (session, admission) => {
      const place = known?.get(session);
      if (place?.admission !== admission) return false;
      if (!place.hasReported) known?.delete(session);
      return true;
    },
    report: ({ id, updated_at }) => {
      const place = known?.get(id);
      const isAtWork = tables.read("SELECT 1 FROM sessions WHERE id = ? AND status <> 'idle'", id).length > 0;
      if (isAtWork) known?.set(id, { ...(place ?? reportedRun), hasReported: true });
      else if (place !== undefined && (place.hasReported || updated_at >= place.at)) known?.delete(id);
    },
  };
};
