import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { observationMask } from "../../src/effects/observation-mask.ts";
import { shownTokens } from "../../src/chat/message.ts";
import { stepsArbitrary } from "./chats.ts";
import { chatOf, human, reply, shown, times, tokensOf, use } from "./compaction/support.ts";
import type { Step } from "./compaction/support.ts";
import { actedOn, contextOf, edited, evaluated } from "./context.ts";
import type { Setting } from "./context.ts";

const over: Setting = { window: 1_000, size: 700 };

const masked = (steps: readonly Step[], params: object = {}, setting: Setting = over) => {
  const chat = chatOf(steps);
  return { chat, after: actedOn(observationMask, chat, { recent_window: 2, ...params }, setting) };
};
const results = (chat: ReturnType<typeof chatOf>): readonly string[] =>
  chat.filter(({ role }) => role === "tool").map(shown);

const long = `begin ${"word ".repeat(100)}`;
const line = `[tool result for read: ${`begin ${"word ".repeat(20)}`.slice(0, 80).trim()}]`;

describe("EF-13: what is masked", () => {
  test("EF-13: 700 of 1000 at 0.6 with a window of 2: the older result is one line, the newest is whole", () => {
    const { after } = masked([human("Go"), use(long), use(long)]);
    expect(results(after)).toEqual([line, long]);
    expect(line.length).toBeLessThanOrEqual(80 + "[tool result for read: ]".length);
  });

  test("EF-13: texts and calls stay", () => {
    const { chat, after } = masked([human("Go"), { say: "I look.", ...use(long) }, use(long)]);
    expect(after.map(({ role }) => role)).toEqual(chat.map(({ role }) => role));
    expect(shown(after[1])).toBe("I look.");
    expect(after[1]).toBe(chat[1]);
  });

  test("EF-13: an error result stays whole", () => {
    const { after } = masked([human("Go"), use(long, { status: "error" }), use(long), use(long)]);
    expect(results(after)).toEqual([long, line, long]);
  });

  test("EF-13: a command that ended by itself is masked, whatever its exit code", () => {
    const steps = [human("Go"), use(`${long}\n[exit 1]`, { status: "error", exit: 1 }), use(long)];
    expect(results(masked(steps).after)).toEqual([line, long]);
    expect(results(masked(steps, { style: "digest" }).after)[0]).toMatch(/^\[read: exit 1, last line: begin/);
  });

  test("EF-13 ★: a result that the line would not shorten stays as it is", () => {
    const { chat, after } = masked([human("Go"), use("ok"), use(long)]);
    expect(after).toEqual(chat);
  });

  test("EF-13: messages of all roles are counted", () => {
    const steps = [human("Go"), use(long), reply("So."), human("On"), use(long)];
    expect(results(masked(steps, { recent_window: 4 }).after)).toEqual([line, long]);
    expect(results(masked(steps, { recent_window: 5 }).after)).toEqual([long, long]);
  });

  test("EF-13: a window of 0 masks all that was seen, and never what no model call has seen", () => {
    const steps = [human("Go"), use(long), use(long)];
    expect(results(masked(steps, { recent_window: 0 }).after)).toEqual([line, line]);
    expect(results(masked(steps, { recent_window: 0 }, { ...over, unread: 4 }).after)).toEqual([line, long]);
  });

  test("EF-13: recent_turns leaves all from the Nth newest reply on", () => {
    const steps = [human("Go"), ...times(4, () => ({ calls: [{ result: long }, { result: long }] }))];
    const whole = (after: ReturnType<typeof chatOf>) => results(after).filter((text) => text === long).length;
    expect(whole(masked(steps, { recent_turns: 2 }).after)).toBe(4);
    expect(whole(masked(steps, { recent_turns: 5 }).after)).toBe(8);
    expect(whole(masked(steps, { recent_turns: 0 }).after)).toBe(0);
  });

  test("EF-13: an image leaves the view and is named", () => {
    const { after } = masked([human("Go"), use(long, { media: true }), use(long)]);
    expect(results(after)[0]).toBe(`${line}\n[image m2]`);
    expect(after[2]?.overlay?.media).toBe(false);
  });

  test("EF-2: a pinned result stays", () => {
    const { chat, after } = masked([human("Go"), { calls: [{ result: long }], pinned: true }, use(long)]);
    expect(after).toEqual(chat);
  });
});

describe("EF-8: when it acts", () => {
  const chat = chatOf([human("Go"), use(long), use(long)]);
  const acts = (setting: Setting, params: object = {}): boolean =>
    "edits" in evaluated(observationMask, contextOf(chat, setting), { recent_window: 2, ...params });

  test("EF-8: from floor(window × threshold) tokens on", () => {
    expect(acts({ window: 1_001, size: 600 })).toBe(true);
    expect(acts({ window: 1_001, size: 599 })).toBe(false);
  });

  test("EF-8: never with an unknown window or a threshold of 0", () => {
    expect(acts({ window: 0, size: 700 })).toBe(false);
    expect(acts({ window: 1_000, size: 5_000 }, { threshold: 0 })).toBe(false);
  });

  test("EF-28: it says how large the request was and is", () => {
    const context = contextOf(chat, over);
    const { notify = [] } = evaluated(observationMask, context, { recent_window: 2 });
    const { after } = masked([human("Go"), use(long), use(long)]);
    expect(notify).toEqual([
      {
        event: "compaction",
        data: {
          stage: "mask",
          tokens_before: 700,
          tokens_after: 700 + tokensOf(after) - tokensOf(chat),
          retired: null,
          attempts: 0,
          message: null,
        },
      },
    ]);
  });
});

describe("EF-13: style digest", () => {
  const digest = (tool: string, args: object, result: string): string =>
    results(
      masked([human("Go"), use(result, { tool, args: JSON.stringify(args) }), use(long)], { style: "digest" })
        .after,
    )[0] ?? "";
  const many = (count: number, text: string): string => `${text}\n`.repeat(count);

  test("EF-13: a read file is its path and its lines", () => {
    expect(digest("fs_read", { path: "src/a.ts" }, many(240, "const a = 1;"))).toBe(
      "[fs_read src/a.ts: 240 lines, read again if needed]",
    );
    expect(digest("fs_read", { path: "b" }, "x".repeat(400))).toBe(
      "[fs_read b: 1 line, read again if needed]",
    );
  });

  test("EF-13: a command is its exit code and last line", () => {
    const output = `${many(50, "building")}12 passed\n[exit 0]`;
    expect(digest("exec_run", { command: "npm", args: ["test"] }, output)).toBe(
      "[exec_run npm test: exit 0, last line: 12 passed]",
    );
    expect(digest("exec_shell", { script: "make" }, `${" ".repeat(300)}\n[exit 2]`)).toBe(
      "[exec_shell make: exit 2]",
    );
  });

  test("EF-13: a search is its pattern and its lines, anything else its characters", () => {
    expect(digest("search_content", { pattern: "TODO" }, many(30, "src/a.ts:1: TODO"))).toBe(
      "[search_content TODO: 30 lines]",
    );
    expect(digest("weather__forecast", { days: 3 }, "🐚".repeat(300))).toBe(
      "[weather__forecast: 300 characters]",
    );
  });

  test("EF-13: arguments that are no JSON, or long, do not break the line", () => {
    const steps = [human("Go"), use(long, { args: "{" }), use(long)];
    expect(results(masked(steps, { style: "digest" }).after)[0]).toBe("[read: 1 line, read again if needed]");
    expect(digest("fs_read", { path: `a\n${"b".repeat(200)}` }, long)).toMatch(/^\[fs_read a b{78}: 1 line/);
  });

  test("EF-13 ★: a digest is made from the original, never of a digest", () => {
    const steps = [human("Go"), use(many(100, "a line of the file")), use(long)];
    const once = masked(steps, { style: "preview" }).after;
    const twice = actedOn(observationMask, once, { recent_window: 2, style: "digest" }, over);
    expect(results(twice)[0]).toBe("[read: 100 lines, read again if needed]");
    expect(actedOn(observationMask, twice, { recent_window: 2, style: "digest" }, over)).toEqual(twice);
  });
});

test("EF-13: a second pass changes nothing, nothing costs more, and only ok results change", () => {
  const style = fc.constantFrom("preview", "digest");
  fc.assert(
    fc.property(stepsArbitrary, fc.nat(6), style, (steps, recent_window, given) => {
      const params = { recent_window, style: given };
      const chat = chatOf(steps);
      const context = contextOf(chat, over);
      const result = evaluated(observationMask, context, params);
      const after = edited(observationMask, chat, result);
      expect(evaluated(observationMask, contextOf(after, over), params)).toEqual({});
      for (const [at, message] of after.entries()) {
        const before = chat[at];
        if (before === undefined) throw new Error("a message was added");
        expect(shownTokens(message)).toBeLessThanOrEqual(shownTokens(before));
        const [part] = message.parts;
        if (part?.type !== "tool_result" || part.status !== "ok") expect(message).toBe(before);
        if (at >= after.length - recent_window) expect(message).toBe(before);
      }
    }),
  );
});
