import { expect, test } from "vitest";
import { localizeNote } from "../../../src/agent/hooks/briefing.ts";

/** What the note says of the files that were found (SE-38). */

const file = (path: string, lines: readonly string[] | null = null, line = 1) => ({
  path,
  score: 3,
  ...(lines === null ? {} : { snippet: { line, lines } }),
});

test("SE-38: the note names the files with their lines", () => {
  const note = localizeNote([file("src/a.ts", ["one", "two"], 7), file("b.md")]);
  expect(note?.files).toEqual(["src/a.ts", "b.md"]);
  expect(note?.text).toMatch(/\n\nsrc\/a\.ts\n7: one\n8: two\n\nb\.md$/);
  expect(localizeNote([])).toBeNull();
});

test("SE-38: the note has at most 2048 bytes: lines that do not fit are left out, then files", () => {
  const wide = ["é".repeat(400), "é".repeat(400)];
  const files = [file("a.ts", wide), file("b.ts", wide), file(`${"c".repeat(300)}.ts`), file("d.ts")];
  const note = localizeNote(files);
  expect(note?.files).toEqual(["a.ts", "b.ts"]);
  expect(note?.text.match(/é{400}/g)).toHaveLength(2);
  expect(new TextEncoder().encode(note?.text).length).toBeLessThanOrEqual(2048);
  expect(localizeNote([file("x".repeat(2_100))])).toBeNull();
});
