import { expect, test } from "vitest";
import type { ReserveAnswer } from "../../../src/model/gate.ts";
import { scripted } from "../../support/scripts.ts";
import { ends, onlyAsk } from "../loop/play.ts";
import type { Limits, Stage } from "./gate-play.ts";
import { openStage, raiseWanted, yamlOf } from "./gate-play.ts";

/** A session at its provider's gate (MO-29): what it booked is used or given back, whatever becomes of it. */

const open = (
  given: Limits,
  { provider = "", first = [] }: { provider?: string; first?: ReserveAnswer[] } = {},
): Promise<Stage> => {
  const yaml = scripted("replies: [{ reply: [{ text: Done. }] }]").replace(
    "context_window: 128000",
    `${provider === "" ? "context_window: 128000" : provider}\n    rate_limit: ${yamlOf(given)}`,
  );
  return openStage(yaml, given, { first });
};

test("MO-29: a call that a crash cut off holds its slot no longer", async () => {
  const { bench, die } = await open({ max_concurrent: 1 });
  bench.hold = true;
  bench.send("Go");
  await bench.steps();
  expect(bench.requests).toHaveLength(1);
  await die();
  bench.hold = false;
  bench.release();
  await bench.pass(5_000);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("MO-29: a wait that is cancelled after an eviction gives its place back", async () => {
  const { bench, die, other } = await open({ rpm: 1 });
  const { startAt } = other("before");
  bench.send("Go");
  await bench.idle();
  expect(bench.alarm()).toBe(startAt + 60_000);
  await die();
  bench.ok("cancel");
  await bench.idle();
  expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  expect(other("behind").startAt).toBe(startAt + 60_000);
});

test("MO-29: who is queued asks again, also if the answer came late", async () => {
  const late = { status: "queued", startAt: 1 } as const;
  const { bench, asked } = await open({ max_concurrent: 1 }, { first: [late] });
  bench.send("Go");
  await bench.idle();
  await bench.pass(1_000);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(asked).toHaveLength(2);
  expect(new Set(asked).size).toBe(1);
});

test("MO-29: a history that outgrew the window gives its place back", async () => {
  const { bench, other } = await open({ max_concurrent: 1 }, { provider: "context_window: 16000" });
  bench.send("word ".repeat(11_900));
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(other("next").status).toBe("booked");
});

test("MO-29: a call that is cancelled while the gate is asked gives its place back unused", async () => {
  const { bench, gate } = await open({ rpm: 1 });
  bench.send("Go");
  bench.ok("cancel");
  await bench.idle();
  expect(bench.requests).toEqual([]);
  expect(gate().bookings).toEqual([]);
});

test("MO-29 MO-38: an attempt that goes elsewhere after its wait gives its place back", async () => {
  const yaml = (provider: string): string =>
    scripted("replies: [{ reply: [{ text: Done. }] }]").replace("context_window: 128000", provider);
  const spare =
    "  - { name: spare, kind: scripted, model: spare, script: { script: 1, replies: [{ reply: [{ text: Spare. }] }] } }\nagents:";
  const given = { rpm: 1 };
  const { bench, gate, other } = await openStage(
    yaml("rate_limit: { rpm: 1 }").replace("agents:", spare),
    given,
  );
  const { startAt } = other("before");
  bench.send("Go");
  await bench.idle();
  bench.ok("patch", { model: "spare" });
  await bench.pass(startAt + 60_000 - bench.now());
  expect(bench.requests.map(({ model }) => model)).toEqual(["spare"]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(gate().bookings.map(({ id }) => id)).toEqual(["before"]);
});

test("MO-29 RE-P14: a session that is deleted while it waits gives its place back", async () => {
  const { bench, other } = await open({ rpm: 1 });
  const { startAt } = other("before");
  bench.send("Go");
  await bench.idle();
  expect(bench.alarm()).toBe(startAt + 60_000);
  bench.ok("delete");
  expect(other("behind").startAt).toBe(startAt + 60_000);
});

test("MO-29 RE-P14: a session that is deleted while the gate is asked gives its place back", async () => {
  const { bench, gate } = await open({ max_concurrent: 1 });
  bench.send("Go");
  bench.ok("delete");
  await bench.steps();
  expect(bench.requests).toEqual([]);
  expect(gate().bookings).toEqual([]);
});

test("MO-29 RE-P14: a session that is deleted under way frees its slot", async () => {
  const { bench, gate } = await open({ max_concurrent: 1 });
  bench.hold = true;
  bench.send("Go");
  await bench.steps();
  expect(gate().bookings.map(({ leaseUntil }) => leaseUntil > 0)).toEqual([true]);
  bench.ok("delete");
  await bench.steps();
  expect(gate().bookings.map(({ leaseUntil }) => leaseUntil > 0)).toEqual([false]);
});

test("MO-29 MO-38: a call that a crash cut off holds its slot no longer, though another model was chosen meanwhile", async () => {
  const spare =
    "  - { name: spare, kind: scripted, model: spare, script: { script: 1, replies: [{ reply: [{ text: Spare. }] }] } }\nagents:";
  const yaml = scripted("replies: [{ reply: [{ text: Done. }] }]")
    .replace("context_window: 128000", "rate_limit: { max_concurrent: 1 }")
    .replace("agents:", spare);
  const { bench, die, gate } = await openStage(yaml, { max_concurrent: 1 });
  bench.hold = true;
  bench.send("Go");
  await bench.steps();
  bench.ok("patch", { model: "spare" });
  await die();
  bench.hold = false;
  bench.release();
  await bench.pass(5_000);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(gate().bookings.map(({ leaseUntil }) => leaseUntil)).toEqual([0]);
});

test("MO-29 EF-37: whose tree waits for a higher limit gives its place back, and asks for another after the answer", async () => {
  const { bench, other, gate } = await open({ rpm: 1 });
  const { startAt } = other("before");
  bench.send("Go");
  await bench.idle();
  raiseWanted(bench);
  expect(gate().bookings.map(({ id }) => id)).toEqual(["before"]);
  await bench.pass(startAt + 59_000 - bench.now());
  expect(other("meanwhile").startAt).toBe(startAt + 60_000);
  bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 9_000_000 });
  await bench.pass(1_000);
  expect(bench.requests).toEqual([]);
  await bench.pass(60_000);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("MO-29: a call that was dropped before it asked its gate takes no place there", async () => {
  const { bench, die, other, gate } = await open({ rpm: 1 });
  const { startAt } = other("before");
  bench.send("Go");
  await die();
  await bench.idle();
  expect(bench.alarm()).toBe(startAt + 60_000);
  expect(gate().bookings).toHaveLength(2);
});

/** Answers that a guardrail sends back until one is long enough. */
const sentBack = (texts: readonly string[], agent = ""): string =>
  scripted(
    `replies: [${texts.map((text) => `{ reply: [{ text: ${JSON.stringify(text)} }] }`).join(", ")}]`,
    `middleware: [{ kind: output_guardrail, params: { min_length: 20, on_fail: retry, max_retries: 5 } }]\n${agent}`,
  );

test("SE-39 MO-29: with rpm 2 the second repair turn that a guardrail asks for waits for its place", async () => {
  const yaml = sentBack(["One.", "Two.", "Three.", "This answer is long enough."]);
  const limited = yaml.replace(
    "context_window: 128000",
    "context_window: 128000\n    rate_limit: { rpm: 2 }",
  );
  const { bench, asked } = await openStage(limited, { rpm: 2 });
  const startedAt = bench.now();
  bench.send("Go");
  await bench.idle();
  expect(bench.requests).toHaveLength(2);
  expect(bench.alarm()).toBe(startedAt + 60_000);
  await bench.pass(60_000);
  expect(bench.requests).toHaveLength(4);
  expect(new Set(asked).size).toBe(4);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("SE-39 SE-14: each repair turn has an id of its own in its run, whether the schema or a guardrail asked for it", async () => {
  const schema = 'options: { response_format: json_schema, response_schema: \'{"type":"object"}\' }';
  const yaml = sentBack(["{}", "no JSON", "[]", '{"a":1}', '{"a":"long enough now"}'], schema);
  const { bench } = await openStage(yaml, {});
  bench.send("Go");
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  const items = bench.events().flatMap(({ type, item }) => (type === "llm_text" ? [item] : []));
  expect(items).toHaveLength(5);
  expect(new Set(items).size).toBe(5);
});
