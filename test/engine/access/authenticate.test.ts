import { expect, test } from "vitest";
import { allScopes } from "../../../src/session/rpc.ts";
import type { Principal, Scope } from "../../../src/session/rpc.ts";
import { authenticate } from "../../../src/engine/access/authenticate.ts";
import { mintToken } from "../../../src/engine/access/browser-tokens.ts";
import type { Tables } from "../../../src/engine/access/database.ts";
import { toBase64Url } from "../../../src/sandbox/base64.ts";
import { createKey, editKey, revokeKey } from "../../../src/engine/access/key-store.ts";
import { teamMigrations } from "../../../src/engine/access/team-tables.ts";
import { memoryTables } from "./tables.ts";

const adminKey = "an-admin-key-of-thirty-two-chars";
const now = 1_800_000_000_000;
const hour = 3_600_000;
const operator: Principal = { tenant: "default", jurisdiction: null, by: "operator", scopes: allScopes };

const check = (tables: Tables, credential: string, at = now) =>
  authenticate(tables, credential, { adminKey, now: at });

async function keyOf(tables: Tables, scopes: readonly Scope[] = ["sessions:read"], expires?: number) {
  const body = {
    tenant: "acme",
    scopes: [...scopes],
    ...(expires === undefined ? {} : { expires_at: expires }),
  };
  const { info, credential } = await createKey(tables, { principal: operator, body, now });
  return { info, credential: credential ?? "" };
}

const principalOf = async (tables: Tables, credential: string, at = now): Promise<Principal> => {
  const answer = await check(tables, credential, at);
  if (!answer.ok) throw new Error(answer.problem.code);
  return answer.principal;
};

const codeOf = async (tables: Tables, credential: string, at = now): Promise<string> => {
  const answer = await check(tables, credential, at);
  return answer.ok ? "ok" : answer.problem.code;
};

test("AP-12: a key authenticates as its tenant with its scopes, and no storage dump holds it", async () => {
  const { tables, dump } = memoryTables(teamMigrations);
  const { info, credential } = await keyOf(tables, ["sessions:read", "usage:read"]);
  expect(credential).toMatch(/^lk_[a-z2-7]{16}_[A-Za-z0-9_-]{43}$/);
  expect(await principalOf(tables, credential)).toEqual({
    tenant: "acme",
    jurisdiction: null,
    by: info.id,
    scopes: ["sessions:read", "usage:read"],
  });
  expect(dump()).toContain(info.id);
  expect(dump()).not.toContain(credential.split("_").slice(2).join("_"));
  expect(dump()).not.toContain(credential);
});

test("AP-12: LIMPET_ADMIN_KEY is the first admin key, and a short one is none", async () => {
  const { tables } = memoryTables(teamMigrations);
  expect(await principalOf(tables, adminKey)).toEqual(operator);
  expect(await codeOf(tables, `${adminKey}x`)).toBe("unauthenticated");
  const short = await authenticate(tables, "short", { adminKey: "short", now });
  expect(short.ok).toBe(false);
  const absent = await authenticate(tables, "undefined", { adminKey: undefined, now });
  expect(absent.ok).toBe(false);
});

test("AP-12: unknown ids, wrong secrets and malformed keys get the same answer", async () => {
  const { tables } = memoryTables(teamMigrations);
  const { credential } = await keyOf(tables);
  const last = credential.at(-1) === "A" ? "B" : "A";
  const wrong = [
    credential.slice(0, -1) + last,
    credential.replace(/^lk_.{16}/, `lk_${"a".repeat(16)}`),
    credential.toUpperCase(),
    `${credential} `,
    "",
    "lk_",
    "0".repeat(64),
  ];
  const answers = await Promise.all(wrong.map((text) => check(tables, text)));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(answers[0]).toMatchObject({ ok: false, problem: { code: "unauthenticated" } });
});

test("AP-12: an expired key and a revoked key are refused, and so are the tokens they minted", async () => {
  const { tables } = memoryTables(teamMigrations);
  const expiring = await keyOf(tables, ["sessions:read", "tokens:mint"], now + hour);
  expect(await codeOf(tables, expiring.credential, now + hour - 1)).toBe("ok");
  expect(await codeOf(tables, expiring.credential, now + hour)).toBe("token_expired");
  const minter = await principalOf(tables, expiring.credential);
  const { token } = await mintToken(
    tables,
    minter,
    { session: "s_1", made: 7, ttl: 600, scopes: ["sessions:read"] },
    now,
  );
  expect(await codeOf(tables, token)).toBe("ok");
  revokeKey(tables, operator, expiring.info.id);
  expect(await codeOf(tables, expiring.credential)).toBe("unauthenticated");
  expect(await codeOf(tables, token)).toBe("unauthenticated");
});

test("AP-12: a changed key is changed at the next check", async () => {
  const { tables } = memoryTables(teamMigrations);
  const { info, credential } = await keyOf(tables);
  editKey(tables, operator, { key: info.id, scopes: ["usage:read"], expires_at: now + hour });
  expect(await principalOf(tables, credential)).toMatchObject({
    scopes: ["usage:read"],
    expires: now + hour,
  });
});

test("AP-13: a token opens its session with its scopes until its expiry", async () => {
  const { tables } = memoryTables(teamMigrations);
  const minted = await mintToken(
    tables,
    operator,
    { session: "s_1", made: 7, scopes: ["sessions:read"], ttl: 60, origin: "https://app.example.com" },
    now,
  );
  expect(minted.expires_at).toBe(now + 60_000);
  expect(await principalOf(tables, minted.token)).toEqual({
    tenant: "default",
    jurisdiction: null,
    by: "operator",
    scopes: ["sessions:read"],
    session: "s_1",
    made: 7,
    expires: now + 60_000,
    origin: "https://app.example.com",
  });
  expect(await codeOf(tables, minted.token, now + 59_999)).toBe("ok");
  expect(await codeOf(tables, minted.token, now + 60_000)).toBe("token_expired");
});

test("AP-13: a token has no scope and no lifetime beyond its minter's", async () => {
  const { tables } = memoryTables(teamMigrations);
  const minter: Principal = {
    tenant: "acme",
    jurisdiction: null,
    by: "operator",
    scopes: ["tokens:mint", "sessions:read"],
    expires: now + 5000,
  };
  await expect(
    mintToken(tables, minter, { session: "s_1", made: 7, scopes: ["sessions:write"], ttl: 60 }, now),
  ).rejects.toMatchObject({ problem: { code: "scope_missing", errors: [{ pointer: "/scopes" }] } });
  const minted = await mintToken(tables, minter, { session: "s_1", made: 7, ttl: 60 }, now);
  expect(minted).toMatchObject({ scopes: ["sessions:read"], expires_at: now + 5000 });
});

/** A token of a key, and a change of that key. */
const minted = async (scopes: readonly Scope[] = ["sessions:read", "approvals:decide", "tokens:mint"]) => {
  const { tables } = memoryTables(teamMigrations);
  const { info, credential } = await keyOf(tables, scopes);
  const minter = await principalOf(tables, credential);
  const asked = {
    session: "s_1",
    made: 7,
    ttl: 600,
    scopes: ["sessions:read", "approvals:decide"] as Scope[],
  };
  const { token } = await mintToken(tables, minter, asked, now);
  const edit = (change: { scopes?: Scope[]; expires_at?: number | null }) =>
    editKey(tables, operator, { key: info.id, ...change });
  return { tables, token, edit, credential };
};

test("AP-13: a token has no scope that its key has lost, and none that the key got later", async () => {
  const { tables, token, edit } = await minted();
  const scopesNow = async () => (await principalOf(tables, token)).scopes;
  edit({ scopes: ["sessions:read"] });
  expect(await scopesNow()).toEqual(["sessions:read"]);
  edit({ scopes: ["usage:read"] });
  expect(await scopesNow()).toEqual([]);
  edit({ scopes: [...allScopes] });
  expect(await scopesNow()).toEqual(["sessions:read", "approvals:decide"]);
});

test("AP-13: a key's new expiry bounds the tokens that it minted, one in the past ends them", async () => {
  const { tables, token, edit } = await minted();
  edit({ expires_at: now + 5_000 });
  expect((await principalOf(tables, token)).expires).toBe(now + 5_000);
  expect(await codeOf(tables, token, now + 5_000)).toBe("token_expired");
  edit({ expires_at: now - 1 });
  expect(await codeOf(tables, token)).toBe("token_expired");
  edit({ expires_at: now + hour });
  expect((await principalOf(tables, token)).expires).toBe(now + 600_000);
  edit({ expires_at: null });
  expect((await principalOf(tables, token)).expires).toBe(now + 600_000);
});

test("AP-13: a token that a token minted is cut to the key behind both", async () => {
  const { tables, token, edit, credential } = await minted();
  expect(credential).not.toBe(token);
  const minter = {
    ...(await principalOf(tables, token)),
    scopes: ["tokens:mint", "approvals:decide"],
  } as Principal;
  const second = await mintToken(
    tables,
    minter,
    { session: "s_1", made: 7, ttl: 600, scopes: ["approvals:decide"] },
    now,
  );
  edit({ scopes: ["sessions:read"] });
  expect((await principalOf(tables, second.token)).scopes).toEqual([]);
});

test("AP-13: a token that a bound one mints is bound to the same origin", async () => {
  const { tables } = memoryTables(teamMigrations);
  const origin = "https://app.example.com";
  const minter: Principal = {
    ...operator,
    session: "s_1",
    made: 7,
    scopes: ["tokens:mint", "sessions:read"],
    origin,
  };
  const mint = (more: object) =>
    mintToken(tables, minter, { session: "s_1", made: 7, ttl: 60, ...more }, now);
  for (const asked of [{}, { origin }]) {
    const { token } = await mint(asked);
    expect(await principalOf(tables, token)).toMatchObject({ origin });
  }
  await expect(mint({ origin: "https://other.example" })).rejects.toMatchObject({
    problem: { code: "scope_missing", errors: [{ pointer: "/origin" }] },
  });
});

test("RE-T3: forged, unsigned and altered tokens are refused", async () => {
  const { tables } = memoryTables(teamMigrations);
  const { token } = await mintToken(tables, operator, { session: "s_1", made: 7, ttl: 60 }, now);
  const [body = "", signature = ""] = token.slice(3).split(".");
  const claims: Record<string, unknown> = JSON.parse(atob(body.replaceAll("-", "+").replaceAll("_", "/")));
  const encode = (value: unknown) =>
    toBase64Url(new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)));
  const none = encode({ alg: "none", typ: "JWT" });
  const forged = [
    `lt_${encode({ ...claims, session: "s_2" })}.${signature}`,
    `lt_${encode({ ...claims, scopes: allScopes })}.${signature}`,
    `lt_${encode({ ...claims, exp: null })}.${signature}`,
    `lt_${encode(JSON.stringify(claims).replace(/"exp":\d+/, '"exp":NaN'))}.${signature}`,
    `lt_${encode({ ...claims, kid: "aaaaaaaa" })}.${signature}`,
    `lt_${body}.${"A".repeat(43)}`,
    `lt_${body}.`,
    `lt_${body}`,
    `lt_${none}.${body}.`,
    `${none}.${body}.`,
    `lt_${body}.${signature}=`,
    `lt_${body}.${signature}.`,
  ];
  for (const text of forged) expect(await codeOf(tables, text), text).toBe("unauthenticated");
});

test("RE-T3: a token that was signed with exp null, NaN or text is refused all the same", async () => {
  const { tables } = memoryTables(teamMigrations);
  const { token } = await mintToken(tables, operator, { session: "s_1", made: 7, ttl: 60 }, now);
  const [row] = tables.read("SELECT kid, secret FROM signing_keys");
  const secret = Buffer.from(String(row?.["secret"]), "base64url");
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  const claims: Record<string, unknown> = JSON.parse(
    Buffer.from(token.slice(3).split(".")[0] ?? "", "base64url").toString(),
  );
  const { made: _, ...ageless } = claims;
  const timeless = Buffer.from(JSON.stringify(ageless)).toString("base64url");
  const sealed = await crypto.subtle.sign("HMAC", key, Buffer.from(timeless));
  expect(await codeOf(tables, `lt_${timeless}.${Buffer.from(sealed).toString("base64url")}`)).toBe(
    "unauthenticated",
  );
  for (const exp of [null, "9e99", 1e300, -1, 1.5, true, undefined]) {
    const body = Buffer.from(JSON.stringify({ ...claims, exp })).toString("base64url");
    const signed = await crypto.subtle.sign("HMAC", key, Buffer.from(body));
    const forged = `lt_${body}.${Buffer.from(signed).toString("base64url")}`;
    expect(await codeOf(tables, forged), String(exp)).toBe("unauthenticated");
  }
  const body = Buffer.from(JSON.stringify(claims)).toString("base64url");
  const signed = await crypto.subtle.sign("HMAC", key, Buffer.from(body));
  expect(await codeOf(tables, `lt_${body}.${Buffer.from(signed).toString("base64url")}`)).toBe("ok");
});

test("AP-13: signing keys rotate daily, two live, and a token outlives its key's rotation", async () => {
  const { tables } = memoryTables(teamMigrations);
  const mint = (at: number) => mintToken(tables, operator, { session: "s_1", made: 7, ttl: 3600 }, at);
  const first = await mint(now);
  const second = await mint(now + 24 * hour);
  expect(await codeOf(tables, first.token, now + hour - 1)).toBe("ok");
  expect(await codeOf(tables, second.token, now + 24 * hour)).toBe("ok");
  await mint(now + 48 * hour);
  expect(tables.read("SELECT kid FROM signing_keys")).toHaveLength(2);
  expect(await codeOf(tables, first.token, now)).toBe("unauthenticated");
});

test("AP-4: authenticating against an empty team creates no table", async () => {
  const { tables, database } = memoryTables(teamMigrations);
  await check(tables, "lk_aaaaaaaaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
  await check(tables, adminKey);
  expect(database.all("SELECT name FROM sqlite_master")).toEqual([]);
});
