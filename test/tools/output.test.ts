import { expect, test } from "vitest";
import { countCharacters, firstCharacters, lastCharacters } from "../../src/chat/text.ts";
import { limitOutput } from "../../src/tools/output.ts";

test("EF-31, SE-18: what is shown of equal outputs does not depend on how long the id of the whole is", () => {
  const text = Array.from({ length: 900 }, (_, n) => `line ${n}`).join("\n");
  const shown = ["b9", "b10", "b99999"].map((id) => limitOutput(text, 300, id).text.replace(id, "b"));
  expect(new Set(shown).size).toBe(1);
  expect([...limitOutput(text, 300, "b99999").text].length).toBeLessThanOrEqual(300);
});

test("SE-18: an output of many characters is cut without splitting one", () => {
  const text = `${"🌊".repeat(3_000_000)}end`;
  const { text: shown, omitted, full } = limitOutput(text, 101, "b1");
  expect(shown).toMatch(/^(🌊)+ … \[\d+ characters omitted; recall\("b1"\) has the full text\] … (🌊)+end$/u);
  expect(countCharacters(shown)).toBeLessThanOrEqual(101);
  expect(countCharacters(shown.replace(/ … .* … /, "")) + omitted).toBe(3_000_003);
  expect(full).toBe(text);
});

test("SE-18: characters are counted and cut as the language iterates them, lone halves of one included", () => {
  const units = ["a", "\ud83c", "\udf0a", "🌊"];
  const texts = units.flatMap((a) =>
    units.flatMap((b) => units.flatMap((c) => units.map((d) => a + b + c + d))),
  );
  for (const text of texts) {
    const points = [...text];
    expect(countCharacters(text)).toBe(points.length);
    for (let count = 0; count <= 5; count++) {
      expect(firstCharacters(text, count)).toBe(points.slice(0, count).join(""));
      expect(lastCharacters(text, count)).toBe(count === 0 ? "" : points.slice(-count).join(""));
    }
  }
});
