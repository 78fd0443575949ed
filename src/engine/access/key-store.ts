import * as z from "zod";
import { refuse } from "../../agent/problem.ts";
import type { Principal, Scope } from "../../agent/rpc.ts";
import type { Database, Row, Tables } from "./database.ts";
import { digestOf, toHex } from "./encoding.ts";
import { newKey } from "./keys.ts";
import { bindingOf, pageClause, pageOf, readCursor } from "./paging.ts";
import type { Page } from "./paging.ts";
import { scopeSchema } from "./scopes.ts";

/** Stored API keys (AP-12). A key belongs to one tenant; only the operator sees and makes those of others. */

/** `by` of LIMPET_ADMIN_KEY; its tenant is `operatorTenant`. */
export const operator = "operator";
export const operatorTenant = "default";

const idempotencyMs = 7 * 24 * 3_600_000;

const name = z.string().min(1).max(128);
const scopes = z.array(scopeSchema).min(1);
const expiresAt = z.int().positive().nullable();
const tenantName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "a tenant is 1 to 64 letters, digits, dots, dashes, underscores",
  );

export const createKeySchema = z.strictObject({
  name: name.optional(),
  /** Absent: the creator's own tenant. */
  tenant: tenantName.optional(),
  scopes,
  /** Milliseconds since the epoch; absent or null: never. */
  expires_at: expiresAt.optional(),
});
type CreateKey = z.output<typeof createKeySchema>;
export const editKeySchema = z.strictObject({
  key: z.string(),
  name: name.optional(),
  scopes: scopes.optional(),
  expires_at: expiresAt.optional(),
});
export const keyReferenceSchema = z.strictObject({ key: z.string() });
export const listKeysSchema = z.strictObject({
  limit: z.int().min(1).max(200).default(50),
  cursor: z.string().max(1024).optional(),
});

/** A key as the API shows it; never its secret. */
export interface KeyInfo {
  readonly id: string;
  readonly name: string | null;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  readonly created_at: number;
  readonly created_by: string;
  readonly expires_at: number | null;
}

const infoSchema = z.strictObject({
  id: z.string(),
  name: z.string().nullable(),
  tenant: z.string(),
  scopes: z.array(scopeSchema),
  created_at: z.int(),
  created_by: z.string(),
  expires_at: z.int().nullable(),
});

export interface StoredKey extends KeyInfo {
  readonly digest: string;
}

const show = (row: Row): KeyInfo => ({
  id: String(row["id"]),
  name: row["name"] === null ? null : String(row["name"]),
  tenant: String(row["tenant"]),
  scopes: z.array(scopeSchema).parse(JSON.parse(String(row["scopes"]))),
  created_at: Number(row["created_at"]),
  created_by: String(row["created_by"]),
  expires_at: row["expires_at"] === null ? null : Number(row["expires_at"]),
});

/** Whether this caller administers the whole deployment rather than one tenant. */
const isOperator = (principal: Principal): boolean => principal.by === operator || principal.by === "dev";

/** The key with this id, whatever its tenant; for authentication. */
export function storedKey(tables: Tables, id: string): StoredKey | null {
  const [row] = tables.read("SELECT * FROM keys WHERE id = ?", id);
  return row === undefined ? null : { ...show(row), digest: String(row["digest"]) };
}

/** The key with this id if the caller may administer it, else 404. */
export function getKey(tables: Tables, principal: Principal, id: string): KeyInfo {
  const found = storedKey(tables, id);
  if (found === null || (found.tenant !== principal.tenant && !isOperator(principal))) {
    return refuse("not_found", "No such key.");
  }
  const { digest: _, ...info } = found;
  return info;
}

/** The keys of the caller's tenant, newest first; of every tenant for the operator. */
export async function listKeys(
  tables: Tables,
  principal: Principal,
  query: z.output<typeof listKeysSchema>,
): Promise<Page<KeyInfo>> {
  const owner = isOperator(principal) ? "*" : principal.tenant;
  const binding = await bindingOf({ keys: owner });
  const position = readCursor(query.cursor, binding);
  const page = pageClause(position, "created_at", true, query.limit);
  const rows = tables.read(
    `SELECT * FROM keys WHERE ? IN ('*', tenant) ${page.where} ${page.tail}`,
    owner,
    ...page.values,
  );
  return pageOf(rows, { position, column: "created_at", limit: query.limit, binding }, show);
}

/** The stored proof of an idempotency key and the digest of its body, stable over the order of scopes. */
interface Guard {
  readonly key: string;
  readonly body: string;
}

async function guardOf(principal: Principal, key: string, body: CreateKey): Promise<Guard> {
  const fields = [body.tenant ?? "", body.name ?? "", body.scopes.toSorted().join(" "), `${body.expires_at}`];
  return {
    key: toHex(await digestOf("create_key", principal.tenant, principal.by, key)),
    body: toHex(await digestOf(...fields)),
  };
}

function refuseBadKey(principal: Principal, body: CreateKey, now: number): void {
  if (body.tenant !== undefined && body.tenant !== principal.tenant && !isOperator(principal)) {
    refuse("scope_missing", "Only LIMPET_ADMIN_KEY makes keys for another tenant.", {
      errors: [{ pointer: "/tenant", code: "scope_missing", message: "Leave it out." }],
    });
  }
  if (typeof body.expires_at === "number" && body.expires_at <= now) {
    refuse("invalid_request", "A key must expire in the future.", {
      errors: [{ pointer: "/expires_at", code: "out_of_range", message: "Milliseconds after now, or null." }],
    });
  }
}

/** The key that this guard already made, null if it is new; 422 if it made another. */
function madeBefore(all: Database["all"], guard: Guard): KeyInfo | null {
  const [before] = all("SELECT body, created FROM idempotency WHERE key = ?", guard.key);
  if (before === undefined) return null;
  if (before["body"] !== guard.body) {
    return refuse("idempotency_key_reused", "This Idempotency-Key made a key from another body.");
  }
  return infoSchema.parse(JSON.parse(String(before["created"])));
}

function remember(all: Database["all"], guard: Guard, info: KeyInfo): void {
  all("DELETE FROM idempotency WHERE at < ?", info.created_at - idempotencyMs);
  all(
    "INSERT INTO idempotency (key, body, created, at) VALUES (?, ?, ?, ?)",
    guard.key,
    guard.body,
    JSON.stringify(info),
    info.created_at,
  );
}

function insertKey(all: Database["all"], info: KeyInfo, digest: string): void {
  all(
    `INSERT INTO keys (id, digest, tenant, name, scopes, created_at, created_by, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    info.id,
    digest,
    info.tenant,
    info.name,
    JSON.stringify(info.scopes),
    info.created_at,
    info.created_by,
    info.expires_at,
  );
}

/**
 * Makes a key. Repeated under the same idempotency key it gives the same key again, without its secret
 * (`credential` is null): the secret is nowhere stored.
 */
export async function createKey(
  tables: Tables,
  request: { principal: Principal; body: CreateKey; key?: string; now: number },
): Promise<{ info: KeyInfo; credential: string | null }> {
  const { principal, body, now } = request;
  refuseBadKey(principal, body, now);
  const guard = request.key === undefined ? null : await guardOf(principal, request.key, body);
  const made = await newKey();
  const info: KeyInfo = {
    id: made.id,
    name: body.name ?? null,
    tenant: body.tenant ?? principal.tenant,
    scopes: body.scopes,
    created_at: now,
    created_by: principal.by,
    expires_at: body.expires_at ?? null,
  };
  return tables.write((all) => {
    const before = guard === null ? null : madeBefore(all, guard);
    if (before !== null) return { info: before, credential: null };
    insertKey(all, info, made.digest);
    if (guard !== null) remember(all, guard, info);
    return { info, credential: made.credential };
  });
}

/** Changes name, scopes or expiry of a key. */
export function editKey(tables: Tables, principal: Principal, body: z.output<typeof editKeySchema>): KeyInfo {
  const before = getKey(tables, principal, body.key);
  const after: KeyInfo = {
    ...before,
    name: body.name ?? before.name,
    scopes: body.scopes ?? before.scopes,
    expires_at: body.expires_at === undefined ? before.expires_at : body.expires_at,
  };
  tables.write((all) =>
    all(
      "UPDATE keys SET name = ?, scopes = ?, expires_at = ? WHERE id = ?",
      after.name,
      JSON.stringify(after.scopes),
      after.expires_at,
      after.id,
    ),
  );
  return after;
}

/** Revokes a key; tokens that it minted end with it. */
export function revokeKey(tables: Tables, principal: Principal, id: string): void {
  const found = getKey(tables, principal, id);
  tables.write((all) => all("DELETE FROM keys WHERE id = ?", found.id));
}
