import { expect, test } from "vitest";
import { fromBase64, hasOnlyBase64Letters, toBase64, toBase64Url } from "../../src/sandbox/base64.ts";
import { bytesOf } from "../../src/sandbox/worker/shell/files.ts";
import { leastCpuOf } from "../support/cpu.ts";

test("bytes that are a part of a buffer are encoded without what is around them", () => {
  const part = Uint8Array.of(1, 250, 251, 252, 2).subarray(1, 4);
  expect(toBase64(part)).toBe("+vv8");
  expect(toBase64Url(part)).toBe("-vv8");
});

test("decoded bytes have a buffer of their own", () => {
  const bytes = fromBase64("+vv8");
  expect(bytes).toEqual(Uint8Array.of(250, 251, 252));
  expect(bytes.buffer.byteLength).toBe(3);
});

test("base64 may have padding and line breaks; another letter makes a text something else", () => {
  for (const text of ["", "+vv8", "aQ==", "aQ==\n", `${"A".repeat(76)}\nAAAA\n`])
    expect(hasOnlyBase64Letters(text)).toBe(true);
  for (const text of ["-vv8", "%%%%", "data:image/png;base64,aQ==", "ÄÄ=="])
    expect(hasOnlyBase64Letters(text)).toBe(false);
});

test("five megabytes are encoded, decoded and written by a command in little time", async () => {
  const bytes = new Uint8Array(5_000_000).fill(7);
  const work = () => {
    expect(hasOnlyBase64Letters(" ".repeat(bytes.length))).toBe(true);
    expect(fromBase64(toBase64(bytes)).length).toBe(bytes.length);
    expect(bytesOf("\u00ff".repeat(bytes.length), "latin1").length).toBe(bytes.length);
  };
  expect(await leastCpuOf(work)).toBeLessThan(400);
});
