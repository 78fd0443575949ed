import { expect, test } from "vitest";
import type { Json } from "../../src/chat/message.ts";
import { fitData, showEvents } from "../../src/session/event-lines.ts";

const approvalOf = (input: Json) => ({
  id: "ask_1",
  kind: "approval",
  approval: { tool: "t", input, rule: "ask" },
});

test("AP-27: an ask about an input of thousands of fields is cut by its fields, and stays an ask", () => {
  const input = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`field_${at}`, at]));
  const ask = approvalOf(input);
  const data = JSON.parse(fitData(JSON.stringify({ ask }))) as { ask?: typeof ask; truncated?: boolean };
  expect(data.truncated).toBe(true);
  expect(data.ask).toMatchObject({ id: "ask_1", kind: "approval", approval: { tool: "t", rule: "ask" } });
  expect(Object.keys(data.ask?.approval.input ?? {})).toEqual(Object.keys(input).slice(0, 512));
});

/** An object with so many fields on each level, which end in texts. */
const treeOf = (depth: number): Json =>
  depth === 0
    ? "x".repeat(60)
    : Object.fromEntries(Array.from({ length: 24 }, (_, at) => [`field_${at}`, treeOf(depth - 1)]));

test.each([
  ["of many fields on each level", treeOf(3)],
  ["with a field whose name is as long as an event", { ["n".repeat(70_000)]: 1 }],
])("★ AP-27 AP-19: an ask about an input %s stays an ask, whoever looks at it", (_what, input) => {
  const ask = approvalOf(input);
  const data = fitData(JSON.stringify({ ask }));
  expect(data.length).toBeLessThanOrEqual(65_536);
  const line = `{"v":1,"seq":1,"id":"s_1:1","at":1,"session":"s_1","type":"ask_user","thread":"main","data":${data}}`;
  for (const scopes of [["asks:answer"], ["approvals:decide"]] as const) {
    const [shown = ""] = showEvents([line], { scopes });
    expect(JSON.parse(shown)).toMatchObject({
      data: {
        truncated: true,
        ask: { id: "ask_1", kind: "approval", approval: { tool: "t", rule: "ask", input: {} } },
      },
    });
  }
});
