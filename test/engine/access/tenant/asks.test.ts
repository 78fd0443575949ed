import { expect, test } from "vitest";
import { listAsks, listAsksSchema } from "../../../../src/engine/access/tenant/asks.ts";
import { indexSession } from "../../../../src/engine/access/tenant/session-index.ts";
import type { SessionSummary } from "../../../../src/engine/access/rpc.ts";
import type { Ask } from "../../../../src/agent/state/ask.ts";
import { memoryTables } from "../tables.ts";

const now = 1_800_000_000_000;

const ask = (id: string, expires_at = now + 1_000): Ask => ({
  id,
  kind: "question",
  thread: "main",
  run: "run_1",
  call: "call_1",
  status: "open",
  opened_at: now - 1_000,
  seq: 5,
  expires_at,
});

const summary = (more: Partial<SessionSummary>): SessionSummary => ({
  id: "s_1",
  ref: null,
  agent: "guide",
  title: null,
  metadata: {},
  status: "waiting",
  revision: "r_1",
  head_seq: 5,
  created_at: now - 2_000,
  updated_at: now,
  usage: {},
  ledger: { since: 0, rows: [] },
  ...more,
});

test("AP-5: an ask that has expired is not listed, and an older report brings back none", () => {
  const { tables } = memoryTables();
  const ids = (at = now): readonly string[] =>
    listAsks(tables, "acme", listAsksSchema.parse({}), at).data.map(({ id }) => id);
  expect(ids()).toEqual([]);
  indexSession(tables, summary({ asks: [ask("ask_a"), ask("ask_b", now + 9_000)] }));
  expect(ids()).toEqual(["ask_a", "ask_b"]);
  expect(ids(now + 1_000)).toEqual(["ask_b"]);
  indexSession(tables, summary({ head_seq: 7, asks: [ask("ask_b", now + 9_000)] }));
  indexSession(tables, summary({ head_seq: 6, asks: [ask("ask_a"), ask("ask_b")] }));
  expect(ids()).toEqual(["ask_b"]);
  indexSession(tables, summary({ head_seq: 8, status: "deleted" }));
  expect(ids()).toEqual([]);
});
