import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { sha256Hex, shortDigest } from "../../src/sandbox/sha256.ts";

const expected = (input: string | Uint8Array): string => createHash("sha256").update(input).digest("hex");

test("TB-16: hashes are SHA-256 at every length around its blocks, of texts, bytes and parts of a buffer", () => {
  for (let length = 0; length < 200; length++) {
    const text = "aé€😀z".repeat(length).slice(0, length);
    const bytes = Uint8Array.from({ length }, (_, index) => index * 7 + length);
    expect(sha256Hex(text)).toBe(expected(text));
    expect(sha256Hex(bytes)).toBe(expected(bytes));
    expect(sha256Hex(bytes.subarray(3))).toBe(expected(bytes.subarray(3)));
  }
});

test("EF-31: a short digest is the first 96 bits as base64url, for short and long texts", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 2_730, 2_731, 9_000, 100_000]) {
    const text = "aé€😀z".repeat(length).slice(0, length);
    const whole = createHash("sha256").update(text.toWellFormed()).digest("base64url");
    expect(shortDigest(text)).toBe(whole.slice(0, 16));
  }
});
