import { expect, test } from "vitest";
import { titleOf } from "../../src/chat/text.ts";

/** The title that a session has from its first message (AP-17). */

const text = (...texts: readonly string[]) => texts.map((each) => ({ type: "text", text: each }) as const);

test.each([
  ["Fix the build", "Fix the build"],
  ["  Fix\n\n\tthe   build\r\n", "Fix the build"],
  ["a\u0000b\u001b[31mc\u202ed\u2066e", "a b [31mc d e"],
  ["a\u200bb\u200e\u200fc\u061cd\ufeff", "a b c d"],
  ["x".repeat(60), "x".repeat(60)],
  ["x".repeat(61), `${"x".repeat(60)}…`],
  [`${"word ".repeat(12)}more`, `${"word ".repeat(11)}word…`],
  [`${"x".repeat(60)} more`, `${"x".repeat(60)}…`],
  ["🧑‍🌾".repeat(30), `${"🧑‍🌾".repeat(20)}…`],
  ["x ".repeat(600_000), `${"x ".repeat(29)}x…`],
])("AP-17: %j is named in one line", (given, title) => {
  expect(titleOf(text(given))).toBe(title);
});

test("AP-17: a text of nothing visible names nothing", () => {
  expect(titleOf(text("\u200b\u2060\u200d \u00ad"))).toBeNull();
});

test("AP-17: parts are one text, and a message without text names nothing", () => {
  expect(titleOf(text("See", "this"))).toBe("See this");
  expect(titleOf([{ type: "image", media_type: "image/png", blob: "b1" }])).toBeNull();
});
