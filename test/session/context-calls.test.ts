import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineEffect } from "../../src/agent/definition/effect.ts";
import { dataOf, ends, play, refused, run } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";

/** What the model saw in calls that were not answered, or not yet, and in those that repair an answer (EF-42). */

interface View {
  readonly call: number;
  readonly outcome: string;
  readonly purpose: string;
  readonly calls: readonly {
    readonly call: number;
    readonly outcome: string;
    readonly purpose: string;
    readonly usage: { readonly input: number; readonly output: number } | null;
    readonly cost_usd: number | null;
    readonly estimated: boolean;
  }[];
  readonly before: { readonly run: string; readonly turn: number; readonly size: number } | null;
  readonly messages: readonly { readonly id: string; readonly state: string; readonly text: string }[];
  readonly changes: readonly { readonly edit: string; readonly tokens_saved: number }[];
  readonly parameters: { readonly max_tokens: number };
  readonly size: number;
  readonly verified: boolean | null;
}

const viewOf = (bench: Bench, turn: number, call?: number): View =>
  bench.ok("context", { run: "run_1", turn, ...(call === undefined ? {} : { call }) }) as unknown as View;

const outcomes = ({ calls }: View): readonly string[] =>
  calls.map(({ call, purpose, outcome }) => `${call} ${purpose} ${outcome}`);

const sentIds = (bench: Bench, index: number): readonly string[] =>
  bench.requests[index]?.messages.map(({ id }) => id) ?? [];

const look = "{ reply: [{ call: look, args: { name: a } }] }";

const settle = async (bench: Bench): Promise<void> => {
  await bench.idle();
  while (bench.state().threads["main"]?.run != null) await bench.pass(5_000);
};

describe("EF-42: calls that failed", () => {
  test("EF-42: a turn asked twice shows the answered call, and the failed one on demand, both verified", async () => {
    const { bench } = await play(`replies: [${look}, { fail: [{ status: 529 }], reply: [{ text: Done. }] }]`);
    bench.send("Go");
    await settle(bench);
    const view = viewOf(bench, 2);
    expect(outcomes(view)).toEqual(["1 turn overloaded", "2 turn ok"]);
    expect(view).toMatchObject({ call: 2, outcome: "ok", verified: true });
    const failed = viewOf(bench, 2, 1);
    expect(failed).toMatchObject({ call: 1, outcome: "overloaded", verified: true });
    expect(failed.messages.map(({ id }) => id)).toEqual(sentIds(bench, 1));
    expect(failed.parameters).toEqual(view.parameters);
    expect(failed.changes).toEqual(view.changes);
    expect(refused(bench, "context", { run: "run_1", turn: 2, call: 3 })).toBe("not_found");
    expect(refused(bench, "context", { run: "run_1", turn: 2, call: 0 })).toBe("invalid_request");
  });

  test("EF-42: each call of a turn has its own usage, and the first of a thread has none before it", async () => {
    const { bench } = await play(
      `replies: [{ fail: [{ status: 529 }], reply: [{ call: look, args: { name: a } }] }, { reply: [{ text: Done. }] }]`,
      { team: "models: { play: { price: { input: 1, output: 1 } } }" },
    );
    bench.send("Go");
    await settle(bench);
    const [failed, answered] = viewOf(bench, 1).calls;
    expect(failed).toMatchObject({ outcome: "overloaded", usage: null, cost_usd: null, estimated: false });
    expect(answered).toMatchObject({ outcome: "ok", usage: { input: expect.any(Number) as number } });
    const [finished] = dataOf(bench, "llm_finish");
    expect(answered?.usage).toEqual(finished?.usage);
    expect(finished?.cost_usd).toBeGreaterThan(0);
    expect(answered?.cost_usd).toBe(finished?.cost_usd);
    expect([1, 2].map((call) => viewOf(bench, 1, call).before)).toEqual([null, null]);
    expect(viewOf(bench, 2).before).toEqual({ run: "run_1", turn: 1, size: viewOf(bench, 1).size });
    const { text } = bench.ok("context", { run: "run_1", turn: 1, format: "text" }) as unknown as {
      text: string;
    };
    expect(text).toContain("came with this first call");
    expect(text).not.toContain("call before");
  });

  test("EF-42: a turn without any answer is shown as it was sent, over a restart", async () => {
    const { bench } = await run(`replies: [${look}, { fail: [{ status: 400 }], reply: [{ text: Never. }] }]`);
    expect(ends(bench)).toEqual(["failed:provider_error"]);
    bench.crash();
    const view = viewOf(bench, 2);
    expect(view).toMatchObject({ outcome: "invalid_request", verified: true });
    expect(view.messages.map(({ id }) => id)).toEqual(sentIds(bench, 1));
    const { text } = bench.ok("context", { run: "run_1", turn: 2, format: "text" }) as unknown as {
      text: string;
    };
    expect(text).toContain("run_1, turn 2: tester on script/play, invalid_request");
    expect(text).toContain("these are the bytes that were sent");
  });

  test("EF-42 EF-25: a request that was too long shows as it was before the compaction that followed", async () => {
    const shrinking = defineEffect({
      kind: "shrinker",
      phase: "before_complete",
      order: "shrink",
      params: z.strictObject({}),
      run: ({ view }) => ({
        edits: [{ retire: { from: view[0]?.id ?? "", to: view.at(-1)?.id ?? "", summary: "What was." } }],
      }),
    });
    const { bench } = await play(
      `replies: [${look}, { fail: [{ status: 413 }], reply: [{ text: Done. }] }]`,
      { effects: { compaction: shrinking } },
    );
    bench.send("Go");
    await settle(bench);
    const failed = viewOf(bench, 2, 1);
    expect(failed).toMatchObject({ outcome: "context_overflow", verified: true });
    expect(failed.messages).toHaveLength(3);
    const view = viewOf(bench, 2);
    expect(view).toMatchObject({ call: 2, outcome: "ok", verified: true });
    expect(view.messages.map(({ state }) => state)).toEqual(["summary"]);
    const saved = view.changes.reduce((sum, change) => sum + change.tokens_saved, 0);
    expect(viewOf(bench, 1).size - view.size).toBe(saved);
  });

  test("EF-42: an attempt that never left has no view", async () => {
    const { bench } = await play("replies: [{ reply: [{ text: Never. }] }]", {
      effects: { effects: [] },
    });
    bench.send(`Go ${"x ".repeat(300_000)}`);
    await settle(bench);
    expect(bench.requests).toHaveLength(0);
    expect(refused(bench, "context", { run: "run_1", turn: 1 })).toBe("not_found");
  });
});

describe("EF-42: calls under way and broken off", () => {
  test("EF-42: the call in flight shows what it was sent; answered, it is verified", async () => {
    const { bench } = await play(`replies: [${look}, { reply: [{ text: Done. }] }]`);
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    const view = viewOf(bench, 1);
    expect(outcomes(view)).toEqual(["1 turn in_flight"]);
    expect(view.calls[0]).toMatchObject({ usage: null, cost_usd: null, estimated: false });
    expect(view.messages.map(({ id }) => id)).toEqual(sentIds(bench, 0));
    expect(view.verified).toBeNull();
    expect(view.parameters.max_tokens).toBe(bench.requests[0]?.maxTokens);
    bench.hold = false;
    bench.release();
    await bench.idle();
    const { outcome: _, verified: __, calls: ___, ...now } = viewOf(bench, 1);
    const { outcome: ____, verified: _____, calls: ______, ...then } = view;
    expect(now).toEqual(then);
    expect(viewOf(bench, 1)).toMatchObject({ outcome: "ok", verified: true });
  });

  test("EF-42: a call that a crash took shows what it was sent, though the view changed meanwhile", async () => {
    const shortening = defineEffect({
      kind: "shortener",
      phase: "before_complete",
      order: "inject",
      params: z.strictObject({}),
      run: ({ view }) => ({
        edits: view.flatMap(({ role, id, overlay, marks }) =>
          role === "tool" && overlay === undefined && marks === undefined
            ? [{ overlay: { message: id, part: 0, text: "…" } }]
            : [],
        ),
      }),
    });
    const { bench } = await play(`replies: [${look}, { reply: [{ text: Done. }] }]`, {
      effects: { effects: [shortening] },
    });
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.release();
    bench.hold = true;
    await bench.steps();
    expect(bench.requests).toHaveLength(2);
    bench.ok("pin", { message: "msg_main_2", pinned: true });
    expect(viewOf(bench, 2).messages[2]).toMatchObject({ state: "overlaid", text: "[ok] …" });
    bench.crash();
    bench.hold = false;
    await settle(bench);
    const view = viewOf(bench, 2);
    expect(outcomes(view)).toEqual(["1 turn interrupted", "2 turn ok"]);
    expect(view.messages[2]).toMatchObject({ state: "full" });
    const lost = viewOf(bench, 2, 1);
    expect(lost.messages[2]).toMatchObject({ state: "overlaid", text: "[ok] …" });
    expect(lost.verified).toBeNull();
  });

  test("EF-42: a cancelled call shows what it was sent", async () => {
    const { bench } = await play("replies: [{ reply: [{ text: Done. }] }]");
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.ok("cancel");
    await bench.steps();
    const view = viewOf(bench, 1);
    expect(outcomes(view)).toEqual(["1 turn cancelled"]);
    expect(view.calls[0]).toMatchObject({ estimated: true });
    expect(view.messages.map(({ id }) => id)).toEqual(sentIds(bench, 0));
    expect(view.verified).toBeNull();
  });
});

test("EF-42 SE-14: a repair is a call of its turn and does not hide the counted one", async () => {
  const { bench } = await run(
    `replies: [{ reply: [{ text: No JSON. }] }, { reply: [{ text: '{"done": true}' }] }]`,
    { create: { output_schema: { type: "object", required: ["done"] } } },
  );
  expect(dataOf(bench, "turn_start")).toHaveLength(1);
  const view = viewOf(bench, 1);
  expect(outcomes(view)).toEqual(["1 turn ok", "2 repair ok"]);
  expect(view).toMatchObject({ call: 1, purpose: "turn", verified: true });
  expect(view.messages.map(({ id }) => id)).toEqual(sentIds(bench, 0));
  const repair = viewOf(bench, 1, 2);
  expect(repair).toMatchObject({ call: 2, purpose: "repair", verified: true });
  expect(repair.messages.map(({ id }) => id)).toEqual(sentIds(bench, 1));
  const saved = repair.changes.reduce((sum, change) => sum + change.tokens_saved, 0);
  expect(view.size - repair.size).toBe(saved);
  const { text } = bench.ok("context", { run: "run_1", turn: 1, format: "text" }) as unknown as {
    text: string;
  };
  expect(text).toContain("call 1 of 2: 1 ok, 2 repair ok");
});
