import type { RunAdmission, SessionSummary } from "../../session/rpc.ts";
import type { Tables } from "./database.ts";

/**
 * Sessions of each tenant that have a run under way (`limits.runs`): those that the index knows, and those that were
 * admitted and have not been heard of yet. Kept in memory: what is lost with it is in the index seconds later.
 */
export interface ActiveRuns {
  /** Whether a session may begin a run; one that has a place keeps it. */
  readonly admit: (admission: RunAdmission, now: number) => boolean;
  readonly report: (summary: SessionSummary) => void;
}

/** How long a place is held for a session that does not say that its run began. */
const admissionMs = 30_000;

interface AdmittedRun {
  /** When it was given, milliseconds since the epoch; 0 = before this object was in memory. */
  readonly at: number;
  /** The session said that it has a run. */
  readonly told: boolean;
}

export const createActiveRuns = (tables: Tables): ActiveRuns => {
  const tenants = new Map<string, Map<string, AdmittedRun>>();
  const placesOf = (tenant: string): Map<string, AdmittedRun> => {
    const known = tenants.get(tenant);
    if (known !== undefined) return known;
    const rows = tables.read("SELECT id FROM sessions WHERE tenant = ? AND status <> 'idle'", tenant);
    const places = new Map(rows.map((row) => [String(row["id"]), { at: 0, told: true }]));
    tenants.set(tenant, places);
    return places;
  };
  return {
    admit: ({ tenant, session, limit }, now) => {
      const places = placesOf(tenant);
      for (const [id, { at, told }] of places) if (!told && now - at >= admissionMs) places.delete(id);
      if (!places.has(session) && places.size >= limit) return false;
      places.set(session, { at: now, told: false });
      return true;
    },
    report: ({ tenant, id, status, updated_at }) => {
      const places = tenants.get(tenant);
      const place = places?.get(id);
      if (status === "running" || status === "waiting") places?.set(id, { at: place?.at ?? 0, told: true });
      else if (place !== undefined && (place.told || updated_at >= place.at)) places?.delete(id);
    },
  };
};
