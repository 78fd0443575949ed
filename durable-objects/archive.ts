import type { KeptAnswer } from "../src/agent/draft.ts";
import { pageClause } from "../src/agent/paging.ts";
import type { From, PagedRow } from "../src/agent/paging.ts";
import { childJson, childrenOf } from "./children.ts";
import type { Archive } from "../src/agent/commands/command.ts";
import type { Ask } from "../src/agent/events.ts";
import type { LedgerRow, RunRecord } from "../src/agent/records.ts";
import { linesOf } from "../src/agent/lines.ts";
import { standingBlob } from "../src/agent/standing.ts";
import type { Standing } from "../src/agent/standing.ts";
import { addUsage, noUsage } from "../src/agent/usage.ts";
import { askOrder, inputJson, inputOf, jsonOf, loadBlob, messageJson } from "./rows.ts";
import { answered, chatThen, originals, seen } from "./sight-rows.ts";

type Sql = SqlStorage;
interface Row extends Record<string, SqlStorageValue> {
  readonly json: string;
}

/** By arrival; of those of one millisecond the shorter, so earlier number first. */
const inputOrder = "(json ->> '$.at') * 200 + length(id)";

interface Listed {
  readonly table: "inputs" | "asks" | "runs" | "children";
  readonly column: string;
  readonly descending: boolean;
  readonly status?: string | null;
}

const paged = (
  sql: Sql,
  { table, column, descending, status = null }: Listed,
  { position, limit }: From,
): readonly PagedRow[] => {
  const { where, values, tail } = pageClause(position, column, descending, limit - 1);
  const filter = status === null ? "" : "AND status = ?";
  return sql
    .exec<PagedRow>(
      `SELECT ${column} AS at, id, json FROM ${table} WHERE 1 ${filter} ${where} ${tail}`,
      ...(status === null ? [] : [status]),
      ...values,
    )
    .toArray();
};

interface EventRow extends Record<string, SqlStorageValue> {
  readonly first: number;
  readonly last: number;
  readonly lines: string;
  readonly at: number;
  readonly session: string;
}

/** Rows that are read at once: a cursor that is left open locks its table, which a removal drops. */
const rowsAtOnce = 16;

/** Serialised events after a cursor, as they are asked for. */
function* eventsAfter(sql: Sql, after: number): Generator<string> {
  let rows: readonly EventRow[];
  let seen = after;
  do {
    rows = sql
      .exec<EventRow>("SELECT * FROM events WHERE last > ? ORDER BY last LIMIT ?", seen, rowsAtOnce)
      .toArray();
    for (const { first, last, lines, at, session } of rows) {
      const texts = lines.split("\n");
      const each = session === "" ? texts : linesOf(texts, session, first, at);
      yield* first > after ? each : each.slice(after - first + 1);
      seen = last;
    }
  } while (rows.length === rowsAtOnce);
}

const usage = (sql: Sql): ReturnType<Archive["usage"]> => {
  const groups = new Map<string, ReturnType<Archive["usage"]>[number]>();
  for (const row of jsonOf(sql, "SELECT json FROM usage") as readonly LedgerRow[]) {
    const key = `${row.agent}\n${row.provider}\n${row.model}`;
    const known = groups.get(key) ?? {
      agent: row.agent,
      provider: row.provider,
      model: row.model,
      calls: 0,
      usage: noUsage,
      cost: 0,
      estimated: false,
    };
    groups.set(key, {
      ...known,
      calls: known.calls + 1,
      usage: addUsage(known.usage, row.usage),
      cost: known.cost === null || row.cost === null ? null : known.cost + row.cost,
      estimated: known.estimated || row.estimated,
    });
  }
  return [...groups.values()];
};

/** What a session that does not exist yet has: it has no tables either. */
export const noArchive: Archive = {
  answer: () => null,
  input: () => null,
  inputs: () => [],
  ask: () => null,
  asks: () => [],
  run: () => null,
  runs: () => [],
  child: () => null,
  children: () => [],
  messages: () => [],
  events: () => [],
  seen: () => [],
  answered: () => null,
  chatThen: () => ({ shown: [], gone: [] }),
  standing: () => null,
  media: () => "",
  entries: () => [],
  usage: () => [],
};

const measuredFor = 1_000;

/** Bytes that a session holds, as they were at most a second ago: asking costs more than an input's other checks (RE-3). */
export const createMeter = (sql: Sql, now: () => number): (() => number) => {
  let bytes = 0;
  let until = 0;
  return () => {
    if (now() >= until) {
      bytes = sql.databaseSize;
      until = now() + measuredFor;
    }
    return bytes;
  };
};

/** Reads of everything that is not live state, straight from the rows. */
export const archiveOf = (sql: Sql): Archive => ({
  answer: (key) =>
    sql
      .exec<Row & KeptAnswer>("SELECT key, fingerprint, status, json, at FROM idempotency WHERE key = ?", key)
      .toArray()[0] ?? null,
  input: (id) => inputOf(sql, id),
  inputs: (from) =>
    paged(sql, { table: "inputs", column: inputOrder, descending: true }, from).map((row) => ({
      ...row,
      json: inputJson(sql, row),
    })),
  ask: (id) => (jsonOf(sql, "SELECT json FROM asks WHERE id = ?", id)[0] ?? null) as Ask | null,
  asks: (status, from) => paged(sql, { table: "asks", column: askOrder, descending: false, status }, from),
  run: (id) => (jsonOf(sql, "SELECT json FROM runs WHERE id = ?", id)[0] ?? null) as RunRecord | null,
  runs: (from) => paged(sql, { table: "runs", column: "n", descending: true }, from),
  child: (id) => childrenOf(sql).record(id),
  children: (from) =>
    paged(sql, { table: "children", column: "-started", descending: false }, from).map((row) => ({
      ...row,
      json: childJson(sql, row),
    })),
  messages: ({ thread, before, limit, retired }) =>
    retired
      ? originals(sql, thread, before, limit)
      : sql
          .exec<{ pos: number; json: string }>(
            "SELECT pos, json FROM messages WHERE thread = ? AND pos < ? AND retired = 0 ORDER BY pos DESC LIMIT ?",
            thread,
            before ?? Number.MAX_SAFE_INTEGER,
            limit,
          )
          .toArray()
          .map((row) => messageJson(sql, thread, row)),
  events: ({ after, limit }) => [...eventsAfter(sql, after).take(limit)],
  seen: (run, turn) => seen(sql, run, turn),
  answered: (thread, before) => answered(sql, thread, before),
  chatThen: (thread, edit, pos) => chatThen(sql, thread, edit, pos),
  standing: (run) => JSON.parse(loadBlob(sql, standingBlob(run)) ?? "null") as Standing | null,
  media: (blob) => loadBlob(sql, blob) ?? "",
  entries: (store) =>
    sql
      .exec<Row & { key: string; revision: number }>(
        "SELECT key, revision, json FROM entries WHERE store = ? ORDER BY key",
        store,
      )
      .toArray(),
  usage: () => usage(sql),
});
