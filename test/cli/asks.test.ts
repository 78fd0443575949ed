import { expect, test } from "vitest";
import { askLines, commandLines, readAnswer } from "../../src/cli/client/asks.ts";

/** What a person in a terminal may type where they are asked (AP-53). */

type OpenAsk = Parameters<typeof askLines>[0];

const question = (strict: boolean): OpenAsk => ({
  id: "a1",
  thread: "main",
  run: "r1",
  call: "c1",
  kind: "question",
  status: "open",
  opened_at: 0,
  seq: 1,
  expires_at: 1,
  question: { text: "Which tide?", options: ["low", "high", "spring"], multi_select: false, strict },
});

test("AP-53: a question that takes its options only refuses everything else", () => {
  expect(askLines(question(true)).at(-1)).toBe("  Type the number of an option.");
  expect(readAnswer(question(true), "9")).toBe("there are 3 options; type a number from 1 to 3");
  expect(readAnswer(question(true), "neap")).toBe("there are 3 options; type a number from 1 to 3");
  expect(readAnswer(question(true), " 2 ")).toEqual({ decision: "answer", selections: ["high"] });
  expect(readAnswer(question(true), "spring")).toEqual({ decision: "answer", selections: ["spring"] });
});

test("AP-53: a question that takes free text takes a number beyond its options as text", () => {
  expect(askLines(question(false)).at(-1)).toBe("  Type the answer, or its number.");
  expect(readAnswer(question(false), "9")).toEqual({ decision: "answer", text: "9" });
  expect(readAnswer(question(false), "neap")).toEqual({ decision: "answer", text: "neap" });
});

const opened = {
  id: "a1",
  thread: "main",
  run: "r1",
  call: "c1",
  status: "open",
  opened_at: 0,
  seq: 1,
} as const;

test.each<[string, OpenAsk, readonly string[]]>([
  ["a question", question(false), ["answer <text or number>"]],
  ["a question that takes its options only", question(true), ["answer <number>"]],
  [
    "an approval",
    { ...opened, expires_at: 1, kind: "approval", approval: { tool: "t", input: {}, rule: "ask" } },
    ["approve", "deny [reason]", "edit <json>"],
  ],
  [
    "an approval that can be remembered",
    {
      ...opened,
      expires_at: 1,
      kind: "approval",
      approval: { tool: "t", input: {}, rule: "ask", remember: { tool: "t", pattern: "*" } },
    },
    ["approve", "approve --remember session", "deny [reason]", "edit <json>"],
  ],
  [
    "a budget",
    {
      ...opened,
      expires_at: 1,
      kind: "budget",
      budget: { scope: "session", kind: "max_tokens", limit: 10, spent: 9, least: 12 },
    },
    ["approve --limit <12 or more>", "deny"],
  ],
])("AP-53: outside a conversation %s is shown with the commands that answer it", (_, ask, decisions) => {
  const lines = commandLines("s_1", ask);
  expect(lines[0]).toBe(askLines(ask)[0]);
  expect(lines.filter((line) => line.includes("npx"))).toEqual(
    decisions.map((decision) => `  npx limpet answer s_1 a1 ${decision}`),
  );
  expect(lines).not.toContain(askLines(ask).at(-1));
});
