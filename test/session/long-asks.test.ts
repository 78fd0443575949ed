import { expect, test } from "vitest";
import { fitData } from "../../src/session/event-lines.ts";

test("AP-27: an ask about an input of thousands of fields is cut by its fields, and stays an ask", () => {
  const input = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`field_${at}`, at]));
  const ask = { id: "ask_1", kind: "approval", approval: { tool: "t", input, rule: "ask" } };
  const data = JSON.parse(fitData(JSON.stringify({ ask }))) as { ask?: typeof ask; truncated?: boolean };
  expect(data.truncated).toBe(true);
  expect(data.ask).toMatchObject({ id: "ask_1", kind: "approval", approval: { tool: "t", rule: "ask" } });
  expect(Object.keys(data.ask?.approval.input ?? {})).toEqual(Object.keys(input).slice(0, 512));
});
