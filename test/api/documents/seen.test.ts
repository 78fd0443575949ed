import { expect, test } from "vitest";
import examples from "../../../src/api/documents/examples.json" with { type: "json" };
import { checkAnswer } from "../../support/documented.ts";

/** The check that all tests of the wire rely on: it must not take what looks like something that it has seen. */

const { run_waiting: waiting } = examples.events;

/** An event whose retry is due then: a number as documented, or not. */
const event = (until: unknown): unknown => ({ ...waiting, data: { on: [{ kind: "retry", until }] } });

const page = (data: readonly unknown[], next: unknown = 2): void =>
  checkAnswer({
    method: "GET",
    path: "/v1/sessions/s_a/events",
    status: 200,
    type: "application/json",
    text: JSON.stringify({ data, head_seq: 2, next_after: next }),
  });

test("a page is refused for any of its elements, also after right ones", () => {
  expect(() => page([event(5)])).not.toThrow();
  expect(() => page([event(5), event(6)])).not.toThrow();
  expect(() => page([event(5), event(6), event("soon")])).toThrow("not what the documents say");
  expect(() => page([event("soon"), event(5)])).toThrow("not what the documents say");
  expect(() => page([event(5), event(6)])).not.toThrow();
});

test("what stands beside the elements of a page is checked with them", () => {
  expect(() => page([event(5), event(6)], "two")).toThrow("not what the documents say");
});
