import type { Decision } from "../../src/session/decisions.ts";
import { decisionOf, mayDecide } from "../../src/session/decisions.ts";
import type { Ask } from "../../src/agent/state/ask.ts";
import type { CallerConstraints } from "../../src/agent/state/child.ts";
import { constraintsBlobId } from "../../src/agent/state/child.ts";
import type { RunRecord } from "../../src/agent/state/records.ts";
import { runNumberOf } from "../../src/agent/state/run.ts";
import type { StoredAnswer } from "../../src/agent/transaction/draft.ts";
import type { Message } from "../../src/chat/message.ts";
import type { Archive } from "../../src/session/define-operation.ts";
import type { LoggedEvent } from "../../src/session/event-lines.ts";
import { eventLinesOf, threadOfScope } from "../../src/session/event-lines.ts";
import type { PageStart, PagedRow } from "../../src/session/paging.ts";
import { pageClause } from "../../src/session/paging.ts";
import { childReaderOf } from "./children.ts";
import { rebuildChat, readOriginal } from "./context-rows.ts";
import {
  askOrder,
  blobOf,
  readMessageRows,
  readStoredInput,
  loadBlob,
  messageJson,
  readAttachmentPlace,
  valuesOf,
  wholeJson,
} from "./encode.ts";
import { isRecent } from "../waits.ts";
import { createContentReader, stripContent } from "./event-contents.ts";
import { readLog, readLogBackwards } from "./event-log.ts";
import { findAnsweredCall, readSeenRows, readSums } from "./ledger.ts";
import { readPastView } from "./turn-boundary.ts";

type Sql = SqlStorage;

interface JsonRow extends Record<string, SqlStorageValue> {
  readonly json: string;
}

/** SQL order of inputs: by arrival and, within one millisecond, by the length of the id: earlier numbers come first. */
const inputOrder = "(json ->> '$.at') * 200 + length(id)";

interface ListedTable {
  readonly table: "inputs" | "asks" | "runs" | "children";
  readonly blob: (id: string) => string;
  readonly column: string;
  readonly descending: boolean;
  readonly status?: string | null;
}

const readTablePage = (
  sql: Sql,
  { table, blob, column, descending, status = null }: ListedTable,
  { position, limit }: PageStart,
): readonly PagedRow[] => {
  const { where, values, tail } = pageClause(position, column, descending, limit - 1);
  const filter = status === null ? "" : "AND status = ?";
  return sql
    .exec<{ at: number; id: string }>(
      `SELECT ${column} AS at, id FROM ${table} WHERE 1 ${filter} ${where} ${tail}`,
      ...(status === null ? [] : [status]),
      ...values,
    )
    .toArray()
    .map(({ at, id }) => ({
      at,
      id,
      json: () => {
        const query = `SELECT json FROM ${table} WHERE id = ? AND ${column} = ?`;
        return wholeJson(sql, blob(id), sql.exec<JsonRow>(query, id, at).one().json);
      },
    }));
};

/** Yields events after a cursor, on demand. Rows are read at once, since an open cursor locks its table. */
function* eventsAfter(sql: Sql, session: string, after: number): Generator<LoggedEvent> {
  for (const rows of readLog(sql, after)) {
    const restoreContent = createContentReader(sql, rows);
    for (const { first, at, events } of rows) {
      for (const [index, event] of events.entries()) {
        const seq = first + index;
        if (seq <= after) continue;
        const { type, scope, data } = event;
        const line = (): string => eventLinesOf([restoreContent(event)], session, seq, at).join();
        yield { seq, type, thread: threadOfScope(scope), length: scope.length + data.length, line };
      }
    }
  }
}

/** Archive of a session that does not exist yet and so has no tables. */
export const emptyArchive: Archive = {
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
  pastView: () => null,
  callerConstraints: () => null,
  media: () => "",
  attachment: () => null,
  entries: () => [],
  usage: () => [],
};

const meterMaxAgeMs = 1_000;

/** Measures the bytes of a session at most once a second, because that costs more than an input's other checks. */
export const createSizeMeter = (sql: Sql, now: () => number): (() => number) => {
  let bytes = 0;
  let readAt = -Infinity;
  return () => {
    if (!isRecent(readAt, now(), meterMaxAgeMs)) {
      bytes = sql.databaseSize;
      readAt = now();
    }
    return bytes;
  };
};

const findKeptAnswer = (sql: Sql, key: string): StoredAnswer | null => {
  const query = "SELECT key, fingerprint, status, json, at FROM idempotency WHERE key = ?";
  const [row] = sql.exec<JsonRow & StoredAnswer>(query, key).toArray();
  return row === undefined ? null : { ...row, json: wholeJson(sql, blobOf.answer(key), row.json) };
};

/** Reads a message as it was written. */
const readStoredMessage = (sql: Sql, thread: string, pos: number): string => {
  const [row] = readMessageRows(sql, thread, pos, pos);
  return row === undefined ? "" : messageJson(sql, thread, row);
};

/** Reads an ask, open or closed. */
const readStoredAsk = (sql: Sql, id: string): Ask | null =>
  (valuesOf(sql, blobOf.ask, "SELECT id, json FROM asks WHERE id = ?", id)[0] ?? null) as Ask | null;

/** Reads a run that has ended; the table is ordered by their numbers. */
const readStoredRun = (sql: Sql, id: string): RunRecord | null => {
  const query = "SELECT id, json FROM runs WHERE n = ? AND id = ?";
  return (valuesOf(sql, blobOf.run, query, runNumberOf(id), id)[0] ?? null) as RunRecord | null;
};

/** Reads everything of a session that is not live state straight from its rows. */
export const archiveOf = (sql: Sql, session: string): Archive => ({
  answer: (key) => findKeptAnswer(sql, key),
  input: (id) => readStoredInput(sql, id),
  inputs: (from) =>
    readTablePage(sql, { table: "inputs", blob: blobOf.input, column: inputOrder, descending: true }, from),
  ask: (id) => readStoredAsk(sql, id),
  asks: (status, from) =>
    readTablePage(
      sql,
      { table: "asks", blob: blobOf.ask, column: askOrder, descending: false, status },
      from,
    ),
  run: (id) => readStoredRun(sql, id),
  runs: (from) =>
    readTablePage(sql, { table: "runs", blob: blobOf.run, column: "n", descending: true }, from),
  child: (id) => childReaderOf(sql).record(id),
  children: (from) =>
    readTablePage(sql, { table: "children", blob: blobOf.child, column: "n", descending: false }, from),
  messages: ({ thread, before, limit, retired }) =>
    sql
      .exec<{ pos: number }>(
        `SELECT pos FROM messages WHERE thread = ? AND pos < ? ${retired ? "" : "AND retired = 0"} ORDER BY pos DESC LIMIT ?`,
        thread,
        before ?? Number.MAX_SAFE_INTEGER,
        limit,
      )
      .toArray()
      .map(({ pos }) => ({
        pos,
        json: () => (retired ? readOriginal : readStoredMessage)(sql, thread, pos),
      })),
  events: (after) => eventsAfter(sql, session, after),
  seen: (run, turn) => readSeenRows(sql, run, turn),
  answered: (thread, before) => findAnsweredCall(sql, thread, before),
  chatThen: (thread, edit, pos) => {
    const { shown, gone } = rebuildChat(sql, thread, edit, pos);
    return { shown: shown.map(({ message }) => message), gone };
  },
  pastView: (thread, at) => readPastView(sql, thread, at),
  callerConstraints: (run) =>
    JSON.parse(loadBlob(sql, constraintsBlobId(run)) ?? "null") as CallerConstraints | null,
  media: (blob) => loadBlob(sql, blob) ?? "",
  attachment: (blob) => {
    const place = readAttachmentPlace(sql, blob);
    return place && (JSON.parse(readStoredMessage(sql, ...place)) as Message);
  },
  entries: (store) =>
    sql
      .exec<JsonRow & { key: string; revision: number }>(
        "SELECT key, revision, json FROM entries WHERE store = ? ORDER BY key",
        store,
      )
      .toArray(),
  usage: () => readSums(sql),
});

/** Reads the decisions of a session after an event, in order. The log is their only store until they are reported. */
export const readDecisions = (sql: SqlStorage, since: number): readonly Decision[] => {
  const found: Decision[] = [];
  for (const { first, at, events } of readLogBackwards(sql)) {
    if (first + events.length - 1 <= since) break;
    for (const [index, event] of [...events.entries()].reverse()) {
      const seq = first + index;
      if (seq <= since || !mayDecide(event.type)) continue;
      const stripped = { ...event, data: stripContent(event.data) };
      const decision = decisionOf(stripped, { seq, at }, (id) => readStoredAsk(sql, id));
      if (decision !== null) found.push(decision);
    }
  }
  return found.toReversed();
};
