import { expect, test } from "vitest";
import { credentialDigest, matchesDigest, keyIdOf, generateKey } from "../../../src/engine/access/keys.ts";

test("AP-12: an unknown key is compared with a dummy and matches nothing, not even the dummy", async () => {
  const digest = await credentialDigest("lk_x");
  expect(matchesDigest(digest, digest)).toBe(true);
  expect(matchesDigest(digest, null)).toBe(false);
  expect(matchesDigest("0".repeat(64), null)).toBe(false);
  expect(
    matchesDigest(
      digest,
      digest.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
    ),
  ).toBe(false);
  expect(matchesDigest("", digest)).toBe(false);
});

test("AP-12: a key's id stands in its text, and only in a well-formed one", async () => {
  const { id, credential } = await generateKey();
  expect(keyIdOf(credential)).toBe(id);
  for (const text of [
    credential.slice(1),
    `${credential}A`,
    credential.slice(0, -1),
    `${credential}\n`,
    "",
  ]) {
    expect(keyIdOf(text)).toBeNull();
  }
});
