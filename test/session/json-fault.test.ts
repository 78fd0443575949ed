import * as fc from "fast-check";
import { expect, test } from "vitest";
import { depthOf } from "../../src/chat/json.ts";
import { findJsonFault, positionIn } from "../../src/session/mistakes.ts";

/** Where a text stops being JSON (AP-2). */

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

test.each([
  ["", 0],
  ["  ", 2],
  ["{", 1],
  ['{"a"', 4],
  ['{"a":', 5],
  ['{"a":1,', 7],
  ['{"a":1,}', 7],
  ["{'a':1}", 1],
  ["{}x", 2],
  ["[1 2]", 3],
  ["[1,]", 3],
  ["01", 1],
  ["1.", 1],
  ["-", 0],
  ["NaN", 0],
  ["tru", 0],
  ['"a', 2],
  ['"a\nb"', 2],
  [String.raw`"a\x"`, 2],
  [String.raw`"a\u12"`, 2],
  ["\u00a01", 0],
  ['{"a":[1,{"b":]}', 13],
])("AP-2: %j stops being JSON at %i", (text, at) => {
  expect(findJsonFault(text, 64)).toBe(at);
});

test("AP-2 AP-8: what nests too deep is at fault where it goes too deep", () => {
  const nested = (depth: number): string => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  expect([findJsonFault(nested(64), 64), findJsonFault(nested(65), 64)]).toEqual([null, 68]);
  expect(findJsonFault("[".repeat(1_000_000), 64)).toBe(64);
});

test("AP-2: a text is at fault exactly where it is no JSON, and all before the fault could have gone on", () => {
  const broken = fc
    .tuple(
      fc.json({ maxDepth: 5 }),
      fc.nat(),
      fc.constantFrom("", '"', "\\", "{", "]", ",", ":", "0", "e", "\u0001", " "),
    )
    .map(([text, at, piece]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + piece + text.slice(place + 1);
    });
  fc.assert(
    fc.property(fc.oneof(broken, fc.json(), fc.string()), (text) => {
      const fault = findJsonFault(text, 64);
      expect(fault === null).toBe(parses(text) && depthOf(text) <= 64);
      if (fault === null) return;
      expect([null, fault]).toContain(findJsonFault(text.slice(0, fault), 64));
    }),
    { numRuns: 5000 },
  );
});

test("AP-2: a place is a line and a column, both from 1", () => {
  expect(positionIn("", 0)).toEqual({ line: 1, column: 1 });
  expect(positionIn('{\n  "a": x\n}', 9)).toEqual({ line: 2, column: 8 });
  expect(positionIn("a\r\nb", 3)).toEqual({ line: 2, column: 1 });
  expect(positionIn("a\n", 2)).toEqual({ line: 2, column: 1 });
});

test("AP-2: eight megabytes of escapes are searched in a moment", () => {
  const text = `{"a":"${String.raw`\n`.repeat(4_000_000)}`;
  expect(findJsonFault(text, 64)).toBe(text.length);
});
