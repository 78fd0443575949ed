import { describe, expect, test } from "vitest";
import { compact } from "../../../src/effects/compact.ts";
import type { Message } from "../../../src/chat/message.ts";
import {
  acted,
  chatOf,
  compacted,
  expectValid,
  human,
  prose,
  reply,
  shown,
  summariesIn,
  talk,
  times,
  tokensOf,
  use,
  words,
  worldOf,
} from "./support.ts";
import type { Step } from "./support.ts";

describe("EF-15: when it acts", () => {
  test("below the threshold it answers at once, with nothing", () => {
    const { context } = worldOf(chatOf(talk(1_000)), { size: 79_999 });
    expect(compact.run(context, compact.params.parse({}), { wait: 0, floor: null })).toEqual({});
  });

  test("EF-8: a window of 0 and a threshold of 0 switch it off", () => {
    const { context } = worldOf(chatOf(talk(1_000)), { size: 999_999, window: 0 });
    expect(compact.run(context, compact.params.parse({}), { wait: 0, floor: null })).toEqual({});
    const never = compact.params.parse({ threshold: 0 });
    expect(compact.run({ ...context, window: 100 }, never, { wait: 0, floor: null })).toEqual({});
  });

  test("EF-19: it reads nothing of the view while it has nothing to do", () => {
    const { context } = worldOf([]);
    const blind = new Proxy(context, {
      get: (target, key) => {
        if (["size", "window", "maxOutput", "force"].includes(String(key))) return Reflect.get(target, key);
        throw new Error(`it read ${String(key)}`);
      },
    });
    expect(compact.run(blind, compact.params.parse({}), { wait: 0, floor: null })).toEqual({});
  });

  test("EF-19: at the threshold, three read messages become the summary alone", async () => {
    const view = chatOf([human("Do it."), reply(prose(80_000)), human("And?")]);
    const { chat, stages, calls } = await compacted(view, { size: 90_000 });
    expect(stages).toEqual(["full"]);
    expect(calls).toHaveLength(1);
    expect(chat).toHaveLength(1);
    expect(chat[0]?.summary).toMatchObject({ by: "compact", from: 0, to: 2 });
    expectValid(chat);
  });
});

describe("EF-19: the rungs", () => {
  test("rung 1 is enough: older ok results show one line, and no model is asked", () => {
    const view = chatOf([human("Go."), ...times(30, (n) => use(`file ${n} ${prose(2_900)}`))]);
    const { context, calls } = worldOf(view);
    const result = compact.run(context, compact.params.parse({}), { wait: 0, floor: null });
    expect(result).not.toBeInstanceOf(Promise);
    expect(calls).toEqual([]);
  });

  test("rung 1 leaves the newest 10 messages, errors and pinned results as they are", async () => {
    const view = chatOf([
      human("Go."),
      use(prose(20_000), { status: "error" }),
      { calls: [{ result: prose(2_000) }], pinned: true },
      ...times(30, (n) => use(`file ${n} ${prose(2_000)}`)),
    ]);
    const { chat, stages } = await compacted(view);
    expect(stages).toEqual(["mask"]);
    expect(shown(chat[2])).toBe(prose(20_000));
    expect(shown(chat[4])).toBe(prose(2_000));
    expect(shown(chat[6])).toMatch(/^\[tool result for read: file 0 prose .{60,70}\]$/);
    for (const message of chat.slice(-10)) expect(message.overlay).toBeUndefined();
    expect(chat.at(-11)?.overlay ?? chat.at(-12)?.overlay).toBeDefined();
  });

  test("rung 2 keeps head and tail: 500 characters of a result, 2 000 of an error", async () => {
    const long = `HEAD ${prose(40_000)} TAIL`;
    const view = chatOf([
      human("Go."),
      use(long, { status: "error" }),
      use(long),
      ...times(4, () => use(prose(1_000))),
    ]);
    const { chat, stages } = await compacted(view);
    expect(stages).toEqual(["trim"]);
    for (const [at, length] of [
      [2, 2_000],
      [4, 500],
    ] as const) {
      const [head = "", tail = ""] = shown(chat[at]).split(/\n\[… \d+ characters left out …\]\n/);
      expect([head.slice(0, 10), tail.slice(-5)]).toEqual(["HEAD prose", " TAIL"]);
      expect(head.length + tail.length).toBe(length);
    }
  });

  test("what no model call has read stays whole, however many results it has", async () => {
    const unread: Step = { calls: times(20, () => ({})).map((_, n) => ({ result: `${n} ${prose(2_000)}` })) };
    const view = chatOf([...talk(50_000), unread]);
    const { chat } = await compacted(view, { unread: view.length - 20 });
    expect(chat.slice(-21).map(shown)).toEqual(view.slice(-21).map(shown));
    expect(summariesIn(chat)).toHaveLength(1);
    expectValid(chat);
  });

  test("keep_turns keeps the newest turns with what they answer", async () => {
    const view = chatOf([...talk(80_000), human("Next."), use("seen"), reply("Done.")]);
    const { chat } = await compacted(view, {}, { keep_turns: 2 });
    expect(chat.slice(1).map(({ id }) => id)).toEqual(view.slice(-4).map(({ id }) => id));
  });

  test("keep_turns keeps their results whole, too: they are neither masked nor cut", async () => {
    const view = chatOf([human("Go."), ...times(12, (n) => use(`file ${n} ${prose(7_000)}`))]);
    const { chat, stages } = await compacted(view, {}, { keep_turns: 8, target: 0.1 });
    expect(stages).toEqual(["mask", "full"]);
    expect(chat.slice(-16).map(shown)).toEqual(view.slice(-16).map(shown));
  });

  test("fewer turns than keep_turns: nothing is summarised", async () => {
    const { chat, calls } = await compacted(chatOf(talk(80_000, 4)), {}, { keep_turns: 5 });
    expect(calls).toEqual([]);
    expect(summariesIn(chat)).toEqual([]);
  });

  test("SE-2: a pinned message stays with its whole block, and the summary stands before it", async () => {
    const pinned: Step = { calls: [{ result: "one" }, { result: "rules" }], pinned: true };
    const view = chatOf([...talk(80_000), pinned, ...talk(5_000)]);
    const at = view.findIndex(({ role }) => role === "tool");
    const { chat } = await compacted(view);
    expect(chat.map(({ id }) => id).slice(1)).toEqual([at - 1, at, at + 1].map((n) => `m${n}`));
    expect(chat[0]?.summary).toBeDefined();
    expectValid(chat);
  });

  test("EF-20: a window too small for any summary gets the note at once", async () => {
    const view = chatOf(talk(4_000));
    const { chat, stages, calls } = await compacted(view, { window: 5_000 });
    expect([stages, calls]).toEqual([["note"], []]);
    expect(shown(chat[0])).toMatch(/^\[Conversation compacted: turns run_1\/1–run_1\/10\]/);
  });
});

describe("EF-24: when no summary can be made", () => {
  const down = () => null;
  const big = (): readonly Message[] =>
    chatOf([human("Go."), ...times(10, () => reply(prose(9_500))), human("Last.")]);

  test("the next try comes 3 turns later", async () => {
    const view = chatOf(talk(82_000));
    const { result } = await compacted(view, { summariser: down });
    const states = [result.state];
    for (let turn = 0; turn < 2; turn++) {
      const { calls, result: waited } = await compacted(view, { summariser: down }, {}, states.at(-1));
      expect(calls).toEqual([]);
      expect(Object.keys(waited)).toEqual(["state"]);
      states.push(waited.state);
    }
    const third = await compacted(view, { summariser: down }, {}, states.at(-1));
    expect(third.calls.length).toBeGreaterThan(0);
  });

  test("it does not wait once the request no longer fits", async () => {
    const { stages } = await compacted(big(), { summariser: down }, {}, { wait: 3, floor: null });
    expect(stages).toEqual(["failed", "failed", "note"]);
  });

  test("a request fits while the whole max output is left beside it", async () => {
    const view = chatOf(talk(82_000));
    const most = 100_000 - tokensOf(view);
    const stays = await compacted(view, { summariser: down, maxOutput: most });
    expect(stays.stages).toEqual(["failed", "failed"]);
    const leaves = await compacted(view, { summariser: down, maxOutput: most + 1 });
    expect(leaves.stages).toEqual(["failed", "failed", "note"]);
  });

  test("MO-6: where the max output would take more than half of the window, that half is left; cleared is no more than needed, and the run goes on", async () => {
    const setting = { summariser: down, window: 16_000, maxOutput: 16_384 };
    const noted = await compacted(chatOf(talk(13_000)), setting);
    expect(noted.stages).toEqual(["failed", "failed", "note"]);
    expect(noted.result.stop).toBeUndefined();
    const pinned: Step = { say: prose(9_000), pinned: true };
    const view = chatOf([human("Go."), pinned, { calls: [{ result: prose(4_500) }] }]);
    const { chat, result } = await compacted(view, { ...setting, unread: 2 });
    expect(result.stop).toBeUndefined();
    expect(shown(chat.at(-1))).toBe(shown(view.at(-1)));
  });

  test("★ what does not fit gets the note, and the run goes on", async () => {
    const { chat, stages, result } = await compacted(big(), { summariser: down });
    expect(stages).toEqual(["failed", "failed", "note"]);
    const text = shown(chat[0]);
    expect(text).toContain(
      "Left out: 2 inputs, 10 replies, 0 tool results, 2026-11-21 00:00 to 2026-11-21 00:11 UTC.",
    );
    expect(text).toContain("## Human Inputs\n- Go.\n- Last.");
    expect(result.stop).toBeUndefined();
    expectValid(chat);
  });

  test("what then still does not fit is cleared: pinned, note, newest human input, and the unread tail cut to fit", async () => {
    const view = chatOf([
      human("Go."),
      { say: "The plan.", pinned: true },
      ...times(5, () => use(words(50))),
      human("Mind the gap."),
      reply("Sure."),
      { calls: [{ result: `HEAD ${prose(60_000)} TAIL` }, { result: prose(60_000) }, { result: "small" }] },
    ]);
    const tail = view.length - 4;
    const { chat, stages, result } = await compacted(view, {
      summariser: down,
      unread: tail,
      tools: ["recall"],
    });
    expect(stages.at(-1)).toBe("hard_clear");
    expect(result.stop).toBeUndefined();
    expect(chat[0]?.summary).toBeDefined();
    expect(chat.slice(1).map(({ id }) => id)).toEqual([
      "m1",
      ...[tail - 2, tail, tail + 1, tail + 2, tail + 3].map((n) => `m${n}`),
    ]);
    expect(chat.slice(1, 3).map(shown)).toEqual(["The plan.", "Mind the gap."]);
    expect(shown(chat[4])).toMatch(
      /^HEAD .*characters left out.* TAIL\n\[recall\("b\d+"\) reads the whole\]$/s,
    );
    expect(shown(chat[6])).toBe("small");
    expect(tokensOf(chat)).toBeLessThanOrEqual(92_000);
    expectValid(chat);
  });

  test("a summary that was written stays when the rest must be cleared, and so does a former one", async () => {
    const tail: Step = { calls: [{ result: prose(120_000) }] };
    const view = chatOf([...talk(20_000), tail]);
    const told = await compacted(view, {
      unread: view.length - 2,
      summariser: () => `Well told. ${words(2_000)}`,
    });
    expect(told.stages).toEqual(["full", "hard_clear"]);
    expect(told.chat.map(({ role }) => role)).toEqual(["user", "user", "assistant", "tool"]);
    const [summary] = summariesIn(told.chat);
    expect(shown(summary)).toContain("Well told.");
    expect(shown(summary)).not.toContain("This note");
    const next = [...summariesIn(told.chat), ...view.slice(-2)];
    const again = await compacted(next, { unread: 1, summariser: down });
    expect(again.stages).toEqual(["hard_clear"]);
    expect(again.chat[0]).toEqual(summary);
  });

  test("the note tells the newest 20 inputs, 500 characters of each, and counts the others", async () => {
    const view = chatOf(times(25, (n) => human(`Input ${n}: ${prose(4_200)}`)));
    const { chat, stages } = await compacted(view, { summariser: down });
    expect(stages.at(-1)).toBe("note");
    const inputs = shown(chat[0]).match(/^- Input .*$/gm) ?? [];
    expect(inputs.map((line) => line.length)).toEqual(Array.from({ length: 20 }, () => 502));
    expect(shown(chat[0])).toContain("## Human Inputs\n- (and 5 before these)\n- Input 5:");
  });

  test("not even that fits: the run fails, and the view is left as it was", async () => {
    const view = chatOf([{ say: prose(120_000), from: "human", pinned: true }]);
    const { result, chat } = await compacted(view, { summariser: down, unread: 0 });
    expect(result.stop?.reason).toBe("context_length_exceeded");
    expect(result.edits).toBeUndefined();
    expect(chat).toEqual(view);
  });

  test("on_failure keep ends after rung 4", async () => {
    const { chat, stages } = await compacted(big(), { summariser: down }, { on_failure: "keep" });
    expect(stages).toEqual(["failed", "failed"]);
    expect(summariesIn(chat)).toEqual([]);
  });

  test("on_failure keep is about failed summaries: what was summarised and still does not fit is cleared", async () => {
    const view = chatOf([...talk(20_000), { calls: [{ result: prose(120_000) }] }]);
    const { stages, result } = await compacted(view, { unread: view.length - 2 }, { on_failure: "keep" });
    expect(stages).toEqual(["full", "hard_clear"]);
    expect(result.stop).toBeUndefined();
  });

  test("on_failure ask puts a question; continue goes on down the ladder", async () => {
    const { stages, questions } = await compacted(big(), { summariser: down }, { on_failure: "ask" });
    expect(questions).toMatchObject([
      { options: ["continue", "retry"], default: "continue", timeoutMs: 600_000 },
    ]);
    expect(stages).toEqual(["failed", "failed", "note"]);
  });

  test("on_failure ask: a retry is a new call, and may succeed", async () => {
    const { stages, questions, chat } = await compacted(
      big(),
      { summariser: ({ prompt }) => (prompt.includes("try 2") ? "Told." : null), answers: ["retry"] },
      { on_failure: "ask" },
    );
    expect(questions).toHaveLength(1);
    expect(stages).toEqual(["failed", "failed", "full"]);
    expect(summariesIn(chat)).toHaveLength(1);
  });

  test("on_failure ask: who always retries is asked three times at most, each time anew", async () => {
    const answers = ["retry", "retry", "retry", "retry"];
    const { stages, questions } = await compacted(
      big(),
      { summariser: down, answers },
      { on_failure: "ask" },
    );
    expect(new Set(questions.map(({ text }) => text)).size).toBe(3);
    expect(stages.at(-1)).toBe("note");
  });
});

describe("EF-25: forced by an overflow", () => {
  const overflow = (count: number) => ({ force: { why: "overflow", count } as const });

  test("it begins at the first rung, whatever the window says", async () => {
    const view = chatOf([human("Go."), ...times(20, (n) => use(`file ${n} ${prose(500)}`))]);
    const { stages, chat, calls } = await compacted(view, overflow(1));
    expect([stages, calls]).toEqual([["mask"], []]);
    expect(tokensOf(chat)).toBeLessThanOrEqual(tokensOf(view) * 0.6);
  });

  test("EF-29: an unknown window is reckoned as 128 000", async () => {
    const view = chatOf(talk(200_000, 40));
    const { calls, stages } = await compacted(view, { ...overflow(1), window: 0 });
    expect(stages).toEqual(["full"]);
    for (const { prompt } of calls) expect(prompt.length / 4).toBeLessThan(128_000 / 1.2);
  });

  test("★ the 4th in a turn is a hard clear, without a model", async () => {
    const view = chatOf([...talk(10_000), human("The newest."), reply(prose(4_000))]);
    const { stages, calls, chat } = await compacted(view, overflow(4));
    expect([stages, calls]).toEqual([["hard_clear"], []]);
    expect(chat.slice(1).map(shown)).toEqual(["The newest."]);
  });

  test("a single message that is too long is cut, and asks for nothing else", async () => {
    const view = chatOf([human(`HEAD ${prose(50_000)} TAIL`)]);
    const { stages, chat, result } = await compacted(view, { ...overflow(1), unread: 0 });
    expect(stages).toEqual(["hard_clear"]);
    expect(shown(chat[0])).toMatch(/^HEAD .*characters left out.* TAIL$/s);
    expect(result.state).toBeUndefined();
  });

  test("each overflow leaves less, so that four of them find any window", async () => {
    let view = chatOf([...talk(60_000), { calls: [{ result: prose(60_000) }] }]);
    const unread = (chat: readonly Message[]): number => chat.length - 2;
    const sizes = [tokensOf(view)];
    for (let count = 1; count <= 4; count++) {
      const { chat } = await compacted(view, { ...overflow(count), unread: unread(view), window: 200_000 });
      view = chat;
      sizes.push(tokensOf(view));
    }
    for (const [at, size] of sizes.slice(1).entries())
      expect(size).toBeLessThanOrEqual((sizes[at] ?? 0) * 0.61);
  });
});

describe("EF-26: no compaction on every turn", () => {
  test("★ still over the threshold, the next waits until the size has grown by 5 % of the window", async () => {
    const view = chatOf([...talk(10_000), { calls: [{ result: prose(75_000) }] }]);
    const setting = { unread: view.length - 2 };
    const first = await compacted(view, setting);
    expect(first.stages).toEqual(["full"]);
    const left = tokensOf(first.chat);
    expect(left).toBeGreaterThan(75_000);
    const same = { ...setting, size: 84_000 };
    const state = { wait: 0, floor: 84_000 + 5_000 };
    expect(compact.run(worldOf(view, same).context, compact.params.parse({}), state)).toEqual({});
    expect((await compacted(view, { ...setting, size: 89_000 }, {}, state)).stages).toEqual(["full"]);
  });

  test("what is remembered is the size that was left, and it is forgotten below the threshold", async () => {
    const view = chatOf([{ ...human(prose(85_000)) }]);
    const { result } = await compacted(view, { unread: 0 });
    expect(result).toEqual({ state: { wait: 0, floor: tokensOf(view) + 5_000 } });
    const below = worldOf(view, { size: 60_000 });
    const forgotten = await acted(compact, below, {}, result.state);
    expect(forgotten.result).toEqual({ state: { wait: 0, floor: null } });
  });
});

describe("EF-27: forced by the API", () => {
  const api = (instructions: string | null) => ({ force: { why: "api", instructions } as const });

  test("rung 3 alone, whatever the size, with the instructions in the prompt", async () => {
    const { stages, calls, chat } = await compacted(chatOf(talk(3_000)), api("Keep the names."));
    expect(stages).toEqual(["full"]);
    expect(calls[0]?.prompt).toContain("<instructions>\nKeep the names.\n</instructions>");
    expect(chat).toHaveLength(1);
  });

  test("without a known window, too", async () => {
    expect((await compacted(chatOf(talk(3_000)), { ...api(null), window: 0 })).stages).toEqual(["full"]);
  });

  test("nothing to summarise: nothing changes, no model is asked", async () => {
    for (const view of [chatOf([]), chatOf([human("Hi.")])]) {
      const { result, calls } = await compacted(view, api(null));
      expect([result, calls]).toEqual([{}, []]);
    }
  });

  test("a failure is told and changes nothing", async () => {
    const { stages, chat } = await compacted(chatOf(talk(3_000)), { ...api(null), summariser: () => null });
    expect(stages).toEqual(["failed"]);
    expect(summariesIn(chat)).toEqual([]);
  });
});

test("EF-6: after a cancel no further call is made", async () => {
  const cancel = new AbortController();
  const view = chatOf([human("Go."), ...times(20, (n) => reply(`${n}: ${prose(1_700)}`))]);
  const world = worldOf(view, {
    window: 36_000,
    signal: cancel.signal,
    summariser: (_, n) => {
      if (n === 2) cancel.abort();
      return n === 2 ? null : "Told.";
    },
  });
  await expect(acted(compact, world)).rejects.toThrow(/abort/);
  expect(world.calls).toHaveLength(2);
});
