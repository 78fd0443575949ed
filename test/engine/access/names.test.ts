import * as fc from "fast-check";
import { expect, test } from "vitest";
import { areSameBytes } from "../../../src/engine/access/encoding.ts";
import { jurisdictions } from "../../../src/sandbox/jurisdiction.ts";
import type { PlacedNamespace, TenantAddress } from "../../../src/sandbox/jurisdiction.ts";
import { base32 } from "../../../src/sandbox/sha256.ts";
import { fromBase64Url, toBase64Url } from "../../../src/sandbox/base64.ts";
import {
  deriveSessionId,
  createSessionId,
  sessionIdPattern,
  getSessionObject,
  getTenantObject,
  sessionObjectName,
  tenantObjectName,
} from "../../../src/engine/access/names.ts";

test("AP-3: session ids fit their pattern, and every bit of them varies", () => {
  const made = Array.from({ length: 300 }, createSessionId);
  expect(made.filter((id) => !sessionIdPattern.test(id))).toEqual([]);
  expect(new Set(made).size).toBe(300);
  expect(new Set(made.map((id) => id.at(-1))).size).toBe(8);
});

test("AP-3: the id of a ref is a pure function of kind, tenant and name", async () => {
  const id = await deriveSessionId("ref", "acme", "ticket-7");
  expect(id).toBe(await deriveSessionId("ref", "acme", "ticket-7"));
  expect(id).toMatch(sessionIdPattern);
  const others = await Promise.all([
    deriveSessionId("idem", "acme", "ticket-7"),
    deriveSessionId("ref", "acmet", "icket-7"),
    deriveSessionId("ref", "acm", "eticket-7"),
    deriveSessionId("ref", "Acme", "ticket-7"),
  ]);
  expect(new Set([id, ...others]).size).toBe(5);
});

test("AP-3 RE-T5: no two jurisdictions, tenants or ids share an object name", () => {
  const places = [null, ...jurisdictions] as const;
  const owner = fc.record({ tenant: fc.string(), jurisdiction: fc.constantFrom(...places) });
  const isSame = (one: TenantAddress, other: TenantAddress): boolean =>
    one.jurisdiction === other.jurisdiction && one.tenant.toWellFormed() === other.tenant.toWellFormed();
  fc.assert(
    fc.property(owner, fc.string(), owner, fc.string(), (one, id, other, otherId) => {
      expect(sessionObjectName(one, id) === sessionObjectName(other, otherId)).toBe(
        isSame(one, other) && id.toWellFormed() === otherId.toWellFormed(),
      );
      expect(tenantObjectName(one) === tenantObjectName(other)).toBe(isSame(one, other));
    }),
  );
  const at = (tenant: string) => ({ tenant, jurisdiction: null });
  expect(sessionObjectName(at("a"), "bc")).not.toBe(sessionObjectName(at("ab"), "c"));
  expect(sessionObjectName(at("a"), "bc")).toMatch(/^[0-9a-f]{64}$/);
  expect(tenantObjectName(at("eu"))).not.toBe(tenantObjectName({ tenant: "", jurisdiction: "eu" }));
});

test("AP-3: an object of a jurisdiction is found there, under a name that no other jurisdiction has", () => {
  const asked: string[] = [];
  const namespace = (place: string): PlacedNamespace<string> => ({
    getByName: (name) => `${place} ${name}`,
    jurisdiction: (wanted) => {
      asked.push(wanted);
      return namespace(wanted);
    },
  });
  const acme = { tenant: "acme", jurisdiction: "eu" } as const;
  expect(getTenantObject(namespace("anywhere"), acme)).toBe(`eu ${tenantObjectName(acme)}`);
  const free = { ...acme, jurisdiction: null };
  expect(getSessionObject(namespace("anywhere"), free, "s_1")).toBe(
    `anywhere ${sessionObjectName(free, "s_1")}`,
  );
  expect(asked).toEqual(["eu"]);
});

test("AP-3: a runtime that cannot place objects serves them where it is; any other fault is one", () => {
  const failing = (message: string): PlacedNamespace<string> => ({
    getByName: (name) => name,
    jurisdiction: () => {
      throw new Error(message);
    },
  });
  const acme = { tenant: "acme", jurisdiction: "us" } as const;
  const local = "Jurisdiction restrictions are not implemented in workerd.";
  expect(getTenantObject(failing(local), acme)).toBe(tenantObjectName(acme));
  expect(() => getTenantObject(failing("the jurisdiction is unknown"), acme)).toThrow("unknown");
});

test("AP-12: base64url reads back exactly what it wrote and nothing else", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
      const text = toBase64Url(bytes);
      expect(text).toBe(Buffer.from(bytes).toString("base64url"));
      expect(areSameBytes(fromBase64Url(text) ?? new Uint8Array(1), bytes)).toBe(true);
    }),
  );
  for (const text of ["A", "AB", "AA=", "A+", "A/", "ÄÄ", "AAAAB"]) expect(fromBase64Url(text)).toBeNull();
});

test("AP-3: base32 follows RFC 4648 in lower case without padding", () => {
  const cases = {
    f: "my",
    fo: "mzxq",
    foo: "mzxw6",
    foob: "mzxw6yq",
    fooba: "mzxw6ytb",
    foobar: "mzxw6ytboi",
  };
  for (const [text, expected] of Object.entries(cases)) expect(base32(Buffer.from(text))).toBe(expected);
});
