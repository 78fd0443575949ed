import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ForceReason } from "../../../src/agent/state/phase.ts";
import { blockStart, isBlockPinned } from "../../../src/chat/blocks.ts";
import type { Message } from "../../../src/chat/message.ts";
import { sendLimit } from "../../../src/effects/compaction/pace.ts";
import { compact } from "../../../src/effects/compact.ts";
import { slidingWindow } from "../../../src/effects/sliding-window.ts";
import { acted, chatOf, expectValid, shown, summariesIn, tokensOf, worldOf } from "./support.ts";
import type { Outcome, Step, Summariser } from "./support.ts";
import { sizeOf } from "../../support/random-size.ts";

/** Any chat, any summariser, any parameters. */

const text = fc
  .tuple(fc.constantFrom("a ", "word ", "Zürich 🐚 "), fc.constantFrom(0, 1, 7, 50, 300, 2_000))
  .map(([word, count]) => `x${word.repeat(count)}`);
const rarely = fc.integer({ min: 0, max: 9 }).map((n) => n === 0);
const call = fc.record({
  result: text,
  args: fc.constantFrom("{}", `{"q":"${"y".repeat(400)}"}`),
  status: fc.constantFrom<"ok" | "error" | "denied">("ok", "ok", "ok", "error", "denied"),
  media: rarely,
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      from: fc.constantFrom("human", "agent", "effect"),
      say: text,
      media: rarely,
      pinned: rarely,
    }),
  },
  { weight: 1, arbitrary: fc.record({ say: text, pinned: rarely }) },
  {
    weight: 5,
    arbitrary: fc.record({
      say: fc.constantFrom("", "Well."),
      calls: fc.array(call, { minLength: 1, maxLength: 4 }),
      pinned: rarely,
    }),
  },
);
const chat = fc
  .tuple(text, fc.array(step, { minLength: 1, maxLength: 30 }))
  .map(([first, steps]) => chatOf([{ from: "human", say: first }, ...steps]));

const summarisers: Readonly<Record<string, Summariser>> = {
  good: ({ prompt }) => `Told in ${prompt.length} characters.`,
  down: () => null,
  empty: () => " ",
  cut: () => ({ finish: "length" }),
  echo: ({ prompt }) => prompt,
  flaky: (_, n) => (n % 2 === 0 ? null : `Told by ${n}.`),
};
const force = fc.oneof(
  { weight: 6, arbitrary: fc.constant<ForceReason | null>(null) },
  fc.integer({ min: 1, max: 4 }).map((count): ForceReason => ({ why: "overflow", count })),
  fc.constant<ForceReason>({ why: "api", instructions: "Short." }),
);
const setting = fc.record({
  chat,
  tail: fc.nat({ max: 5 }),
  base: fc.constantFrom(0, 800, 3_000),
  share: fc.constantFrom(0.6, 0.85, 1, 1.4, 3),
  summariser: fc.constantFrom(...Object.keys(summarisers)),
  force,
  maxOutput: fc.constantFrom(500, 8_000),
});

const begun = ({
  chat: view,
  tail,
  base,
  share,
  summariser,
  force: forced,
  maxOutput,
}: typeof setting extends fc.Arbitrary<infer T> ? T : never) => {
  const size = tokensOf(view) + base;
  const unread = Math.max(0, view.length - tail);
  return worldOf(view, {
    size,
    estimate: size,
    window: Math.max(2_000, Math.floor(size / share)),
    unread,
    maxOutput,
    force: forced,
    summariser: summarisers[summariser] ?? (() => null),
    records: { files: { created: ["a.ts"], modified: [], deleted: [] }, children: ["c: works"], tasks: [] },
  });
};

const same = (before: readonly Message[], after: readonly Message[]): void => {
  const ids = new Map(after.map((message) => [message.id, message]));
  for (const message of before) {
    const now = ids.get(message.id);
    expect(now === undefined ? null : shown(now), message.id).toBe(shown(message));
  }
};

const checkView = ({ context, chat: after, stages, result }: Outcome): void => {
  const { view, unread } = context;
  expectValid(after);
  expect(tokensOf(after)).toBeLessThanOrEqual(tokensOf(view));
  const retires = (result.edits ?? []).filter((edit) => "retire" in edit);
  expect(summariesIn(after).length).toBe(retires.length > 0 ? 1 : summariesIn(view).length);
  same(
    view.filter((_, at) => isBlockPinned(view, at)),
    after,
  );
  if (!stages.includes("hard_clear") && unread < view.length)
    same(view.slice(blockStart(view, unread)), after);
  for (const { overlay } of after) expect(Object.keys(overlay?.texts ?? { 0: "" })).not.toEqual([]);
};

const size = ({ context }: Outcome, after: readonly Message[]): number =>
  context.size - tokensOf(context.view) + tokensOf(after);

test("EF-19: no ladder splits a block, grows a view, touches a pinned message or what is unread, or leaves two summaries", async () => {
  await fc.assert(
    fc.asyncProperty(
      setting,
      fc.record({
        keep_turns: fc.constantFrom(0, 0, 2),
        on_failure: fc.constantFrom("ladder", "keep", "ask"),
        target: fc.constantFrom(undefined, 0.2),
      }),
      async (given, params) => {
        const outcome = await acted(compact, begun(given), params);
        checkView(outcome);
        const { context, chat: after, calls, result } = outcome;
        if (result.stop !== undefined) {
          expect(after).toEqual(context.view);
          return;
        }
        if (context.force !== null) {
          expect(result.stop, "what fits after an overflow only the provider can tell").toBeUndefined();
          return;
        }
        if (params.on_failure === "keep") return;
        if (context.size < Math.floor(context.window * 0.8)) {
          expect([calls, after]).toEqual([[], context.view]);
          return;
        }
        const { window } = context;
        const left = size(outcome, after);
        const target = Math.floor(window * (params.target ?? 0.6000000000000001));
        expect(left, "the target is reached, or nothing gentler is left and it fits").toBeLessThanOrEqual(
          Math.max(target, sendLimit(window)),
        );
      },
    ),
    sizeOf(800),
  );
});

test("EF-24: the ladder run again with the same replies gives back the same", async () => {
  await fc.assert(
    fc.asyncProperty(setting, async (given) => {
      const world = begun(given);
      const first = await acted(compact, world);
      const made = world.calls.length;
      const second = await acted(compact, world);
      expect(world.calls.length, "all answers come from storage").toBe(made);
      expect(JSON.stringify(second.result)).toBe(JSON.stringify(first.result));
    }),
    sizeOf(150),
  );
});

test("EF-14: no zones split a block, and over any number of evictions there is one summary and the task stays told", async () => {
  const zones = fc.record({
    recent_zone: fc.integer({ min: 0, max: 12 }),
    medium_zone: fc.integer({ min: 0, max: 12 }),
    trim_length: fc.constantFrom(0, 20, 200),
    threshold: fc.constant(0.1),
  });
  await fc.assert(
    fc.asyncProperty(
      setting,
      fc.array(chat, { minLength: 3, maxLength: 3 }),
      zones,
      async (given, more, params) => {
        let view: readonly Message[] = given.chat;
        const task = view[0];
        for (const next of more) {
          const pos = Math.max(...view.map((message) => message.pos)) + 1;
          const round = next.map((message, n): Message => {
            const parts = message.parts.map((part) =>
              part.type === "tool_call"
                ? { ...part, id: `${part.id}_${pos}` }
                : part.type === "tool_result"
                  ? { ...part, call: `${part.call}_${pos}` }
                  : part,
            );
            return { ...message, id: `p${pos + n}`, pos: pos + n, parts };
          });
          view = [...view, ...round];
          const world = begun({ ...given, chat: view, force: null, share: 1.4 });
          const context = { ...world.context, task: task ?? null };
          const outcome = await acted(slidingWindow, { ...world, context }, params);
          checkView(outcome);
          view = outcome.chat;
          const summary = summariesIn(view)[0];
          const isGone = view.every(({ id }) => id !== task?.id);
          if (isGone && summary !== undefined) expect(shown(summary)).toContain("<request>\nx");
          if (summary !== undefined) expect(shown(summary)).toMatch(/^\[Context summary/);
        }
      },
    ),
    sizeOf(200),
  );
});
