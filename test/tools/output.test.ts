import { expect, test } from "vitest";
import { limitOutput } from "../../src/tools/output.ts";

test("EF-31, SE-18: what is shown of equal outputs does not depend on how long the id of the whole is", () => {
  const text = Array.from({ length: 900 }, (_, n) => `line ${n}`).join("\n");
  const shown = ["b9", "b10", "b99999"].map((id) => limitOutput(text, 300, id).text.replace(id, "b"));
  expect(new Set(shown).size).toBe(1);
  expect([...limitOutput(text, 300, "b99999").text].length).toBeLessThanOrEqual(300);
});
