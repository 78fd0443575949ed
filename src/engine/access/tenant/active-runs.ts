import type { Tables } from "../database.ts";
import type { RunRequest, SessionSummary } from "../rpc.ts";

/**
 * A tenant's sessions with a run under way (`limits.runs`): those in the index, and those that were admitted and
 * have not reported yet. This state lives in memory; it is rebuilt from leases, which show which runs began, and
 * from the index, which has the others seconds later.
 */
export interface ActiveRuns {
  /** Returns whether a session may begin a run; an admitted session stays admitted. */
  readonly admit: (run: Pick<RunRequest, "session" | "limit">, now: number) => boolean;
  /** Frees the place of a session whose run did not begin. */
  readonly abandon: (session: string) => void;
  readonly report: (summary: SessionSummary) => void;
}

/** Milliseconds that an admission lasts if the session does not report that its run began. */
const admissionMs = 30_000;

interface AdmittedRun {
  /** Time of the admission in milliseconds since the epoch; 0 means before this object was in memory. */
  readonly at: number;
  /** Whether the session has reported its run. */
  readonly hasReported: boolean;
}

export const createActiveRuns = (tables: Tables): ActiveRuns => {
  let known: Map<string, AdmittedRun> | null = null;
  const load = (): Map<string, AdmittedRun> => {
    const begun = tables.read("SELECT session, at FROM leases");
    const known = tables.read("SELECT id FROM sessions WHERE status <> 'idle'");
    return new Map<string, AdmittedRun>([
      ...begun.map((row) => [String(row["session"]), { at: Number(row["at"]), hasReported: false }] as const),
      ...known.map((row) => [String(row["id"]), { at: 0, hasReported: true }] as const),
    ]);
  };
  return {
    admit: ({ session, limit }, now) => {
      const places = (known ??= load());
      for (const [id, { at, hasReported }] of places)
        if (!hasReported && now - at >= admissionMs) places.delete(id);
      if (!places.has(session) && places.size >= limit) return false;
      places.set(session, { at: now, hasReported: false });
      return true;
    },
    abandon: (session) => {
      if (known?.get(session)?.hasReported === false) known.delete(session);
    },
    report: ({ id, updated_at }) => {
      const place = known?.get(id);
      const isAtWork = tables.read("SELECT 1 FROM sessions WHERE id = ? AND status <> 'idle'", id).length > 0;
      if (isAtWork) known?.set(id, { at: place?.at ?? 0, hasReported: true });
      else if (place !== undefined && (place.hasReported || updated_at >= place.at)) known?.delete(id);
    },
  };
};
