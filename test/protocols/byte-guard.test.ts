import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createByteGuard } from "../../src/protocols/body-gatherer.ts";

const limits = { line: 8, reply: 40 };
const verdict = (chunks: readonly Uint8Array[]): string | null => {
  const guard = createByteGuard(limits);
  for (const chunk of chunks) {
    const broken = guard(chunk);
    if (broken !== null) return broken;
  }
  return null;
};

test.each([
  ["12345678\n12345678\n", null],
  ["123456789", "line"],
  ["1\n123456789\n1", "line"],
  ["1\n12345678", null],
  ["\n".repeat(40), null],
  ["\n".repeat(41), "reply"],
])("MO-20: %j is %s", (text, expected) => {
  expect(verdict([Buffer.from(text)])).toBe(expected);
});

test("MO-20: the verdict on a line does not depend on the cut, and bytes count, not characters", () => {
  const text = fc
    .array(fc.constantFrom("a", "ü", "\n", "\n"), { maxLength: 24 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 6 }), (whole, cuts) => {
      const bytes = Buffer.from(whole);
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.byteLength];
      const chunks = edges.slice(1).map((edge, n) => bytes.subarray(edges[n], edge));
      const longest = Math.max(...whole.split("\n").map((line) => Buffer.byteLength(line)));
      const expected = longest > limits.line ? "line" : bytes.byteLength > limits.reply ? "reply" : null;
      expect(verdict(chunks) === null).toBe(expected === null);
    }),
    { numRuns: 2000 },
  );
});
