import { expect, test } from "vitest";
import { readAnswer } from "../../src/cli/client/asks.ts";
import { oneLine, toPlainText, shortInput } from "../../src/cli/client/plain.ts";
import type { Ask } from "../../src/agent/state/ask.ts";

test("AP-53: foreign text cannot move the cursor, change colours or hide what stands there", () => {
  expect(toPlainText("\u001b[2J\u001b]0;title\u0007rm \u202etxt.exe\u200b")).toBe(
    "\\u001b[2J\\u001b]0;title\\u0007rm \\u202etxt.exe\\u200b",
  );
  expect(toPlainText("two\n\tlines, ünï👩‍👧")).toBe("two\n\tlines, ünï👩‍👧");
});

test("AP-53: inputs are reduced to a command or a path, lines to their length in characters", () => {
  expect(shortInput({ command: "npm", args: ["run", "a b"] })).toBe("npm run a b");
  expect(shortInput({ content: "long", path: "src/a.ts" })).toBe("src/a.ts");
  expect(shortInput({ depth: 1, label: "x" })).toBe("x");
  expect(shortInput("{ broken")).toBe("{ broken");
  expect(shortInput({})).toBe("");
  expect([...oneLine("👩".repeat(500))]).toHaveLength(120);
});

const ask: Omit<Ask, "id"> = {
  kind: "approval",
  thread: "main",
  run: "run_1",
  call: "c1",
  status: "open",
  opened_at: 0,
  seq: 1,
  expires_at: 1,
};
const approval: Ask = { ...ask, id: "a", approval: { tool: "exec_run", input: {}, rule: "ask" } };
const budget: Ask = {
  ...ask,
  id: "b",
  kind: "budget",
  budget: { scope: "session", kind: "max_tokens", limit: 10, spent: 9, least: 12 },
};

test.each([
  [approval, "y", { decision: "approve" }],
  [approval, "s", { decision: "approve", remember: "session" }],
  [approval, "n too risky", { decision: "deny", message: "too risky" }],
  [approval, 'e {"command":"ls"}', { decision: "edit", input: { command: "ls" } }],
  [approval, "e ls", 'after e comes JSON, such as e {"path":"a.md"}'],
  [approval, "", "type y, n, s or e"],
  [budget, "20", { decision: "approve", limit: 20 }],
  [budget, "n", { decision: "deny" }],
  [budget, "lots", "type a number, or n"],
])("AP-53 AP-19: an answer is read as it is meant, %#", (about, line, answer) => {
  expect(readAnswer(about, line)).toEqual(answer);
});
