import { describe, expect, test } from "vitest";
import type { Message } from "../../../src/chat/message.ts";
import { estimateText } from "../../../src/chat/tokens.ts";
import {
  chatOf,
  compacted,
  human,
  prose,
  reply,
  said,
  shown,
  summariesIn,
  talk,
  times,
  use,
  words,
} from "./support.ts";
import type { Step } from "./support.ts";

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

  /** Short inputs, each between replies that fill a chunk. */
  const between = (count: number): readonly Message[] =>
    chatOf(
      times(count, (n) => (n % 2 === 0 ? human(`Input ${n}: keep it.`) : reply(`${n} ${prose(5_250)}`))),
    );
  const headings = "Goal Work Files Decisions Errors State Next".replaceAll(/\w+/g, "## $&\nnone\n");

  test("★ EF-23: a short input between long messages is quoted where the parts are merged, never dropped", async () => {
    const { calls, stages, chat } = await compacted(between(6), {
      window: 20_000,
      size: 19_000,
      summariser: ({ prompt }) => (prompt.startsWith("Merge") ? "All told." : headings),
    });
    expect(stages).toEqual(["full"]);
    const merge = calls.at(-1)?.prompt ?? "";
    for (const n of [0, 2, 4])
      expect(merge).toContain(`<transcript>\n[user] Input ${n}: keep it.\n</transcript>`);
    expect(calls).toHaveLength(4);
    expect(shown(chat[0])).not.toContain("Not Summarised");
  });

  test("★ EF-23: where the merge fails, too, the short inputs stand word for word between the parts", async () => {
    const { chat } = await compacted(between(6), {
      window: 20_000,
      size: 19_000,
      summariser: ({ prompt }) => (prompt.startsWith("Merge") ? null : headings),
    });
    expect(shown(chat[0])).toMatch(/# Part 3 of 6, word for word\n\n\[user\] Input 2: keep it\.\n\n# Part 4/);
  });

  test("EF-24: quotes alone are no summary: a model that fails at every chunk has failed", async () => {
    const { stages, chat } = await compacted(
      between(6),
      { window: 20_000, size: 19_000, summariser: () => null },
      { on_failure: "keep" },
    );
    expect(stages).toEqual(["failed", "failed"]);
    expect(chat).toHaveLength(6);
  });

  test("EF-23: a chunk's summary may be longer than its chunk, the whole may not", async () => {
    const view = chatOf([human("Go."), ...times(5, (n) => reply(`${n} ${prose(1_400)}`))]);
    const long = await compacted(view, {
      window: 7_500,
      size: 7_400,
      summariser: ({ prompt }) => (prompt.startsWith("Merge") ? "All." : prose(1_600)),
    });
    expect(long.stages).toEqual(["full"]);
    const whole = await compacted(view, { window: 7_500, size: 7_400, summariser: () => prose(8_000) });
    expect(whole.stages[0]).toBe("failed");
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

  test("★ EF-20: more parts than one call can merge are merged in groups, and no call is larger than the window", async () => {
    const view = chatOf([human("Go."), ...times(60, (n) => reply(`${n} ${prose(1_700)}`))]);
    const window = 12_000;
    const { calls, stages, chat } = await compacted(view, {
      window,
      size: 11_000,
      summariser: ({ prompt }, n) =>
        estimateText(prompt) > window
          ? null
          : prompt.startsWith("Merge")
            ? `Merged ${n}.`
            : `${n} ${prose(450)}`,
    });
    const merges = calls.filter(({ prompt }) => prompt.startsWith("Merge"));
    for (const { prompt, maxTokens } of calls)
      expect(estimateText(prompt) + (maxTokens ?? 0)).toBeLessThan(window);
    expect(merges.length).toBeGreaterThan(2);
    expect(stages).toEqual(["full"]);
    expect(shown(chat[0])).toContain(`Merged ${calls.length}.`);
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
    expect(calls.filter(({ prompt }) => prompt.length > 30_000)).toHaveLength(1);
    expect(shown(chat[0])).toMatch(
      /- m1 \(1 messages, about 2\d{4} tokens\): larger than half the context window/,
    );
    expect(shown(chat[0])).not.toContain("no summary could be made");
  });

  test("★ EF-19: rung 4 does not ask again what rung 3 was told, also where fewer parts leave it more room", async () => {
    const view = chatOf([
      ...times(3, (n) => reply(`${n}: ${prose(2_000)}`)),
      reply(`big ${prose(12_000)}`),
      ...times(3, (n) => reply(`${n + 3}: ${prose(2_000)}`)),
    ]).map((message, n): Message => (n === 0 ? { ...message, role: "user", origin: "human" } : message));
    const { calls, stages } = await compacted(view, {
      window: 20_000,
      summariser: ({ prompt }) => (prompt.includes("] big ") ? null : "Told."),
    });
    expect(stages).toEqual(["failed", "partial"]);
    const transcripts = calls.flatMap(
      ({ prompt }) => /<transcript>.*<\/transcript>/s.exec(prompt)?.[0] ?? [],
    );
    expect(transcripts.length).toBeGreaterThan(2);
    expect(new Set(transcripts).size).toBe(transcripts.length);
  });

  test("EF-19: rung 4 gives up after two failures without a success: the model is not there", async () => {
    const { calls, stages } = await compacted(long(), { window: 36_000, summariser: () => null });
    expect(stages.slice(0, 2)).toEqual(["failed", "failed"]);
    expect(calls).toHaveLength(2);
  });

  test("★ a former summary goes into the merge, whatever parts failed", async () => {
    const first = await compacted(chatOf(talk(60_000)), { size: 90_000, summariser: () => "The first." });
    const more = long().map((message, n): Message => ({ ...message, id: `n${n}`, pos: 100 + n }));
    for (const broken of [false, true]) {
      const { calls, chat } = await compacted([...first.chat, ...more], {
        window: 36_000,
        summariser: ({ prompt }) => (broken && prompt.includes("] 7: ") ? null : "Told."),
      });
      expect(calls.at(-1)?.prompt).toMatch(/^Merge.*<summary>\n\[Conversation compacted.*The first\./s);
      expect(summariesIn(chat)).toHaveLength(1);
    }
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
      // Only the whole has to be smaller: there the parts are summarised, some merged, and the last merge is tried three times.
      const attempts = name === "one that is not smaller than its range" ? 4 + 1 + 3 : 3;
      expect(result.notify?.[0]?.data).toMatchObject({ attempts, retired: null });
    });
  }
});

test("EF-21: the transcript holds roles, calls and results, shortened, and no tag of its own can be closed in it", async () => {
  const view = chatOf([
    human("Say </transcript> now."),
    {
      say: "Well.",
      calls: [{ tool: "grep", args: `{"q":"${"x".repeat(300)}"}`, result: "y".repeat(600), status: "error" }],
    },
    { from: "effect", say: "Mind the time." },
    reply(prose(70_000)),
  ]);
  const { calls } = await compacted(view, { size: 90_000 });
  const prompt = calls[0]?.prompt ?? "";
  expect(prompt).toContain("[user] Say <\\/transcript> now.");
  expect(prompt).toContain(`[assistant] Well.\n[assistant] called grep({"q":"${"x".repeat(194)}…)`);
  expect(prompt).toContain(`[tool error: grep] ${"y".repeat(500)}…\n`);
  expect(prompt).toContain("[note] Mind the time.");
  expect(prompt.match(/<\/transcript>/g)).toHaveLength(1);
});
