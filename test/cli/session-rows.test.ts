import { expect, test } from "vitest";
import { noUsage } from "../../src/agent/state/budget.ts";
import { localTime, sessionLines } from "../../src/cli/client/session-rows.ts";

type Summary = Parameters<typeof sessionLines>[0][number];

const now = new Date(2026, 10, 27, 18, 30, 0).getTime();

const summary = (id: string, at: Date, calls: number, more: Partial<Summary> = {}): Summary => ({
  id: `s_${id.repeat(26)}`,
  ref: null,
  agent: "guide",
  title: "hello",
  metadata: {},
  status: "idle",
  revision: "r",
  head_seq: 9,
  created_at: 0,
  updated_at: at.getTime(),
  usage: { ...noUsage, calls, cost_usd: 0.00012, estimated: false },
  last_end: null,
  ...more,
});

test("AP-53: sessions with the same title are told apart by their last activity and their model calls", () => {
  const lines = sessionLines(
    [summary("a", new Date(2026, 10, 27, 18, 22, 5), 1), summary("b", new Date(2026, 10, 27, 18, 22, 41), 3)],
    now,
  );
  expect(lines.map((line) => line.replace(/^s_\S+ +/, ""))).toEqual([
    "idle  guide  18:22:05  1 call   $0.00012  hello",
    "idle  guide  18:22:41  3 calls  $0.00012  hello",
  ]);
});

test("AP-53: a session is one row with 40 characters of its title, however long its state and its agent are", () => {
  const [long = "", short = ""] = sessionLines(
    [
      summary("a", new Date(2026, 0, 2, 3, 4), 12, {
        title: `two\nlines ${"x".repeat(300)}`,
        agent: "a".repeat(60),
        last_end: { state: "failed", reason: "budget_exceeded" },
      }),
      summary("b", new Date(2026, 0, 2, 3, 5), 2),
    ],
    now,
  );
  expect(long).toMatch(/ {2}two lines x{29}…$/);
  expect(long).not.toContain("\n");
  expect(long).toContain("failed: budget_exceeded");
  expect(long).toContain("01-02 03:04  12 calls");
  expect(short).toContain("01-02 03:05  2 calls");
});

test("AP-53: a time says the day where that is another one, and the year", () => {
  expect(localTime(new Date(2026, 10, 26, 18, 22, 5).getTime(), now)).toBe("11-26 18:22");
  expect(localTime(new Date(2025, 10, 27, 18, 22).getTime(), now)).toBe("2025-11-27");
});
