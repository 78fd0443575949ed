import type { SessionSummary } from "../../../src/engine/access/rpc.ts";

/** What a session at rest reports of itself to its tenant's object. */
export const summary = (id: string, more: Partial<SessionSummary> = {}): SessionSummary => ({
  id,
  ref: null,
  agent: "guide",
  title: null,
  metadata: {},
  status: "idle",
  revision: "r_1",
  head_seq: 1,
  created_at: 1000,
  updated_at: 1000,
  usage: {},
  ledger: { since: 0, rows: [] },
  ...more,
});
