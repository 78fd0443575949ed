import { expect, test } from "vitest";
import type { Json } from "../../src/chat/message.ts";
import { askLines, commandLines, readAnswer } from "../../src/cli/client/asks.ts";

/** What a person in a terminal may type where they are asked (AP-53). */

type OpenAsk = Parameters<typeof askLines>[2];

const write = (words: string): string => `npx limpet ${words}`;

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
  expect(askLines(write, "s_1", question(true)).at(-1)).toBe("  Type the number of an option.");
  expect(readAnswer(question(true), "9")).toBe("there are 3 options; type a number from 1 to 3");
  expect(readAnswer(question(true), "neap")).toBe("there are 3 options; type a number from 1 to 3");
  expect(readAnswer(question(true), " 2 ")).toEqual({ decision: "answer", selections: ["high"] });
  expect(readAnswer(question(true), "spring")).toEqual({ decision: "answer", selections: ["spring"] });
});

test("AP-53: a question that takes free text takes a number beyond its options as text", () => {
  expect(askLines(write, "s_1", question(false)).at(-1)).toBe("  Type the answer, or its number.");
  expect(readAnswer(question(false), "9")).toEqual({ decision: "answer", text: "9" });
  expect(readAnswer(question(false), "neap")).toEqual({ decision: "answer", text: "neap" });
});

test("AP-53: an option that reads as a number is that option, and the question says so", () => {
  const numbers = { text: "How many?", options: ["2", "4", "8"], multi_select: true, strict: true };
  const ask: OpenAsk = { ...question(true), question: numbers };
  const choose = (line: string) => readAnswer(ask, line);
  expect(choose("2")).toEqual({ decision: "answer", selections: ["2"] });
  expect(choose("3")).toEqual({ decision: "answer", selections: ["8"] });
  expect(choose("2, 8")).toEqual({ decision: "answer", selections: ["2", "8"] });
  const words = "  What is typed counts as an option itself before it counts as a number.";
  for (const lines of [askLines(write, "s_1", ask), commandLines(write, "s_1", ask)])
    expect(lines).toContain(words);
  expect(askLines(write, "s_1", question(true))).not.toContain(words);
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
  const lines = commandLines(write, "s_1", ask);
  expect(lines[0]).toBe(askLines(write, "s_1", ask)[0]);
  expect(lines.filter((line) => line.includes("npx"))).toEqual(
    decisions.map((decision) => `  npx limpet answer s_1 a1 ${decision}`),
  );
  expect(lines).not.toContain(askLines(write, "s_1", ask).at(-1));
});

test.each([
  [9, "? The session has used 9 of 10 (max_tokens), and its next step may need more than is left."],
  [10, "? The session has used 10 of 10 (max_tokens)."],
])("AP-53: a limit of 10 of which %s are used is asked about with the reason", (spent, line) => {
  const budget = { scope: "session", kind: "max_tokens", limit: 10, spent, least: 12 } as const;
  expect(askLines(write, "s_1", { ...opened, expires_at: 1, kind: "budget", budget })[0]).toBe(line);
});

test.each<[string, string, Json, readonly string[]]>([
  [
    "a command",
    "exec_run",
    { command: "git", args: ["commit", "-m", "it's done"], cwd: "src" },
    [String.raw`  $ git commit -m 'it'\''s done'`, "  cwd: src"],
  ],
  ["a script", "exec_shell", { script: "cd src\nls\n" }, ["  script:", "  $ cd src", "  $ ls"]],
  [
    "a change of a file",
    "fs_edit",
    { path: "a.md", old_text: "low\ntide", new_text: "high" },
    ["  path: a.md", "  old_text:", "  - low", "  - tide", "  new_text:", "  + high"],
  ],
  [
    "what characters would hide",
    "pay",
    { "a\nb": 1, amount: 3, to: "b\u202eob", note: "a\u001b[2Kb\nc", more: { at: ["x"] } },
    [
      '  "a\\nb": 1',
      "  amount: 3",
      "  to: b\\u202eob",
      "  note:",
      "    a\\u001b[2Kb",
      "    c",
      '  more: {"at":["x"]}',
    ],
  ],
  ["a text instead of fields", "pay", "all", ['  "all"']],
  ["arguments that are none", "exec_run", { command: "ls", args: "-a" }, ["  command: ls", "  args: -a"]],
])("AP-53: an approval shows all of %s as people read it", (_, tool, input, lines) => {
  const ask: OpenAsk = { ...opened, expires_at: 1, kind: "approval", approval: { tool, input, rule: "ask" } };
  expect(askLines(write, "s_1", ask).slice(1, -1)).toEqual(lines);
});

test("AP-53: a question that takes several options takes their numbers, as many as it allows", () => {
  const several = {
    text: "Which?",
    options: ["low", "high", "spring"],
    multi_select: true,
    max_selections: 2,
  };
  const ask = (strict: boolean): OpenAsk => ({ ...question(strict), question: { ...several, strict } });
  expect(askLines(write, "s_1", ask(true)).at(-1)).toBe(
    "  Type the numbers of up to 2 options, such as 1,2.",
  );
  expect(readAnswer(ask(true), "1, 3")).toEqual({ decision: "answer", selections: ["low", "spring"] });
  expect(readAnswer(ask(true), "1 3 1")).toEqual({ decision: "answer", selections: ["low", "spring"] });
  expect(readAnswer(ask(true), "1,2,3")).toBe("3 are too many; type up to 2 numbers");
  expect(readAnswer(ask(true), "1,9")).toBe("there are 3 options; type numbers from 1 to 3");
  expect(readAnswer(ask(false), "none of 2")).toEqual({ decision: "answer", text: "none of 2" });
});

test("AP-53: what cannot be remembered is not offered so, and what is shown in part is not allowed", () => {
  const ask: OpenAsk = {
    ...opened,
    expires_at: 1,
    kind: "approval",
    approval: { tool: "t", input: {}, rule: "ask" },
  };
  expect(askLines(write, "s_1", ask).at(-1)).not.toContain("s allows it");
  expect(readAnswer(ask, "s")).toBe("this cannot be remembered; y allows it once");
  expect(readAnswer(ask, "what")).toBe("type y, n or e; Ctrl-D leaves, and the session waits");
  const long = { ...ask, truncated: true };
  expect(askLines(write, "s_1", long).join(" ")).toContain("npx limpet asks s_1 shows all of it");
  for (const line of ["y", 'e {"a":1}'])
    expect(readAnswer(long, line)).toBe(
      "it was shown in part: look at all of it first, by the command above",
    );
  expect(readAnswer(long, "n no")).toEqual({ decision: "deny", message: "no" });
});
