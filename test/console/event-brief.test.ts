import { expect, test } from "vitest";
import { describeEvent } from "../../src/console/run/event-brief.ts";

/** What a row of the events says beside the event's type. */

const describe = (data: object): string => describeEvent({ data } as Parameters<typeof describeEvent>[0]);

test.each([
  [{ tool: "fs_read", call: "c1", outcome: "ok", output: "# Tides" }, "fs_read · ok"],
  [{ message: { role: "user", parts: [{ type: "text", text: "Look\nat  main" }] } }, "Look at main"],
  [{ code: "overloaded", message: "HTTP 529" }, "overloaded · HTTP 529"],
  [{ server: "tides", state: "failed", error: "HTTP 502" }, "tides · failed"],
  [{ state: "completed", reason: "done", result: {} }, "completed"],
  [{ content: [{ type: "text", text: "hello" }], on_busy: "reject" }, "hello"],
  [{ usage: { total: 5 } }, ""],
  [{}, ""],
])("AP-54: the row of an event says what it is about, %#", (data, said) => {
  expect(describe(data)).toBe(said);
});

test("AP-54: the row of an event is one short line that splits no character", () => {
  const line = describe({ text: "🐚".repeat(300) });
  expect(line).toBe(`${"🐚".repeat(79)}…`);
  expect(describe({ text: "🐚".repeat(80) })).toBe("🐚".repeat(80));
});
