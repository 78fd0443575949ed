import { expect, test } from "vitest";
import { blocksOf, joinBlocks, originalText } from "../../src/console/context/originals.ts";
import type { WireMessage } from "../../src/console/context/originals.ts";
import { describeReason, describeRetirement, describeRow } from "../../src/console/context/reasons.ts";
import {
  countMessages,
  describeFold,
  foldRows,
  isChanged,
  isLeftOut,
  isSent,
  rowsOf,
} from "../../src/console/context/row-list.ts";
import { changeLines, describeSteps, describeView, sizesOf } from "../../src/console/context/sentences.ts";
import type { ContextView, HiddenMessage, SeenChange, SeenMessage } from "../../src/console/context/view.ts";

/** AP-54: what the context view says of a turn. */

const seen = (id: string, fields: Partial<SeenMessage> = {}): SeenMessage => ({
  id,
  pos: Number(id),
  role: "tool",
  origin: "agent",
  state: "full",
  by: null,
  reason: null,
  tokens: 100,
  original_tokens: 100,
  text: `text ${id}`,
  ...fields,
});

const gone = (id: string, fields: Partial<HiddenMessage> = {}): HiddenMessage => ({
  id,
  pos: Number(id),
  role: "tool",
  tokens: 500,
  by: "compact",
  reason: "full",
  why: "summarised in 9",
  ...fields,
});

const change = (
  edit: SeenChange["edit"],
  messages: readonly string[],
  saved: number,
  effect: string | null = null,
  reason: string | null = null,
): SeenChange => ({ edit, messages, tokens_saved: saved, effect, reason });

const viewOf = (fields: Partial<ContextView>): ContextView => ({
  run: "run_1",
  turn: 6,
  call: 1,
  calls: [],
  agent: "guide",
  thread: "main",
  provider: "p",
  model: "m",
  parameters: { max_tokens: 100 },
  window: 16_000,
  size: 10_000,
  system: "You are guide.",
  tools: [],
  messages: [],
  hidden: [],
  hidden_tools: [],
  before: { run: "run_1", turn: 5, size: 9_000 },
  changes: [],
  verified: true,
  ...fields,
});

/** As the scene `compact`: two results were shortened, and left with others in the same turn. */
const compacted = viewOf({
  size: 10_610,
  messages: [
    seen("9", { role: "user", state: "summary", by: "compact", reason: "full", tokens: 117 }),
    seen("7"),
    seen("8", { tokens: 3_910 }),
  ],
  hidden: [
    gone("1", { role: "user", tokens: 939 }),
    gone("2", { tokens: 1_300 }),
    gone("3", { tokens: 1_300 }),
  ],
  changes: [
    change("append", ["7", "8"], -3_947),
    change("overlay", ["2"], 75, "observation_mask", "mask"),
    change("overlay", ["3"], 1_025, "trim_tool_results", "after_complete"),
    change("retire", ["1", "2", "3"], 1_440, "compact", "full"),
    change("inject", ["9"], -117, "compact", "full"),
  ],
});

const say = (view: ContextView): string =>
  describeView(view)
    .map(({ text }) => text)
    .join("");

test("AP-54: the sentence says what effects left out and how, and counts nothing that is not in the request", () => {
  expect(say(compacted)).toBe(
    "Turn 6 sent 10.6k tokens, 1.5k more than the call before, and left out 2.4k of 13.0k tokens: 3 messages became one summary.",
  );
  expect(sizesOf(compacted)).toEqual({
    previous: 9_086,
    beforeEffects: 13_033,
    atBegin: 12_008,
    now: 10_610,
  });
});

test("AP-54: the sentence counts what is shortened among the messages that were sent", () => {
  const messages = [seen("1", { state: "overlaid" }), seen("2", { state: "overlaid" }), seen("3")];
  const overlay = change("overlay", ["1", "2", "3"], 900, "observation_mask", "mask");
  const lead = "Turn 6 sent 10.0k tokens, 900 fewer than the call before, and left out 900 of 10.9k tokens: ";
  expect(say(viewOf({ messages, changes: [overlay] }))).toBe(`${lead}2 results were shortened.`);
  const prose = messages.map((message) => ({ ...message, role: "assistant" as const }));
  expect(say(viewOf({ messages: prose.slice(1), changes: [overlay] }))).toBe(
    `${lead}1 message was shortened.`,
  );
});

test("AP-54: the sentence says what people took away, what only came, and what came first", () => {
  const removed = viewOf({
    hidden: [gone("1", { by: null, why: "rewind" })],
    changes: [change("remove", ["1"], 500)],
  });
  expect(say(removed)).toBe(
    "Turn 6 sent 10.0k tokens, 500 fewer than the call before; 1 message was taken away.",
  );
  const grown = viewOf({ messages: [seen("1")], changes: [change("append", ["1"], -100)] });
  expect(say(grown)).toBe("Turn 6 sent 10.0k tokens, 100 more than the call before: 1 message came.");
});

test("AP-54: the first call of a thread is compared with none before it", () => {
  const first = viewOf({ turn: 1, size: 6_552, before: null, changes: [change("append", ["1"], -6)] });
  expect(say(first)).toBe("Turn 1 sent 6.6k tokens.");
  expect(sizesOf(first).previous).toBeNull();
  expect(sizesOf({ ...first, before: { run: "run_1", turn: 1, size: 6_546 } }).previous).toBe(6_546);
});

test("AP-54: figures of the step before a call are the chat's, and what was left out before is named", () => {
  expect(describeSteps(compacted)).toBe(
    "Left out: 1,025 tokens right after the answer before, and 1,398 as this turn began: 12.0k → 10.6k.",
  );
  expect(sizesOf(compacted).atBegin).toBe(12_008);
  const trim = change("overlay", ["1"], 999, "trim_tool_results", "after_complete");
  const trimmed = viewOf({ messages: [seen("1", { state: "overlaid" })], changes: [trim] });
  expect(describeSteps(trimmed)).toBe("Left out: 999 tokens right after the answer before.");
  expect(describeSteps(viewOf({}))).toBeNull();
  const asked = change("retire", ["1"], 500, "compact", "api");
  expect(describeSteps(viewOf({ hidden: [gone("1")], changes: [trim, asked] }))).toBeNull();
});

test("AP-54: the tokens of what left agree: a row counts the whole, and both say what was sent of it at last", () => {
  const rows = rowsOf(compacted, 0.7);
  const retired = rows.find(({ state }) => state === "retired");
  expect(retired).toMatchObject({
    original: 3_539,
    beginning: "Already shortened to 1,440; the summary stands for them",
    role: "mixed",
  });
  const lines = changeLines(compacted, 0.7).map(({ text, by, notes, tokens }) => [
    text,
    by,
    tokens,
    ...notes,
  ]);
  expect(lines).toEqual([
    ["2 new messages", null, 3_947],
    ["1 result shortened, then left out", "observation_mask", -75, "The context was filling up"],
    ["1 result shortened, then left out", "trim_tool_results", -1_025, "Newer results came"],
    [
      "3 messages left out",
      "compact",
      -1_440,
      "The context was over 70 % full, the oldest first",
      "3,539 tokens whole, already shortened to 1,440",
    ],
    ["1 summary in their place", "compact", 117, "The context was over 70 % full"],
  ]);
});

test("AP-54: the filters count messages, and rows that stand for none as one", () => {
  const rows = rowsOf(compacted, null);
  expect(countMessages(rows)).toBe(7);
  expect(countMessages(rows.filter((row) => !isSent(row)))).toBe(3);
  expect(countMessages(rows.filter(isSent))).toBe(4);
  expect(countMessages(rows.filter(isChanged))).toBe(6);
  expect(foldRows(rows, new Set()).every(({ kind }) => kind === "row")).toBe(true);
});

test("AP-54: what the sentence says was left out stands under that filter: what is shortened, and what is not sent", () => {
  const messages = [seen("1", { state: "overlaid", tokens: 25, original_tokens: 1_024 }), seen("2")];
  const trim = change("overlay", ["1"], 999, "trim_tool_results", "after_complete");
  const view = viewOf({ messages, changes: [trim], size: 9_086 });
  expect(say(view)).toContain("left out 999 of 10.1k tokens: 1 result was shortened.");
  expect(
    rowsOf(view, null)
      .filter(isLeftOut)
      .map(({ id }) => id),
  ).toEqual(["1"]);
  expect(countMessages(rowsOf(compacted, null).filter(isLeftOut))).toBe(3);
});

test("AP-54: unchanged rows fold with what is as they are: sent ones apart from those that are not sent", () => {
  const hidden = [gone("1", { why: "summarised in 3" }), gone("2", { why: "summarised in 3" })];
  const earlier = gone("3", { why: "summarised in 9" });
  const messages = [
    seen("9", { state: "summary", by: "compact" }),
    seen("10", { state: "overlaid", tokens: 25, original_tokens: 100 }),
    seen("11"),
  ];
  const rows = rowsOf(viewOf({ messages, hidden: [...hidden, earlier], size: 1_000 }), null);
  const folded = foldRows(rows, new Set()).map((each): object =>
    each.kind === "fold" ? describeFold(each.rows) : { row: each.row.name, state: each.row.state },
  );
  expect(folded).toEqual([
    { row: "System prompt, 0 tools", state: "full" },
    { words: "3 left out before: 2 messages, 1 message", state: "left out", tokens: 1_500, isSent: false },
    { row: "Summary", state: "summary" },
    { words: "2 unchanged: tool, tool", state: "1 shortened, 1 whole", tokens: 125, isSent: true },
  ]);
  const whole = rowsOf(viewOf({ messages: [seen("1")], size: 200 }), null);
  expect(foldRows(whole, new Set()).map((each) => each.kind === "fold" && describeFold(each.rows))).toEqual([
    { words: "2 unchanged: System prompt, 0 tools, tool", state: "whole", tokens: 200, isSent: true },
  ]);
});

test.each([
  ["compact", "full", 0.75, "the context was over 75 % full"],
  ["compact", "mask", null, "the context was filling up"],
  ["observation_mask", "mask", 0.75, "the context was filling up"],
  ["compact", "overflow", 0.75, "the model refused the request as too long"],
  ["compact", "api", 0.75, "somebody asked for it"],
  ["trim_tool_results", "after_complete", 0.75, "newer results came"],
  ["loop_detect", "before_complete", null, "the same calls were made again and again"],
  [null, "rewind", null, "the conversation went back to an earlier message"],
  ["of_this_team", "before_complete", 0.75, null],
  [null, null, null, null],
])("AP-54: why %s did something for %s, at %s: %s", (by, reason, shrinksAt, words) => {
  expect(describeReason({ by, reason }, shrinksAt)).toBe(words);
});

test("AP-54: an opened row says in whole sentences what was done to it, without a code", () => {
  const [, retired, summary, full] = rowsOf(compacted, 0.7);
  const overlaid = (by: string, reason: string) =>
    rowsOf(viewOf({ messages: [seen("1", { state: "overlaid", by, reason })] }), null)[1];
  const rows = [
    retired,
    summary,
    full,
    overlaid("observation_mask", "mask"),
    overlaid("trim_tool_results", "after_complete"),
    overlaid("of_this_team", "before_complete"),
    rowsOf(
      viewOf({ messages: [seen("1", { state: "note", by: "reflection", reason: "before_complete" })] }),
      null,
    )[1],
  ].flatMap((row) => row ?? []);
  expect(rows.map((row) => describeRow(row, 0.7))).toEqual([
    "They are no longer sent, because the context was over 70 % full, the oldest first. They stay in the session.",
    "It stands for 3 messages, which are no longer sent because the context was over 70 % full.",
    "It was sent as it is.",
    "The model got one line, because the context was filling up. The whole text stays in the session.",
    "The model got only the beginning, because newer results came. The whole text stays in the session.",
    "The model got another text. The whole text stays in the session.",
    "A note to the model, because calls failed one after the other.",
  ]);
  expect(describeRetirement({ by: null, reason: "guardrail" }, null)).toBe(
    "the answer did not pass its check",
  );
});

const wire = (id: string, fields: Partial<WireMessage>): WireMessage => ({
  id,
  role: "assistant",
  origin: "agent",
  tokens: 10,
  parts: [],
  ...fields,
});

test("AP-54: messages that are no longer sent are shown one by one, with role, tokens, effect and calls", () => {
  const text = { type: "text", text: "I look." };
  const asks = { type: "tool_call", id: "c", name: "fs_read", args: '{"path":"tides.txt"}' };
  const answers = {
    type: "tool_result",
    call: "c",
    name: "fs_read",
    content: [{ type: "text", text: "day 1" }],
  };
  const image = { type: "image", media_type: "image/png" };
  const overlay = { by: "observation_mask", tokens: 3, texts: { 0: "[day]" } };
  const messages = [
    wire("1", { role: "user", origin: "human", parts: [{ type: "text", text: "Read it" }, image] }),
    wire("2", { parts: [text, asks] }),
    wire("3", { parts: [asks] }),
    wire("4", { role: "tool", tokens: 40, parts: [answers], overlay }),
    wire("5", { role: "tool", parts: [answers], overlay: { ...overlay, texts: {} } }),
    wire("6", { role: "user", origin: "system", summary: {}, parts: [text] }),
    wire("7", { role: "user", origin: "effect", marks: ["note"], parts: [text] }),
  ];
  const blocks = blocksOf(messages, "guide");
  expect(blocks.map(({ name, role, tokens, calls, text }) => [name, role, tokens, text, ...calls])).toEqual([
    ["You", "user", 10, "Read it\n[image image/png]"],
    ["guide", "assistant", 10, "I look.", "fs_read tides.txt"],
    ["guide", "assistant", 10, "", "fs_read tides.txt"],
    ["fs_read tides.txt", "tool", 40, "day 1"],
    ["fs_read tides.txt", "tool", 10, "day 1"],
    ["Summary", "user", 10, "I look."],
    ["Note to the model", "user", 10, "I look."],
  ]);
  expect(blocks.map(({ shortened }) => shortened)).toEqual([
    null,
    null,
    null,
    { by: "observation_mask", tokens: 3 },
    null,
    null,
    null,
  ]);
  expect(joinBlocks(blocks.slice(1, 4))).toBe(
    "guide (assistant)\nI look.\nfs_read tides.txt\n\nguide (assistant)\nfs_read tides.txt\n\nfs_read tides.txt (tool)\nday 1",
  );
  expect(messages.slice(1, 3).map(originalText)).toEqual([
    'I look.\nfs_read({"path":"tides.txt"})',
    'fs_read({"path":"tides.txt"})',
  ]);
});
