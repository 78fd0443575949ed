import * as z from "zod";
import type { Usage } from "../../../model/completer.ts";
import {
  cursorBindingOf,
  cursorSentence,
  pageClause,
  pageOf,
  pageQueryFields,
  readCursor,
} from "../../../session/paging.ts";
import type { Page } from "../../../session/paging.ts";
import { toUsd } from "../../../agent/state/records.ts";
import { refuseField } from "../../../session/problems.ts";
import type { DatabaseRow, DatabaseValue, RunQuery, Tables } from "../database.ts";
import type { DailyUsage, SessionSummary } from "../rpc.ts";
import { dayMs, dayOf } from "./days.ts";

/** Stores the usage of a tenant's sessions, including deleted ones, and sums it up. */

const putUsage = `INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (day, session, created_at, agent, provider, model, metadata) DO UPDATE SET calls = excluded.calls,
    input = excluded.input, output = excluded.output, cache_read = excluded.cache_read, cache_write = excluded.cache_write,
    total = excluded.total, cost = excluded.cost, estimated = excluded.estimated
  WHERE excluded.calls > calls`;

/** Most days of one query, and so the days before the newest that sums are kept. */
const mostDays = 366;

/** Stores the current sums of a session; a repeated or older report changes nothing. */
export const keepUsage = (
  all: RunQuery,
  { id, created_at }: Pick<SessionSummary, "id" | "created_at">,
  { day, agent, provider, model, metadata, calls, usage, cost, estimated }: DailyUsage,
): void => {
  const { input, output, cacheRead, cacheWrite, total } = usage;
  const key = [day, id, created_at, agent, provider, model, metadata];
  all(putUsage, ...key, calls, input, output, cacheRead, cacheWrite, total, cost, estimated ? 1 : 0);
  all("DELETE FROM usage WHERE day < ?", day - mostDays * dayMs);
};

const standardDays = 30;

const groupPattern = /^(?:session|agent|model|day|metadata\[.{1,64}\])$/su;

/**
 * Takes the metadata of a person's deleted sessions out of their sums, which stay: a session that reports again would
 * bring its metadata back.
 */
export const forgetUsageMetadata = (all: RunQuery, subject: string): void => {
  const persons = `json_extract(metadata, '$.subject') = ? AND NOT EXISTS
    (SELECT 1 FROM sessions WHERE sessions.created_at = usage.created_at AND sessions.id = usage.session)`;
  all(
    `INSERT INTO usage SELECT day, session, created_at, agent, provider, model, '{}', sum(calls), sum(input),
       sum(output), sum(cache_read), sum(cache_write), sum(total), iif(count(cost) = count(*), sum(cost), NULL),
       max(estimated) FROM usage WHERE ${persons} GROUP BY 1, 2, 3, 4, 5, 6`,
    subject,
  );
  all(`DELETE FROM usage WHERE ${persons}`, subject);
};

/** Query of `GET /usage`; both days are UTC days and included. */
export const listUsageSchema = z.strictObject({
  group_by: z
    .string()
    .regex(groupPattern, "use session, agent, model, day or metadata[name]")
    .default("day")
    .describe("What the sums are grouped by: `session`, `agent`, `model`, `day` or `metadata[name]`."),
  from: z.iso.date().optional().describe("The first day, UTC."),
  to: z.iso.date().optional().describe("The last day, UTC."),
  ...pageQueryFields,
  // A key may be the longest value of metadata.
  cursor: z.string().max(4_096).optional().describe(cursorSentence),
});
export type ListUsage = z.output<typeof listUsageSchema>;

interface UsageSum {
  readonly calls: number;
  readonly usage: Usage & { readonly cost_usd: number | null; readonly estimated: boolean };
}

interface UsageGroup extends UsageSum {
  /** Value of the group; null for sessions without the metadata. */
  readonly key: string | null;
}

const sums = `coalesce(sum(calls), 0) AS calls, coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output,
  coalesce(sum(cache_read), 0) AS cache_read, coalesce(sum(cache_write), 0) AS cache_write,
  coalesce(sum(total), 0) AS total, iif(count(cost) = count(*), coalesce(sum(cost), 0), NULL) AS cost,
  coalesce(max(estimated), 0) AS estimated FROM usage WHERE day BETWEEN ? AND ?`;

const toSum = (row: DatabaseRow | undefined): UsageSum => {
  const figure = (name: string): number => Number(row?.[name] ?? 0);
  const cost = row?.["cost"] === null ? null : figure("cost");
  return {
    calls: figure("calls"),
    usage: {
      input: figure("input"),
      output: figure("output"),
      cacheRead: figure("cache_read"),
      cacheWrite: figure("cache_write"),
      total: figure("total"),
      cost_usd: toUsd(cost),
      estimated: figure("estimated") === 1,
    },
  };
};

/** Returns the SQL of the grouping key, with its values. */
const keyOf = (group: string): { readonly sql: string; readonly values: readonly DatabaseValue[] } => {
  const [, name] = /^metadata\[(.+)\]$/su.exec(group) ?? [];
  if (name !== undefined)
    return { sql: "(SELECT value FROM json_each(metadata) WHERE json_each.key = ?)", values: [name] };
  if (group === "day") return { sql: "strftime('%Y-%m-%d', day / 1000, 'unixepoch')", values: [] };
  return { sql: group === "model" ? "provider || '/' || model" : group, values: [] };
};

/** Returns the first milliseconds of the first and the last requested day. */
const periodOf = ({ from, to }: ListUsage, now: number): readonly [number, number] => {
  const last = to === undefined ? dayOf(now) : Date.parse(to);
  const first = from === undefined ? last - (standardDays - 1) * dayMs : Date.parse(from);
  const end = to === undefined ? "today, the default of `to`" : "to";
  if (first > last) refuseField("invalid_request", "/from", `it is after ${end}; both are UTC days`);
  if (last - first >= mostDays * dayMs)
    refuseField("invalid_request", "/from", `it is more than ${mostDays} days before ${end}`);
  return [first, last];
};

/**
 * Sums up the usage of a tenant: a page of groups by their key, and a total. A group's id distinguishes null from
 * an empty value.
 */
export const listUsage = (
  tables: Tables,
  tenant: string,
  query: ListUsage,
  now: number,
): Page<UsageGroup> & { readonly total: UsageSum } => {
  const { cursor, limit, ...bound } = query;
  const period = periodOf(query, now);
  const binding = cursorBindingOf({ tenant, usage: bound });
  const position = readCursor(cursor, binding);
  const column = "id";
  const key = keyOf(query.group_by);
  const page = pageClause(position, column, false, limit);
  const rows = tables.read(
    `SELECT * FROM (SELECT ifnull('=' || ${key.sql}, '') AS id, ${sums} GROUP BY 1) WHERE true ${page.where} ${page.tail}`,
    ...key.values,
    ...period,
    ...page.values,
  );
  const [total] = tables.read(`SELECT ${sums}`, ...period);
  const groups = pageOf(rows, { position, column, limit, binding }, (row): UsageGroup => {
    const id = String(row["id"]);
    return { key: id === "" ? null : id.slice(1), ...toSum(row) };
  });
  return { ...groups, total: toSum(total) };
};
