import { expect, test } from "vitest";
import {
  truncateEnd,
  truncateMiddle,
  maskText,
  toolResultOf,
  withReferences,
} from "../../src/effects/shortened/texts.ts";
import type { Message, ToolResultPart } from "../../src/chat/message.ts";

const result = (text: string, more: ToolResultPart["content"] = []): ToolResultPart => ({
  type: "tool_result",
  call: "c1",
  name: "read",
  status: "ok",
  content: [{ type: "text", text }, ...more],
});

test("EF-12: a long text keeps its first characters and says that it was cut", () => {
  expect(truncateEnd("0123456789abc", 10)).toBe("0123456789… [trimmed]");
  expect(truncateEnd("0123456789", 10)).toBe("0123456789");
  expect(truncateEnd("abc", 0)).toBe("… [trimmed]");
});

test("EF-19: beginning and end stay, and what lies between is counted", () => {
  expect(truncateMiddle("a".repeat(600) + "b".repeat(400), 100)).toBe(
    `${"a".repeat(60)}\n[… 900 characters left out …]\n${"b".repeat(40)}`,
  );
  expect(truncateMiddle("a".repeat(100), 100)).toBe("a".repeat(100));
});

test("no cut splits a character, and lengths are code points", () => {
  expect(truncateEnd("🐚".repeat(10), 10)).toBe("🐚".repeat(10));
  expect(truncateEnd("🐚".repeat(11), 10)).toBe(`${"🐚".repeat(10)}… [trimmed]`);
  const cut = truncateMiddle(`a${"🐚".repeat(50)}b`, 10);
  expect(cut.isWellFormed()).toBe(true);
  expect(cut).toBe(`a${"🐚".repeat(5)}\n[… 42 characters left out …]\n${"🐚".repeat(3)}b`);
});

test("EF-13: a mask is one line with the tool's name and the first 80 characters", () => {
  expect(maskText({ id: "m1" }, result(`one\n  two ${"x".repeat(100)}`))).toBe(
    `[tool result for read: one two ${"x".repeat(72)}]`,
  );
});

test("SE-2: media that are not shown leave a reference", () => {
  const image = { type: "image", blob: "b1", media_type: "image/png" } as const;
  expect(maskText({ id: "m1" }, result("seen", [image]))).toBe("[tool result for read: seen]\n[image m1]");
  expect(withReferences({ id: "m1" }, [image], "")).toBe("[image m1]");
});

test("only a tool message has a result", () => {
  const part = result("x");
  const message = (role: Message["role"]) => ({ role, parts: [part] });
  expect(toolResultOf(message("tool"))).toBe(part);
  expect(toolResultOf(message("user"))).toBeNull();
});
