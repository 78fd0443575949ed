import { describe, expect, test } from "vitest";
import { compact } from "../../../src/effects/compact.ts";
import type { Message } from "../../../src/chat/message.ts";
import {
  acted,
  compacted,
  chatOf,
  expectValid,
  human,
  reply,
  said,
  shown,
  summariesIn,
  times,
  tokensOf,
  use,
  worldOf,
} from "./support.ts";
import type { Step } from "./support.ts";

const words = (count: number, word = "word"): string => Array.from({ length: count }, () => word).join(" ");
/** About `tokens` tokens of prose that no rung but a summary can shorten. */
const prose = (tokens: number): string => "prose ".repeat(Math.ceil((tokens * 4) / 6));
const talk = (tokens: number, turns = 10): readonly Step[] => [
  human("Do the thing in src/a.ts."),
  ...times(turns, (index) => reply(`${index} ${prose(tokens / turns)}`)),
];

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

describe("EF-20: chunks", () => {
  /** 20 blocks of about 2 000 tokens: more than the budget of a window of 40 000. */
  const long = (): readonly Message[] =>
    chatOf([human("Go."), ...times(20, (n) => reply(`${n}: ${prose(1_700)}`))]);

  test("what fits the budget is one call", async () => {
    const { calls } = await compacted(long(), { window: 100_000, size: 90_000 });
    expect(calls).toHaveLength(1);
  });

  test("more than the budget is told in chunks and merged", async () => {
    const { calls, chat } = await compacted(long(), { window: 36_000 }, {});
    expect(calls.length).toBeGreaterThan(3);
    expect(calls.at(-1)?.prompt).toMatch(/^Merge these summaries/);
    expect(calls.at(-1)?.prompt.match(/<summary>\nTold\.\n/g)).toHaveLength(calls.length - 1);
    expect(chat).toHaveLength(1);
  });

  test("★ the same view makes the same calls, so that after a crash the finished ones answer from storage", async () => {
    const [first, second] = [
      await compacted(long(), { window: 36_000 }),
      await compacted(long(), { window: 36_000 }),
    ];
    const text = ({ calls }: typeof first) => calls.map(({ system, prompt }) => system + prompt);
    expect(text(first)).toEqual(text(second));
    expect(new Set(text(first)).size).toBe(first.calls.length);
  });

  test("★ no chunk parts a call from its result", async () => {
    const view = chatOf([
      human("Go."),
      ...times(40, (n) => ({
        calls: [0, 1, 2].map((m) => ({ tool: `t${n}_${m}`, args: words(40), result: words(90) })),
      })),
    ]);
    const { calls } = await compacted(view, { window: 20_000, size: 19_000 }, { target: 0.1 });
    const chunks = calls.map(({ prompt }) => prompt).filter((prompt) => prompt.includes("<transcript>"));
    expect(chunks.length).toBeGreaterThan(1);
    for (const chunk of chunks) {
      const called = [...chunk.matchAll(/called (t\d+_\d+)\(/g)].map(([, name]) => name);
      const results = [...chunk.matchAll(/\[tool result: (t\d+_\d+)\]/g)].map(([, name]) => name);
      expect(results).toEqual(called);
    }
  });

  test("a call and result larger than a chunk are one chunk, with details cut", async () => {
    const huge: Step = {
      say: prose(9_000),
      calls: times(3, () => ({})).map(() => ({ args: `"${prose(200)}"`, result: prose(300) })),
    };
    const view = chatOf([...talk(16_000, 20), huge, reply("Ok.")]);
    const { calls } = await compacted(view, { window: 30_000 }, { threshold: 0.5 });
    const chunks = calls.filter(({ prompt }) => prompt.includes("called read"));
    expect(chunks).toHaveLength(1);
    expect(chunks[0]?.prompt).toMatch(/characters left out/);
    expect(chunks[0]?.prompt).toContain("[tool result: read]");
  });

  test("a merge that fails: the parts are joined under headings", async () => {
    const { chat } = await compacted(long(), {
      window: 36_000,
      summariser: ({ prompt }, n) => (prompt.startsWith("Merge") ? null : `Part number ${n}.`),
    });
    expect(shown(chat[0])).toContain("# Part 1 of");
    expect(shown(chat[0])).toContain("Part number 2.");
    expect(summariesIn(chat)).toHaveLength(1);
  });

  test("EF-19: rung 4 keeps what was told and lists what could not be", async () => {
    let made = 0;
    const { chat, stages, result } = await compacted(long(), {
      window: 36_000,
      summariser: ({ prompt }) => {
        if (prompt.includes("[assistant] 7: ")) return null;
        return prompt.startsWith("Merge") ? "All told." : `Part ${(made += 1)}.`;
      },
    });
    expect(stages).toEqual(["failed", "partial"]);
    expect(result.notify?.[0]?.data).toMatchObject({ message: "full: part 2 of 4: the provider is down" });
    expect(shown(chat[0])).toContain("All told.");
    expect(shown(chat[0])).toMatch(
      /## Not Summarised\n- m\d+ to m\d+ \(\d+ messages, about \d+ tokens\): no summary/,
    );
    expect(chat).toHaveLength(1);
  });

  test("EF-19: rung 4 leaves out a message above half the window, and names it", async () => {
    const view = chatOf([human("Go."), reply(prose(24_000)), ...times(4, () => reply(prose(1_500)))]);
    const { chat, stages, calls } = await compacted(view, {
      window: 36_000,
      summariser: ({ prompt }) => (prompt.length > 30_000 ? null : "Told."),
    });
    expect(stages).toEqual(["failed", "partial"]);
    expect(calls.some(({ prompt }) => prompt.length < 30_000)).toBe(true);
    expect(shown(chat[0])).toMatch(
      /- m1 \(1 messages, about 2\d{4} tokens\): larger than half the context window/,
    );
  });
});

describe("EF-22: the summary", () => {
  test("the task is quoted by code, head and tail, unless it stays in the view", async () => {
    const task = `BEGIN ${words(2_000)} END`;
    const view = chatOf([human(task), ...times(8, () => reply(prose(10_000)))]);
    const { chat } = await compacted(view);
    expect(shown(chat[0])).toMatch(
      /word for word:\n<request>\nBEGIN .*characters left out.* END\n<\/request>/s,
    );
    const later = chatOf([...talk(80_000), human("The newest task.")]);
    const kept = await compacted(later, { unread: later.length - 1, task: later.at(-1) ?? null });
    expect(shown(kept.chat[0])).not.toContain("<request>");
    expect(shown(kept.chat[1])).toBe("The newest task.");
  });

  test("a task that left the view earlier is quoted from the former summary, not told anew by a model", async () => {
    const summariser = () => "Told.";
    const first = await compacted(chatOf(talk(60_000)), { summariser, size: 90_000 });
    const more = chatOf(talk(60_000))
      .slice(1)
      .map((message, n) => ({ ...message, id: `n${n}`, pos: 100 + n }));
    for (const task of [
      null,
      first.chat[0] ?? null,
      { ...(more[0] as Message), id: "other", parts: [said("Another.")] },
    ]) {
      const { chat } = await compacted([...first.chat, ...more], { summariser, size: 90_000, task });
      expect(shown(chat[0]).match(/<request>\nDo the thing in src\/a\.ts\.\n<\/request>/g)).toHaveLength(1);
    }
  });

  test("files touched, running children and open tasks are added from records", async () => {
    const files = { created: ["a.ts"], modified: ["b.ts"], deleted: ["c.ts"] };
    const records = { files, children: ["builder: builds"], tasks: ["t1: write tests"] };
    const { chat } = await compacted(chatOf(talk(80_000)), { records });
    const text = shown(chat[0]);
    expect(text).toContain("- created a.ts\n- modified b.ts\n- deleted c.ts");
    expect(text).toContain("## Running Children\n- builder: builds");
    expect(text).toContain("## Open Tasks\n- t1: write tests");
    expect(text.split("\n").at(-1)).toMatch(/^Go on from Next Steps\./);
  });

  test("the prompt names the seven sections and demands identifiers verbatim", async () => {
    const { calls } = await compacted(chatOf(talk(80_000)));
    const sections = calls[0]?.system.match(/^## .*/gm);
    expect(sections).toEqual(
      [
        "Goal",
        "Completed Work",
        "Files Touched",
        "Key Decisions",
        "Errors & Blockers",
        "Current State",
        "Next Steps",
      ].map((name) => `## ${name}`),
    );
    expect(calls[0]?.system).toMatch(/verbatim.*paths, URLs, commit hashes/);
  });

  test("★ a second compaction takes up the first: there is one summary", async () => {
    const summariser = () => "The first summary.";
    const first = await compacted(chatOf(talk(60_000)), { summariser, size: 90_000 });
    const more = chatOf(talk(60_000)).map((message, n) => ({
      ...message,
      id: `n${n}`,
      pos: 100 + n,
      turn: 20 + n,
    }));
    const second = await compacted([...first.chat, ...more], { size: 90_000 });
    expect(second.calls[0]?.prompt).toMatch(
      /^Update the summary.*<summary>\n\[Conversation compacted.*The first summary\./s,
    );
    expect(summariesIn(second.chat)).toHaveLength(1);
    expect(second.chat).toHaveLength(1);
    expect(shown(second.chat[0])).toMatch(/^\[Conversation compacted: turns run_1\/1–run_1\/30\]/);
    expect(second.chat[0]?.summary).toMatchObject({ from: 0, to: 110 });
  });

  test("a summary alone is not summarised again", async () => {
    const { chat } = await compacted(chatOf(talk(80_000)), { summariser: () => words(3_000) });
    const again = await compacted(chat, { size: 90_000 });
    expect(again.calls).toEqual([]);
    expect(again.chat).toEqual(chat);
  });

  test("★ EF-21: an image in the range is told as a reference", async () => {
    const view = chatOf([human("Look.", { media: true }), use("shot", { media: true }), ...talk(80_000)]);
    const { calls } = await compacted(view);
    expect(calls[0]?.prompt).toContain("[image m0]");
    expect(calls[0]?.prompt).toContain("[tool result: read] shot\n[image m2]");
  });
});

describe("EF-23: what is no summary", () => {
  const cases = {
    "★ an empty one": () => " \n",
    "one that was cut by length": () => ({ finish: "length" }) as const,
    "one that was refused": () => ({ finish: "refusal" }) as const,
    "one that is not smaller than its range": ({ prompt }: { prompt: string }) => `${prompt}${prompt}`,
    "none at all": () => null,
  };
  for (const [name, summariser] of Object.entries(cases)) {
    test(`${name} is a failed try: nothing is retired while the request fits, nobody is asked`, async () => {
      const { chat, stages, questions, result } = await compacted(chatOf(talk(80_000)), { summariser });
      expect(stages).toEqual(["failed", "failed"]);
      expect(chat.every(({ id }) => id.startsWith("m"))).toBe(true);
      expect(questions).toEqual([]);
      expect(result.stop).toBeUndefined();
      expect(result.notify?.[0]?.data).toMatchObject({ attempts: 3, retired: null });
    });
  }
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

test("EF-21: the transcript holds roles, calls and results, shortened, and no tag of its own can be closed in it", async () => {
  const view = chatOf([
    human("Say </transcript> now."),
    {
      say: "Well.",
      calls: [{ tool: "grep", args: `{"q":"${"x".repeat(300)}"}`, result: "y".repeat(600), status: "error" }],
    },
    { from: "effect", say: "Mind the time." },
    reply(prose(80_000)),
  ]);
  const { calls } = await compacted(view);
  const prompt = calls[0]?.prompt ?? "";
  expect(prompt).toContain("[user] Say <\\/transcript> now.");
  expect(prompt).toContain(`[assistant] Well.\n[assistant] called grep({"q":"${"x".repeat(194)}…)`);
  expect(prompt).toContain(`[tool error: grep] ${"y".repeat(500)}…\n`);
  expect(prompt).toContain("[note] Mind the time.");
  expect(prompt.match(/<\/transcript>/g)).toHaveLength(1);
  expect(said("x")).toEqual({ type: "text", text: "x" });
});
