import { describe, expect, test } from "vitest";
import { slidingWindow } from "../../src/effects/sliding-window.ts";
import {
  acted,
  chatOf,
  expectValid,
  human,
  prose,
  reply,
  shown,
  stagesOf,
  summariesIn,
  times,
  use,
  worldOf,
} from "./compaction/support.ts";
import type { Outcome, Setting, Step } from "./compaction/support.ts";
import type { Json, Message } from "../../src/chat/message.ts";

const slid = (
  view: readonly Message[],
  params: object = {},
  setting: Setting = {},
  state?: Json,
): Promise<Outcome> => acted(slidingWindow, worldOf(view, { size: 90_000, ...setting }), params, state);

const zones = { recent_zone: 2, medium_zone: 2, trim_length: 50 };
const seven = (): readonly Message[] =>
  chatOf([human("The goal."), ...times(3, (n) => use(`result ${n} ${prose(2_000)}`))]);

describe("EF-14: zones", () => {
  test("old is retired behind one summary, medium results are cut, recent ones stay", async () => {
    const view = seven();
    const { chat, stages, calls, result } = await slid(view, zones);
    expect(stages).toEqual(["window"]);
    expect(calls).toHaveLength(1);
    expect(chat.map(({ id }) => id).slice(1)).toEqual(["m3", "m4", "m5", "m6"]);
    expect(shown(chat[0])).toMatch(/^\[Context summary: turns run_1\/1–run_1\/1\]/);
    expect(shown(chat[0])).toContain("Told.");
    expect(shown(chat[2])).toMatch(/^result 1 prose .*… \[trimmed\]$/);
    expect([...shown(chat[2])].length).toBe(50 + "… [trimmed]".length);
    expect(shown(chat[4])).toBe(shown(view[6]));
    expect(result.notify?.[0]?.data).toMatchObject({
      retired: { from: "m0", to: "m2", count: 3 },
      attempts: 1,
    });
    expectValid(chat);
  });

  test("a command that ended by itself is cut, whatever its exit code; an error stays", async () => {
    const failed = [0, 1].map((n) =>
      use(`${n} ${prose(2_000)}`, { status: "error", ...(n === 0 ? { exit: 1 } : {}) }),
    );
    const view = chatOf([human("The goal."), use(prose(2_000)), ...failed, use(prose(2_000))]);
    const { chat } = await slid(view, { ...zones, medium_zone: 4 });
    expect(shown(chat[2])).toMatch(/^0 prose .*… \[trimmed\]$/);
    expect(shown(chat[4])).toBe(shown(view[6]));
  });

  test("the summary has no Current State and no Next Steps", async () => {
    const { calls } = await slid(seven(), zones);
    expect(calls[0]?.system).toContain("## Goal");
    expect(calls[0]?.system).not.toMatch(/Current State|Next Steps/);
  });

  test("★ an edge inside a block moves to older messages", async () => {
    const parallel: Step = { calls: times(4, () => ({})).map((_, n) => ({ result: `${n} ${prose(500)}` })) };
    const view = chatOf([human("The goal."), ...times(6, () => reply(prose(400))), parallel, reply("Ok.")]);
    const { chat } = await slid(view, { recent_zone: 3, medium_zone: 1, trim_length: 0 });
    expect(chat.map(({ id }) => id).slice(1)).toEqual(view.slice(-7).map(({ id }) => id));
    expect(chat.slice(1).map(shown)).toEqual(view.slice(-7).map(shown));
    expectValid(chat);
  });

  test("errors in the medium zone are not cut, nor are images taken out of what is", async () => {
    const view = chatOf([
      human(`The goal. ${prose(3_000)}`),
      use(prose(500), { status: "error" }),
      use(prose(500), { media: true }),
      reply("Ok."),
      reply("Well."),
    ]);
    const { chat } = await slid(view, { recent_zone: 2, medium_zone: 4, trim_length: 50 });
    expect(chat[2]?.overlay).toBeUndefined();
    expect(chat[4]?.overlay).toMatchObject({ media: true });
  });

  test("nothing old: only the cut, without a model", async () => {
    const { context, calls } = worldOf(seven(), { size: 90_000 });
    const params = slidingWindow.params.parse({ ...zones, medium_zone: 5 });
    const result = slidingWindow.run(context, params, slidingWindow.state?.initial ?? null);
    if (result instanceof Promise) throw new Error("it asked");
    expect(calls).toEqual([]);
    expect(stagesOf(result)).toEqual(["window"]);
  });

  test("the former summary is no message of any zone", async () => {
    const [goal, ...rest] = chatOf([human(prose(3_000)), ...times(2, () => use(prose(500)))]);
    const former = { edit: 1, by: "compact", from: 50, to: 60 };
    const summary = { ...(goal as Message), id: "summary", origin: "system" as const, summary: former };
    const { calls, stages } = await slid([goal as Message, summary, ...rest], {
      recent_zone: 2,
      medium_zone: 3,
      trim_length: 9,
    });
    expect([calls, stages]).toEqual([[], ["window"]]);
  });

  test("what no model call has read is recent, whatever the zones say", async () => {
    const view = chatOf([human(prose(4_000)), { calls: [{ result: prose(500) }, { result: prose(500) }] }]);
    const { chat } = await slid(view, { recent_zone: 0, medium_zone: 0 }, { unread: 2 });
    expect(chat.slice(1).map(shown)).toEqual(view.slice(1).map(shown));
    expect(summariesIn(chat)).toHaveLength(1);
  });

  test("fewer messages than the recent zone, and an empty chat: nothing", async () => {
    for (const view of [chatOf([]), chatOf([human("Hi.")])]) expect((await slid(view)).result).toEqual({});
  });
});

describe("EF-14: the running summary", () => {
  test("★ three evictions, across runs: one summary, updated each time, with the goal quoted", async () => {
    let view = seven();
    const task = view[0] ?? null;
    for (let round = 1; round <= 3; round++) {
      const { chat, calls } = await slid(view, zones, { task, summariser: () => `Summary ${round}.` });
      expect(summariesIn(chat)).toHaveLength(1);
      expect(shown(chat[0])).toContain(`Summary ${round}.`);
      expect(shown(chat[0])).toContain("<request>\nThe goal.\n</request>");
      if (round > 1) expect(calls[0]?.prompt).toContain(`Summary ${round - 1}.`);
      const more = chatOf([human("x"), ...times(3, () => use(prose(2_000)))]).slice(1);
      view = [
        ...chat,
        ...more.map((message, n) => ({
          ...message,
          id: `r${round}_${n}`,
          pos: round * 100 + n,
          parts: message.parts.map((part) =>
            part.type === "tool_call"
              ? { ...part, id: `${part.id}_${round}` }
              : part.type === "tool_result"
                ? { ...part, call: `${part.call}_${round}` }
                : part,
          ),
        })),
      ];
      expectValid(view);
    }
  });

  test("★ EF-24: a summary that failed changes nothing, says so, and is tried again three turns later", async () => {
    const view = seven();
    const { chat, result, stages } = await slid(view, zones, { summariser: () => "" });
    expect(chat).toEqual(view);
    expect(stages).toEqual(["failed"]);
    expect(result.notify?.[0]?.data).toMatchObject({ attempts: 3, message: "window: the summary is empty" });
    let state = result.state;
    for (const turn of [1, 2]) {
      const rest = await slid(chat, zones, {}, state);
      expect([rest.calls, rest.result.edits], `turn ${turn}`).toEqual([[], undefined]);
      state = rest.result.state;
    }
    const again = await slid(chat, zones, {}, state);
    expect(again.stages).toEqual(["window"]);
    expect(summariesIn(again.chat)).toHaveLength(1);
  });

  test("EF-24: what does not fit is not left to wait", async () => {
    const view = seven();
    const { result } = await slid(view, zones, { summariser: () => "" });
    expect((await slid(view, zones, { size: 95_000 }, result.state)).stages).toEqual(["window"]);
  });

  test("EF-24: below the threshold nothing is waited for any longer", async () => {
    const view = seven();
    let { state } = (await slid(view, zones, { summariser: () => "" })).result;
    for (const size of [60_000, 60_000, 60_000])
      state = (await slid(view, zones, { size }, state)).result.state;
    expect(state).toEqual({ wait: 0, floor: null });
  });

  test("it acts whenever it is over its threshold, however little was added since", async () => {
    const first = await slid(seven(), zones);
    const more = chatOf([human("x"), use(prose(400))]).slice(1);
    const view = [
      ...first.chat,
      ...more.map((message) => ({ ...message, id: `more_${message.id}`, pos: message.pos + 100 })),
    ];
    const again = await slid(view, zones, { size: 70_000 }, first.result.state);
    expect(again.stages).toEqual(["window"]);
    expect(again.calls).toHaveLength(1);
    expect(summariesIn(again.chat)).toHaveLength(1);
  });

  test("EF-8: below the threshold it answers at once, with nothing", async () => {
    expect((await slid(seven(), zones, { size: 69_999 })).result).toEqual({});
    expect((await slid(seven(), zones, { window: 0 })).result).toEqual({});
  });
});
