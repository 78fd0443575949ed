import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cleanText, firstCharacters, hasContent, preview, textOf } from "../../src/chat/text.ts";
import { textResult } from "../../src/chat/results.ts";

test("SE-2: lone surrogates become U+FFFD and NUL is dropped", () => {
  expect(cleanText("a\ud800b\0c\udc00")).toBe("a\ufffdbc\ufffd");
  expect(cleanText("😀")).toBe("😀");
});

test("SE-0: no cut splits a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(20), (text, count) => {
      const cut = firstCharacters(text, count);
      expect([...cut].length).toBeLessThanOrEqual(Math.max(count, 0));
      expect(text.startsWith(cut)).toBe(true);
      expect(cut.isWellFormed()).toBe(text.isWellFormed());
    }),
    { numRuns: 5_000, seed: 1 },
  );
  expect(firstCharacters("😀😀😀", 2)).toBe("😀😀");
});

test("AP-27: a preview is one line of at most 120 characters", () => {
  expect(preview("a\n\n b\tc ")).toBe("a b c");
  expect([...preview("😀".repeat(500))]).toHaveLength(120);
  for (const blanks of [477, 478, 479]) expect(preview(`x${" ".repeat(blanks)}😀`).isWellFormed()).toBe(true);
});

test("SE-6d: blank text and reasoning alone are no content; media, calls and results are", () => {
  expect(
    hasContent({
      parts: [
        { type: "text", text: " \n" },
        { type: "reasoning", text: "x", model: "m" },
      ],
    }),
  ).toBe(false);
  expect(hasContent({ parts: [] })).toBe(false);
  expect(hasContent({ parts: [{ type: "tool_call", id: "a", name: "n", args: "" }] })).toBe(true);
  expect(hasContent({ parts: [{ type: "image", media_type: "image/png", blob: "m1" }] })).toBe(true);
});

test("SE-2: reasoning is no part of an answer", () => {
  expect(
    textOf([
      { type: "reasoning", text: "x", model: "m" },
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ]),
  ).toBe("ab");
});

test("SE-6d: an empty output still says something", () => {
  expect(textResult({ id: "c", name: "n" }, "ok", "").content).toEqual([
    { type: "text", text: "(no output)" },
  ]);
});
