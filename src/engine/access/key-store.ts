import * as z from "zod";
import { cursorBindingOf, pageClause, pageOf, pageQueryFields, readCursor } from "../../session/paging.ts";
import type { Page } from "../../session/paging.ts";
import { refuse } from "../../session/problems.ts";
import type { Jurisdiction, TenantAddress } from "../../sandbox/jurisdiction.ts";
import type { Principal, Scope } from "../../session/rpc.ts";
import type { RunQuery, DatabaseRow, Tables } from "./database.ts";
import { generateKey } from "./keys.ts";
import { withoutKey } from "./once.ts";
import type { OnceResult, Once } from "./once.ts";
import { jurisdictionSchema, scopeSchema } from "./scopes.ts";

/** Stores API keys. A key belongs to one tenant; only the operator sees and creates keys of other tenants. */

/** `by` of LIMPET_ADMIN_KEY; its tenant is `operatorTenant`. */
export const operator = "operator";
export const operatorTenant = "default";

const keyNameSchema = z.string().min(1).max(128);
const scopesSchema = z.array(scopeSchema).min(1);
/** Schema of an expiry in milliseconds; a time in seconds would expire a key at once. */
const expiresAtSchema = z
  .int()
  .min(100_000_000_000, "a time is in milliseconds since the epoch; this value looks like seconds")
  .nullable();
const tenantNameSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "a tenant is 1 to 64 letters, digits, dots, dashes, underscores",
  );

export const createKeySchema = z.strictObject({
  name: keyNameSchema.optional(),
  /** Tenant of the key; defaults to the creator's own. */
  tenant: tenantNameSchema.optional(),
  /** Where the tenant's data is stored, set by its first key; if absent, it stays as it is, initially anywhere. */
  jurisdiction: jurisdictionSchema.optional(),
  scopes: scopesSchema,
  /** Milliseconds since the epoch; absent or null means never. */
  expires_at: expiresAtSchema.optional(),
});
export type CreateKey = z.output<typeof createKeySchema>;
export const editKeySchema = z.strictObject({
  key: z.string(),
  name: keyNameSchema.optional(),
  scopes: scopesSchema.optional(),
  expires_at: expiresAtSchema.optional(),
});
export const keyReferenceSchema = z.strictObject({ key: z.string() });
export const listKeysSchema = z.strictObject(pageQueryFields);

/** API key as the API shows it, without its secret. */
export interface KeyInfo extends TenantAddress {
  readonly id: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly created_at: number;
  readonly created_by: string;
  readonly expires_at: number | null;
}

export interface StoredKey extends KeyInfo {
  readonly digest: string;
}

const toKeyInfo = (row: DatabaseRow): KeyInfo => ({
  id: String(row["id"]),
  name: row["name"] === null ? null : String(row["name"]),
  tenant: String(row["tenant"]),
  jurisdiction: jurisdictionSchema.parse(row["jurisdiction"]),
  scopes: z.array(scopeSchema).parse(JSON.parse(String(row["scopes"]))),
  created_at: Number(row["created_at"]),
  created_by: String(row["created_by"]),
  expires_at: row["expires_at"] === null ? null : Number(row["expires_at"]),
});

/** Returns whether this caller administers the whole deployment rather than one tenant. */
const isOperator = (principal: Principal): boolean => principal.by === operator || principal.by === "dev";

const keysOfTenants = "keys JOIN tenants USING (tenant)";

const findKey = (all: RunQuery, id: string): StoredKey | null => {
  const [row] = all(`SELECT * FROM ${keysOfTenants} WHERE id = ?`, id);
  return row === undefined ? null : { ...toKeyInfo(row), digest: String(row["digest"]) };
};

const requireAdministered = (found: StoredKey | null, principal: Principal): KeyInfo => {
  if (found === null || (found.tenant !== principal.tenant && !isOperator(principal))) {
    return refuse("not_found", "There is no such key.");
  }
  const { digest: _, ...info } = found;
  return info;
};

/** Finds the key with this id, whatever its tenant, for authentication. */
export const findStoredKey = (tables: Tables, id: string): StoredKey | null =>
  findKey((query, ...values) => tables.read(query, ...values), id);

/** Returns the key with this id if the caller may administer it; otherwise throws 404. */
export const getKey = (tables: Tables, principal: Principal, id: string): KeyInfo =>
  requireAdministered(findStoredKey(tables, id), principal);

/** Lists the keys of the caller's tenant, the newest first; for the operator it lists those of every tenant. */
export function listKeys(
  tables: Tables,
  principal: Principal,
  query: z.output<typeof listKeysSchema>,
): Page<KeyInfo> {
  const owner = isOperator(principal) ? "*" : principal.tenant;
  const binding = cursorBindingOf({ keys: owner });
  const position = readCursor(query.cursor, binding);
  const page = pageClause(position, "created_at", true, query.limit);
  const rows = tables.read(
    `SELECT * FROM ${keysOfTenants} WHERE ? IN ('*', tenant) ${page.where} ${page.tail}`,
    owner,
    ...page.values,
  );
  return pageOf(rows, { position, column: "created_at", limit: query.limit, binding }, toKeyInfo);
}

function refuseBadKey(principal: Principal, body: CreateKey, now: number): void {
  if (body.tenant !== undefined && body.tenant !== principal.tenant && !isOperator(principal)) {
    refuse("scope_missing", "Only LIMPET_ADMIN_KEY may create keys for another tenant.", {
      errors: [{ pointer: "/tenant", code: "scope_missing", message: "Leave it out." }],
    });
  }
  if (typeof body.expires_at === "number" && body.expires_at <= now) {
    refuse("invalid_request", "A key must expire in the future.", {
      errors: [
        { pointer: "/expires_at", code: "out_of_range", message: "A later time in milliseconds, or null." },
      ],
    });
  }
}

/** Tenants that exist without a key and whose data has no set place. */
const placelessTenants: readonly string[] = [operatorTenant, "dev"];

const refuseJurisdiction = (kept: Jurisdiction | null): never =>
  refuse(
    "conflict",
    `The tenant's data is kept ${kept === null ? "anywhere" : `in ${kept}`}: that never changes.`,
    {
      errors: [{ pointer: "/jurisdiction", code: "conflict", message: "Leave it out." }],
    },
  );

/** Sets where a tenant's data is stored, which its first key decides for ever, and returns it. */
function setJurisdiction(
  all: RunQuery,
  tenant: string,
  wanted: Jurisdiction | null | undefined,
): Jurisdiction | null {
  const [row] = all("SELECT jurisdiction FROM tenants WHERE tenant = ?", tenant);
  const isSettled = row !== undefined || placelessTenants.includes(tenant);
  const kept = jurisdictionSchema.parse(row?.["jurisdiction"] ?? null);
  if (isSettled && wanted !== undefined && wanted !== kept) return refuseJurisdiction(kept);
  const jurisdiction = isSettled ? kept : (wanted ?? null);
  if (row === undefined)
    all("INSERT INTO tenants (tenant, jurisdiction) VALUES (?, ?)", tenant, jurisdiction);
  return jurisdiction;
}

/** Milliseconds that a key is listed after its expiry. */
const expiredKeyMs = 90 * 24 * 3_600_000;

/** Stores a new key, and deletes those that expired long ago. */
function insertKey(all: RunQuery, info: KeyInfo, digest: string): void {
  all("DELETE FROM keys WHERE expires_at < ?", info.created_at - expiredKeyMs);
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
 * Creates a key. A repetition under the same idempotency key returns the same key, without its secret (`credential`
 * is null), because the secret is not stored anywhere.
 */
export async function createKey(
  tables: Tables,
  request: { principal: Principal; body: CreateKey; now: number },
  once: Once = withoutKey(tables),
): Promise<{ info: KeyInfo; credential: string | null }> {
  const { principal, body, now } = request;
  const made = await generateKey();
  const { value: info, replayed } = once((all): KeyInfo => {
    refuseBadKey(principal, body, now);
    const tenant = body.tenant ?? principal.tenant;
    const fresh: KeyInfo = {
      id: made.id,
      name: body.name ?? null,
      tenant,
      jurisdiction: setJurisdiction(all, tenant, body.jurisdiction),
      scopes: body.scopes,
      created_at: now,
      created_by: principal.by,
      expires_at: body.expires_at ?? null,
    };
    insertKey(all, fresh, made.digest);
    return fresh;
  });
  return { info, credential: replayed ? null : made.credential };
}

/** Changes the name, scopes or expiry of a key. */
export const editKey = (
  tables: Tables,
  principal: Principal,
  body: z.output<typeof editKeySchema>,
  once: Once = withoutKey(tables),
): OnceResult<KeyInfo> =>
  once((all) => {
    const before = requireAdministered(findKey(all, body.key), principal);
    const after: KeyInfo = {
      ...before,
      name: body.name ?? before.name,
      scopes: body.scopes ?? before.scopes,
      expires_at: body.expires_at === undefined ? before.expires_at : body.expires_at,
    };
    all(
      "UPDATE keys SET name = ?, scopes = ?, expires_at = ? WHERE id = ?",
      after.name,
      JSON.stringify(after.scopes),
      after.expires_at,
      after.id,
    );
    return after;
  });

/** Revokes a key, and with it the tokens that it minted. */
export const revokeKey = (
  tables: Tables,
  principal: Principal,
  id: string,
  once: Once = withoutKey(tables),
): OnceResult<null> =>
  once((all) => {
    all("DELETE FROM keys WHERE id = ?", requireAdministered(findKey(all, id), principal).id);
    return null;
  });
