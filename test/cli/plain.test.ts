import { expect, test } from "vitest";
import { eventLine } from "../../src/cli/client/event-line.ts";
import { readAnswer } from "../../src/cli/client/asks.ts";
import { money, oneLine, toPlainText, shortInput } from "../../src/cli/client/plain.ts";
import type { Json } from "../../src/chat/message.ts";
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

const end = (outcome: "ok" | "error", output: Json): string | null =>
  eventLine(
    {
      v: 1,
      id: "e_7",
      seq: 7,
      at: 0,
      type: "tool_call_end",
      session: "s_1",
      run: "r_1",
      thread: "main",
      agent: { name: "helper", prefix: "" },
      data: { tool: "tide_at", outcome, output, duration_ms: 15, cached: false, truncated: false },
    },
    false,
  );

test("AP-53: a call that failed is told with the beginning of its text, in the same line", () => {
  const line = "7 00:00:00 tool_call_end tide_at";
  expect(end("ok", "low")).toBe(`${line} ok 15 ms`);
  expect(end("error", "no tide\nat this hour")).toBe(`${line} error 15 ms no tide at this hour`);
  expect(
    end("error", [
      { type: "text", text: "no" },
      { type: "text", text: "tide" },
    ]),
  ).toBe(`${line} error 15 ms no tide`);
  expect(end("error", { hour: 25 })).toBe(`${line} error 15 ms {"hour":25}`);
  expect([...(end("error", "x".repeat(500)) ?? "")].length).toBeLessThanOrEqual(140);
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
const remember = { tool: "exec_run", pattern: "*" };
const approval: Ask = { ...ask, id: "a", approval: { tool: "exec_run", input: {}, rule: "ask", remember } };
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
  [approval, "e ls", 'write JSON after e, such as e {"path":"a.md"}'],
  [approval, "", "type y, n, s or e; Ctrl-D leaves, and the session waits"],
  [budget, "20", { decision: "approve", limit: 20 }],
  [budget, "n", { decision: "deny" }],
  [budget, "lots", "type a number, or n"],
])("AP-53 AP-19: an answer is read as it is meant, %#", (about, line, answer) => {
  expect(readAnswer(about, line)).toEqual(answer);
});

test("AP-53: a cost is written in cents, or in two digits of less than a cent, and never with an exponent", () => {
  const costs = [null, 0, 0.000_000_3, 0.000_012, 0.0042, 0.009_99, 1.234];
  expect(costs.map(money)).toEqual(["", "", "<$0.00001", "$0.000012", "$0.0042", "$0.01", "$1.23"]);
});
