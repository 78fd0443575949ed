import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { LeaseAnswer, LeaseRequest } from "../../../../src/agent/budgets/lease.ts";
import type { Tables } from "../../../../src/engine/access/database.ts";
import { indexSession } from "../../../../src/engine/access/tenant/session-index.ts";
import { cancelLease, drawLease } from "../../../../src/engine/access/tenant/days.ts";
import { summary as restingSummary } from "../summary.ts";
import { memoryTables } from "../tables.ts";

/** Shares of a tenant's day (RE-4). */

const noon = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;
const midnight = Date.UTC(2026, 10, 22);
const none = { tokens: 0, cost: 0, time: 0, calls: 0 };

const request = (more: Partial<LeaseRequest> = {}): LeaseRequest => ({
  session: "s_1",
  id: "1",
  limits: { tokens: 64_000 },
  need: { tokens: 1_000 },
  least: { tokens: 400 },
  settles: null,
  ...more,
});
const granted = (answer: LeaseAnswer): number => (answer.ok ? (answer.granted.tokens ?? 0) : -1);
const used = (tokens: number) => ({ ...none, tokens });

/** What the day has left for somebody who wants all of it. */
const left = (tables: Tables, now = noon, limit = 64_000): number => {
  const answer = drawLease(
    tables,
    request({ session: "probe", limits: { tokens: limit }, need: { tokens: 1e9 }, least: { tokens: 0 } }),
    now,
  );
  if (!answer.ok) return 0;
  const settles = { id: "1", used: none };
  drawLease(tables, request({ session: "probe", id: "2", settles, limits: {}, need: {}, least: {} }), now);
  drawLease(
    tables,
    request({ session: "probe", id: "1", settles: { id: "2", used: none }, limits: {}, need: {}, least: {} }),
    now,
  );
  cancelLease(tables, "probe", "1");
  return answer.granted.tokens ?? 0;
};

test("RE-4: a lease is what the call needs and a small part of what is left; it lasts until the day's end", () => {
  const { tables } = memoryTables();
  const answer = drawLease(tables, request(), noon);
  expect(answer).toEqual({
    ok: true,
    granted: { tokens: 1_000 + Math.floor(63_000 / 64) },
    until: midnight,
    spent: none,
  });
  expect(left(tables)).toBe(64_000 - granted(answer));
});

test("RE-4: asked again under its id it is the same lease, whatever is asked for", () => {
  const { tables } = memoryTables();
  const first = drawLease(tables, request(), noon);
  const again = drawLease(tables, request({ need: { tokens: 9_000 } }), noon + 1_000);
  expect(granted(again)).toBe(granted(first));
  expect(left(tables)).toBe(64_000 - granted(first));
});

test("RE-4: the next lease gives back what the one before did not use", () => {
  const { tables } = memoryTables();
  drawLease(tables, request(), noon);
  const next = drawLease(tables, request({ id: "2", settles: { id: "1", used: used(700) } }), noon);
  expect(next).toMatchObject({ ok: true, spent: used(700) });
  expect(left(tables)).toBe(64_000 - 700 - granted(next));
});

test("RE-4: what was used beyond the lease counts, too", () => {
  const { tables } = memoryTables();
  drawLease(tables, request(), noon);
  drawLease(tables, request({ id: "2", settles: { id: "1", used: used(50_000) } }), noon);
  expect(left(tables)).toBeLessThanOrEqual(13_000);
});

test("RE-4: a share that is smaller than asked for is given as long as it pays for the least; else nothing changes", () => {
  const { tables } = memoryTables();
  const all = { limits: { tokens: 1_300 } };
  expect(granted(drawLease(tables, request({ ...all, need: { tokens: 800 } }), noon))).toBe(807);
  const second = request({ ...all, session: "s_2", need: { tokens: 800 } });
  expect(granted(drawLease(tables, second, noon))).toBe(493);
  const third = request({ ...all, session: "s_3" });
  expect(drawLease(tables, third, noon)).toEqual({
    ok: false,
    kind: "tokens",
    limit: 1_300,
    spent: 1_300,
    until: midnight,
  });
  const more = request({ ...all, id: "2", least: { tokens: 900 }, settles: { id: "1", used: used(10) } });
  expect(drawLease(tables, more, noon)).toMatchObject({ ok: false, spent: 493 + 10 });
  const fits = request({ ...all, id: "2", least: { tokens: 797 }, settles: { id: "1", used: used(10) } });
  expect(granted(drawLease(tables, fits, noon))).toBe(797);
});

test("RE-4: a lease that is not settled within an hour counts as spent, and its return comes too late", () => {
  const { tables } = memoryTables();
  const lease = granted(drawLease(tables, request(), noon));
  const late = request({ id: "2", settles: { id: "1", used: used(1) } });
  expect(left(tables, noon + hour - 1)).toBe(64_000 - lease);
  const next = drawLease(tables, late, noon + hour);
  expect(next).toMatchObject({ ok: true, spent: used(lease) });
});

test("RE-4: a day begins at midnight UTC, with all of its budget; leases belong to the day they were given on", () => {
  const { tables } = memoryTables();
  drawLease(tables, request(), midnight - 1);
  const next = drawLease(tables, request({ id: "2", settles: { id: "1", used: used(900) } }), midnight);
  expect(next).toMatchObject({ ok: true, until: midnight + 86_400_000, spent: none });
  expect(left(tables, midnight)).toBe(64_000 - granted(next));
});

test("RE-4: sessions have their own", () => {
  const { tables } = memoryTables();
  drawLease(tables, request({ need: { tokens: 64_000 } }), noon);
  expect(drawLease(tables, request({ session: "s_2" }), noon).ok).toBe(false);
  const foreign = request({ id: "2", settles: { id: "1", used: used(1) }, session: "s_9" });
  expect(drawLease(tables, foreign, noon).ok).toBe(false);
});

test("RE-4: kinds without a limit are not leased, all others are", () => {
  const { tables } = memoryTables();
  const limits = { cost: 6_400, time: 640_000, calls: 10 };
  const need = { tokens: 5, cost: 640, time: 60_000, calls: 256 };
  const answer = drawLease(tables, request({ limits, need, least: { cost: 1, time: 1, calls: 0 } }), noon);
  expect(answer).toMatchObject({ ok: true, granted: { cost: 640 + 90, time: 60_000 + 9_062, calls: 10 } });
  expect(answer.ok && "tokens" in answer.granted).toBe(false);
  const calls = drawLease(tables, request({ session: "s_2", limits, need, least: { calls: 0 } }), noon);
  expect(calls).toMatchObject({ ok: true, granted: { calls: 0 } });
});

test("RE-4: a session's summary gives its lease back, late and repeated ones change nothing", () => {
  const { tables } = memoryTables();
  drawLease(tables, request(), noon);
  const summary = {
    id: "s_1",
    ref: null,
    agent: "guide",
    title: null,
    metadata: {},
    status: "idle" as const,
    revision: "r_1",
    head_seq: 1,
    created_at: 1,
    updated_at: 1,
    usage: {},
    ledger: { since: 0, rows: [] },
  };
  for (let time = 0; time < 3; time++)
    indexSession(tables, { ...summary, lease: { id: "1", used: used(300) } });
  indexSession(tables, { ...summary, head_seq: 0, lease: { id: "1", used: used(300) } });
  expect(left(tables)).toBe(64_000 - 300);
  drawLease(tables, request({ id: "2" }), noon);
  indexSession(tables, { ...summary, status: "deleted", lease: { id: "2", used: used(5) } });
  expect(left(tables)).toBe(64_000 - 305);
});

test("★ RE-4: a report of a deleted session that comes late ends no lease of the next session of its ref", () => {
  const { tables } = memoryTables();
  const old = restingSummary("s_1", { created_at: noon - hour, lease: { id: "1", used: used(300) } });
  drawLease(tables, request(), noon - hour);
  indexSession(tables, { ...old, status: "deleted", head_seq: 2, removal: { key: null, at: noon - 1 } });
  expect(left(tables)).toBe(63_700);
  const lease = granted(drawLease(tables, request(), noon));
  indexSession(tables, old);
  expect(left(tables)).toBe(63_700 - lease);
});

test("RE-4: whatever sessions draw, use and give back, in any order and with repeats: what is out and spent is never over the limit", () => {
  const limit = 20_000;
  const step = fc.record({
    session: fc.integer({ min: 0, max: 4 }),
    need: fc.integer({ min: 1, max: 6_000 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    settles: fc.boolean(),
    repeat: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { tables } = memoryTables();
      const held = new Map<number, { id: number; granted: number }>();
      let spent = 0;
      for (const { session, need, share, settles, repeat } of steps) {
        const own = held.get(session);
        const id = (own?.id ?? 0) + 1;
        const tokens = own === undefined ? 0 : Math.floor(own.granted * share);
        const asked = request({
          session: `s_${session}`,
          id: String(id),
          limits: { tokens: limit },
          need: { tokens: need },
          least: { tokens: Math.ceil(need / 2) },
          settles: own === undefined || !settles ? null : { id: String(own.id), used: used(tokens) },
        });
        const answer = drawLease(tables, asked, noon);
        if (repeat && answer.ok) expect(granted(drawLease(tables, asked, noon))).toBe(granted(answer));
        if (!answer.ok) continue;
        if (own !== undefined) spent += settles ? tokens : own.granted;
        held.set(session, { id, granted: granted(answer) });
        const out = [...held.values()].reduce((sum, each) => sum + each.granted, 0);
        expect(spent + out).toBeLessThanOrEqual(limit);
      }
      const out = [...held.values()].reduce((sum, each) => sum + each.granted, 0);
      expect(left(tables, noon, limit)).toBe(limit - spent - out);
    }),
    { numRuns: 200, seed: 4 },
  );
});
