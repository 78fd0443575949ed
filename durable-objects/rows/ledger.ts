import type { LedgerRow } from "../../src/agent/state/records.ts";
import type { Session } from "../../src/agent/state/session.ts";
import type { DailyUsage } from "../../src/engine/access/rpc.ts";
import { dayOf } from "../../src/engine/access/tenant/days.ts";
import type { Archive } from "../../src/session/define-operation.ts";
import { readLogBackwards } from "./event-log.ts";

/** The ledger has a row for each model attempt, stored in the log; a table holds the sums that are queried. */

const addUsage = `INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?6, ?6, 1, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (day, agent, provider, model, metadata) DO UPDATE SET last = excluded.last, calls = calls + 1,
    answered = answered + excluded.answered, input = input + excluded.input, output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
    cache_write = cache_write + excluded.cache_write, total = total + excluded.total, cost = cost + excluded.cost,
    estimated = max(estimated, excluded.estimated)`;

/** Adds attempts to the sums of their days, agents and models; the cost of some is unknown, and so is their sum. */
export const writeSums = (
  sql: SqlStorage,
  ledger: readonly LedgerRow[],
  { metadata, head }: Pick<Session, "metadata" | "head">,
): void => {
  for (const { at, agent, provider, model, outcome, usage, cost, estimated } of ledger) {
    const { input, output, cacheRead, cacheWrite, total } = usage;
    const key = [dayOf(at), agent, provider, model, JSON.stringify(metadata)];
    const answered = outcome === "ok" ? 1 : 0;
    const figures = [answered, input, output, cacheRead, cacheWrite, total, cost, estimated ? 1 : 0];
    sql.exec(addUsage, ...key, head, ...figures);
  }
};

interface SumRow extends Record<string, SqlStorageValue> {
  readonly agent: string;
  readonly provider: string;
  readonly model: string;
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly total: number;
  readonly cost: number | null;
  readonly estimated: number;
}

const toSum = ({ agent, provider, model, calls, cost, estimated, ...row }: SumRow) => {
  const { input, output, cache_read: cacheRead, cache_write: cacheWrite, total } = row;
  const usage = { input, output, cacheRead, cacheWrite, total };
  return { agent, provider, model, calls, usage, cost, estimated: estimated === 1 };
};

const sumByModel = `SELECT agent, provider, model, sum(calls) AS calls, sum(input) AS input, sum(output) AS output,
    sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(total) AS total,
    iif(count(cost) = count(*), sum(cost), NULL) AS cost, max(estimated) AS estimated
  FROM usage GROUP BY agent, provider, model ORDER BY min(first)`;

export const readSums = (sql: SqlStorage): ReturnType<Archive["usage"]> =>
  sql.exec<SumRow>(sumByModel).toArray().map(toSum);

/** Reads the sums of days that changed with an event or after it. */
export const readDailyUsage = (sql: SqlStorage, since: number): readonly DailyUsage[] =>
  sql
    .exec<SumRow & { readonly day: number; readonly metadata: string }>(
      "SELECT * FROM usage WHERE last >= ?",
      since,
    )
    .toArray()
    .map((row) => ({ day: row.day, metadata: row.metadata, ...toSum(row) }));

/** Row of the ledger with a number that orders it among all others. */
interface LedgerEntry {
  readonly n: number;
  readonly row: LedgerRow;
}

/** More than the number of rows that one commit adds. */
const rowsPerCommit = 4_096;

/** Yields the rows of the ledger, the newest first, on demand. */
export function* readLedger(sql: SqlStorage): Generator<LedgerEntry> {
  for (const { first, ledger } of readLogBackwards(sql))
    for (const [index, json] of [...ledger.entries()].reverse())
      yield { n: first * rowsPerCommit + index, row: JSON.parse(json) as LedgerRow };
}

/** Lists the calls of a turn that were sent, in order. A thread's attempts of a turn are next to each other. */
export const readSeenRows = (sql: SqlStorage, run: string, turn: number): ReturnType<Archive["seen"]> => {
  const found: LedgerEntry[] = [];
  for (const entry of readLedger(sql)) {
    const { row } = entry;
    if (row.run === run && row.turn === turn) found.unshift(entry);
    else if (found[0]?.row.thread === row.thread) break;
  }
  return found.filter(({ row }) => row.saw !== undefined);
};

/** Returns the place in the ledger behind all rows that were stored with events up to `seq`. */
export const ledgerEndAt = (seq: number): number => (seq + 1) * rowsPerCommit;

/** Finds the thread's newest answered call before a place in the ledger. */
export const findAnsweredCall = (sql: SqlStorage, thread: string, before: number): LedgerRow | null => {
  for (const { n, row } of readLedger(sql))
    if (n < before && row.thread === thread && row.outcome === "ok" && row.saw !== undefined) return row;
  return null;
};
