import { escapeInLine } from "../parts/escape.ts";
import { formatTime } from "../parts/format.ts";

/** How far a permission reaches, in words. */

/** A row of `GET /v1/grants`. */
export interface GrantRow {
  readonly id: string;
  readonly scope: "session" | "agent";
  readonly agent: string;
  readonly tool: string;
  readonly pattern: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly expires_at: number | null;
}

export const describeReach = (
  { scope, agent, expires_at: until, at }: GrantRow,
  now = Date.now(),
): string => {
  if (scope === "session") return "in one session";
  return `for ${escapeInLine(agent)} in every session, until ${formatTime(until ?? at, now)}`;
};
