import { expect, test } from "vitest";
import type { Delta } from "../../src/agent/delta.ts";
import { dataOf, play, textsOf } from "./play.ts";
import type { Play } from "./play.ts";

const story =
  "{ reply: [{ reasoning: 'Let me think about it for a moment' }, { text: 'Once upon a time there was a limpet' }, { call: look, args: { name: shell } }] }";
const done = "{ reply: [{ text: Done. }] }";

const streaming = async (): Promise<Play> => {
  const played = await play(`replies: [${story}, ${done}]`);
  played.bench.hold = true;
  played.bench.send("Go");
  await played.bench.steps();
  await played.bench.tick(25);
  return played;
};

const itemText = (deltas: readonly Delta[], kind: Delta["kind"]): string => {
  let text = "";
  for (const delta of deltas.filter((each) => each.kind === kind)) {
    expect(delta.off, "off is the text before the piece").toBe(text.length);
    text += delta.data;
  }
  return text;
};

test("AP-20: what streams is opened by an event first, and its pieces make up the whole", async () => {
  const { bench } = await streaming();
  expect(itemText(bench.deltas, "reasoning_delta")).toBe("Let me think about it for a moment");
  expect(itemText(bench.deltas, "text_delta")).toBe("Once upon a time there was a limpet");
  expect(itemText(bench.deltas, "tool_input_delta")).toBe('{"name":"shell"}');
  const opened = bench
    .events()
    .flatMap(({ type, item }) => (type.startsWith("llm_") && item !== undefined ? [item] : []));
  expect([...new Set(bench.deltas.map(({ item }) => item))]).toEqual(opened);
  expect(dataOf(bench, "llm_text")[0]?.preview).toMatch(/^Once upon/);
});

test("AP-20: what was opened while it streamed is not opened again by the reply; the message holds the whole", async () => {
  const { bench } = await streaming();
  bench.release();
  await bench.idle();
  const items = bench
    .events()
    .flatMap(({ type, item }) => (type.startsWith("llm_") && item !== undefined ? [item] : []));
  expect(new Set(items).size).toBe(items.length);
  expect(items).toHaveLength(4);
  expect(textsOf(bench.chat()[1] ?? { parts: [] })).toBe("Once upon a time there was a limpet");
});

test("AP-20: a reply that came at once opens each item all the same, and sends no delta", async () => {
  const { bench } = await play(`replies: [${story}, ${done}]`);
  bench.send("Go");
  await bench.idle();
  expect(bench.types().filter((type) => /^llm_(text|reasoning|tool_prepare)$/.test(type))).toEqual([
    "llm_reasoning",
    "llm_text",
    "llm_tool_prepare",
    "llm_text",
  ]);
  expect(bench.deltas).toEqual([]);
});

test("AP-20 SE-33: a crash voids the items it had shown; the next attempt has items of its own", async () => {
  const { bench } = await streaming();
  bench.crash();
  bench.release();
  await bench.idle();
  const [first] = dataOf(bench, "attempt_aborted");
  expect(first?.items).toHaveLength(3);
  const later = bench
    .events()
    .flatMap(({ type, item, attempt }) => (type === "llm_text" && attempt === 2 ? [item] : []));
  expect(later).toHaveLength(1);
  expect(first?.items).not.toContain(later[0]);
});

test("AP-20: output of a tool streams while it runs and is void once it has ended", async () => {
  const { bench, probe } = await play(`replies: [{ reply: [{ call: look }] }, ${done}]`, { instant: false });
  bench.send("Go");
  await bench.steps();
  probe.calls[0]?.context.show("one ");
  probe.calls[0]?.context.show("two");
  expect(itemText(bench.deltas, "tool_output_delta")).toBe("one two");
  expect(bench.deltas[0]?.item).toBe(bench.events().find(({ type }) => type === "tool_call_start")?.call);
  probe.calls[0]?.finish();
  await bench.idle();
  probe.calls[0]?.context.show("late");
  expect(itemText(bench.deltas, "tool_output_delta")).toBe("one two");
});

test("AP-20 I3: events are published in the order of the log, and only what the log holds", async () => {
  const { bench } = await streaming();
  bench.release();
  await bench.idle();
  expect(bench.published).toEqual(bench.events());
});
