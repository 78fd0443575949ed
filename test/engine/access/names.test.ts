import * as fc from "fast-check";
import { expect, test } from "vitest";
import { areSameBytes } from "../../../src/engine/access/encoding.ts";
import { base32 } from "../../../src/sandbox/sha256.ts";
import { fromBase64Url, toBase64Url } from "../../../src/tools/base64.ts";
import {
  deriveSessionId,
  objectName,
  createSessionId,
  sessionIdPattern,
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

test("RE-T5: no two pairs of tenant and id share an object name", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.string(), fc.string(), fc.string(), async (a, b, c, d) => {
      const same = (await objectName(a, b)) === (await objectName(c, d));
      const equal = a.toWellFormed() === c.toWellFormed() && b.toWellFormed() === d.toWellFormed();
      expect(same).toBe(equal);
    }),
  );
  expect(await objectName("a", "bc")).not.toBe(await objectName("ab", "c"));
  expect(await objectName("a", "bc")).toMatch(/^[0-9a-f]{64}$/);
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
