import { statusOf } from "./runs.ts";
import type { Session } from "./state.ts";

const dayMs = 86_400_000;

/**
 * When a session that rests is deleted, milliseconds since the epoch (`retention.session_days`, AP-16); null if it has
 * work, or is kept. Of the team's days and its own the fewer count.
 */
export const retiresAt = (session: Session, teamDays: number | null): number | null => {
  const days = Math.min(teamDays ?? Infinity, session.retentionDays ?? Infinity);
  return statusOf(session) !== "idle" || days === Infinity ? null : session.updatedAt + days * dayMs;
};
