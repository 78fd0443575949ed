import * as fc from "fast-check";
import { expect, test } from "vitest";
import { offload } from "../../src/effects/offload.ts";
import { stepsArbitrary } from "./chats.ts";
import { chatOf, human, shown, times, use } from "./compaction/support.ts";
import type { Step } from "./compaction/support.ts";
import { actedOn, contextOf, edited, evaluated } from "./context.ts";
import type { Setting } from "./context.ts";

const over: Setting = { window: 1_000, size: 500, tools: ["recall"] };
const params = { min_result_len: 300, recent_window: 1 };
const long = "a long result ".repeat(40);

const results = (steps: readonly Step[], given: object = {}, setting: Setting = over): readonly string[] =>
  actedOn(offload, chatOf(steps), { ...params, ...given }, { ...over, ...setting })
    .filter(({ role }) => role === "tool")
    .map(shown);

const moved = /^\[offloaded (b\d+): (.{0,200}); recall\("\1"\)\]$/u;

test("EF-40: a long result outside the newest shows its id and the first 200 characters, the newest is whole", () => {
  const [first, last] = results([human("Go"), use(long), use(long)]);
  expect(first).toMatch(moved);
  expect(moved.exec(first ?? "")?.[2]).toBe(long.slice(0, 200).trim());
  expect(last).toBe(long);
});

test("EF-40: shorter results, errors and pinned ones stay", () => {
  const steps: readonly Step[] = [
    human("Go"),
    use("x".repeat(299)),
    use(long, { status: "error" }),
    use(long, { status: "error", exit: 1 }),
    { calls: [{ result: long }], pinned: true },
    use("x".repeat(300)),
    use(long),
  ];
  expect(results(steps).map((text) => moved.test(text))).toEqual([false, false, true, false, true, false]);
});

test("EF-40: lengths are characters", () => {
  const steps = [human("Go"), use("🐚".repeat(299)), use("🐚".repeat(300)), use(long)];
  expect(results(steps).map((text) => moved.test(text))).toEqual([false, true, false]);
});

test("EF-40: below the threshold, and where the model could not recall it, nothing moves", () => {
  const steps = [human("Go"), use(long), use(long)];
  expect(results(steps, {}, { size: 499 })).toEqual([long, long]);
  expect(results(steps, {}, { window: 0 })).toEqual([long, long]);
  expect(results(steps, {}, { tools: ["fs_read"] })).toEqual([long, long]);
});

test("EF-40: an image stays beside what was moved", () => {
  const view = actedOn(offload, chatOf([human("Go"), use(long, { media: true }), use(long)]), params, over);
  expect(view[2]?.overlay?.media).toBe(true);
});

test("EF-40: the defaults are half the window, 2000 characters and six tool messages", () => {
  const steps = [human("Go"), ...times(8, (index) => use("x".repeat(index === 1 ? 1_999 : 2_000)))];
  const view = actedOn(offload, chatOf(steps), {}, over);
  const texts = view.filter(({ role }) => role === "tool").map(shown);
  expect(texts.map((text) => moved.test(text))).toEqual([true, ...Array<boolean>(7).fill(false)]);
});

test("EF-40: a second pass moves nothing again", () => {
  fc.assert(
    fc.property(stepsArbitrary, fc.nat(3), fc.nat(60), (steps, recent_window, min_result_len) => {
      const given = { recent_window, min_result_len };
      const chat = chatOf(steps);
      const after = edited(offload, chat, evaluated(offload, contextOf(chat, over), given));
      expect(evaluated(offload, contextOf(after, over), given)).toEqual({});
    }),
  );
});
