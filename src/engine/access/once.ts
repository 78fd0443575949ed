import { refuse } from "../../session/problems.ts";
import { hexOf, sha256Hex } from "../../sandbox/sha256.ts";
import { canonicalJson } from "../../tools/canonical.ts";
import type { RunQuery, Tables } from "./database.ts";
import { digestOf } from "./encoding.ts";
import type { DirectoryCall, KeyedDelete, SessionSummary } from "./rpc.ts";

/** Makes writes happen once under an `Idempotency-Key`. Their results are stored, so they must hold no secret. */

/** Milliseconds that a key and its result are kept. */
const keyKeepMs = 7 * 24 * 3_600_000;

export interface OnceResult<T> {
  readonly value: T;
  /** Whether the work was done before; `value` is then its earlier result. */
  readonly replayed: boolean;
}

/** Does some work in one transaction unless it was done before; `value` must be plain JSON. */
export type Once = <T>(work: (all: RunQuery) => T) => OnceResult<T>;

/** Does the work at each call, because there is no key. */
export const withoutKey =
  (tables: Tables): Once =>
  (work) => ({ value: tables.write(work), replayed: false });

/** Deletes the keys that have expired. */
export const deleteExpiredKeys = (all: RunQuery, now: number): unknown =>
  all("DELETE FROM idempotency WHERE at < ?", now - keyKeepMs);

const keyOfDelete = (session: string, key: string): string =>
  sha256Hex(canonicalJson(["delete", session, key]));

/** Keeps the key of a session's deletion, since the session's own rows are gone. */
export function keepDelete(
  all: RunQuery,
  session: string,
  { key, at }: NonNullable<SessionSummary["removal"]>,
): void {
  deleteExpiredKeys(all, at);
  if (key === null) return;
  all(
    "INSERT OR REPLACE INTO idempotency (key, body, created, at) VALUES (?, '', '', ?)",
    keyOfDelete(session, key),
    at,
  );
}

/** Returns whether something that may be delivered again comes for the first time in 7 days. */
export const isFirstDelivery = (all: RunQuery, id: string, now: number): boolean => {
  deleteExpiredKeys(all, now);
  const kept =
    "INSERT OR IGNORE INTO idempotency (key, body, created, at) VALUES (?, '', '', ?) RETURNING at";
  return all(kept, id, now).length > 0;
};

/** Returns whether the session that was created under a name at this time was deleted. */
export const isBuried = (all: RunQuery, id: string, createdAt: number): boolean =>
  all("SELECT 1 FROM tombstones WHERE id = ? AND created_at = ?", id, createdAt).length > 0;

/** Returns whether a session was deleted: under a stored key, or at all. */
export const wasDeleted = (tables: Tables, { session, key }: KeyedDelete, now: number): boolean => {
  const [table, id] =
    key === null ? ["tombstones WHERE id", session] : ["idempotency WHERE key", keyOfDelete(session, key)];
  return tables.read(`SELECT 1 FROM ${table} = ? AND at >= ?`, id, now - keyKeepMs).length > 0;
};

/** Creates the guard of a call; its key holds only for its caller with these rights, and for its operation. */
export async function createOnce(
  tables: Tables,
  { principal, op, params, sent = params, key }: DirectoryCall<string>,
  now: number,
): Promise<Once> {
  if (key === undefined) return withoutKey(tables);
  const { tenant, by, session = "", origin = "", scopes } = principal;
  const id = hexOf(await digestOf(op, tenant, by, session, origin, scopes.toSorted().join(" "), key));
  const body = hexOf(await digestOf(canonicalJson(sent)));
  return <T>(work: (all: RunQuery) => T) =>
    tables.write((all): OnceResult<T> => {
      const [before] = all(
        "SELECT body, created FROM idempotency WHERE key = ? AND at >= ?",
        id,
        now - keyKeepMs,
      );
      if (before !== undefined) {
        if (before["body"] !== body)
          refuse("idempotency_key_reused", "This Idempotency-Key came with another body: use a new key.");
        return { value: JSON.parse(String(before["created"])) as T, replayed: true };
      }
      const value = work(all);
      deleteExpiredKeys(all, now);
      const created = JSON.stringify(value);
      all("INSERT INTO idempotency (key, body, created, at) VALUES (?, ?, ?, ?)", id, body, created, now);
      return { value, replayed: false };
    });
}
