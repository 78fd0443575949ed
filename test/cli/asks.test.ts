import { expect, test } from "vitest";
import { askLines, readAnswer } from "../../src/cli/client/asks.ts";

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
