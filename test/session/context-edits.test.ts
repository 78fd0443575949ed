import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { ChatEdit, Effect, EffectContext } from "../../src/agent/definition/effect.ts";
import { defineEffect } from "../../src/agent/definition/effect.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { dataOf, play, run } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";
import { done, indent, scripted } from "../support/scripts.ts";

/** Who took what out of the view, and why (EF-42). */

interface Change {
  readonly effect: string | null;
  readonly reason: string | null;
  readonly edit: string;
  readonly messages: readonly string[];
  readonly tokens_saved: number;
}

interface View {
  readonly size: number;
  readonly verified: boolean | null;
  readonly messages: readonly {
    readonly state: string;
    readonly by: string | null;
    readonly reason: string | null;
  }[];
  readonly hidden: readonly {
    readonly id: string;
    readonly by: string | null;
    readonly reason: string | null;
    readonly run: string | null;
    readonly turn: number | null;
    readonly why: string;
  }[];
  readonly changes: readonly Change[];
}

const viewOf = (bench: Bench, turn: number, runId = "run_1"): View =>
  bench.ok("context", { run: runId, turn }) as unknown as View;

const savedBy = ({ changes }: View, kind: string): number =>
  changes.reduce((sum, { effect, tokens_saved: saved }) => sum + (effect === kind ? saved : 0), 0);

const effect = (
  kind: string,
  phase: Effect["phase"],
  edits: (context: EffectContext) => readonly ChatEdit[],
): Effect =>
  defineEffect({
    kind,
    phase,
    order: "inject",
    params: z.strictObject({}),
    run: (context) => ({ edits: edits(context) }),
  });

const look = "{ reply: [{ call: look, args: { name: a } }] }";

const range = (from: string | undefined, to: string | undefined, summary?: string): ChatEdit => ({
  retire: { from: from ?? "", to: to ?? "", ...(summary === undefined ? {} : { summary }) },
});

/** In turn 4 the first turn leaves behind a summary, the second with none. */
const retiring = effect("retirer", "before_complete", ({ view, turn }) =>
  turn === 4 ? [range(view[0]?.id, view[2]?.id, "What was."), range(view[3]?.id, view[4]?.id)] : [],
);

describe("EF-42: edits say who made them", () => {
  test("EF-42: what left without a summary left by somebody, with run, turn and reason", async () => {
    const { bench } = await run(`replies: [${look}, ${look}, ${look}, ${done}]`, {
      effects: { effects: [retiring] },
    });
    const view = viewOf(bench, 4);
    const who = { by: "retirer", reason: "before_complete", run: "run_1", turn: 4 };
    expect(view.hidden).toMatchObject([
      { id: "msg_main_0", ...who, why: "summarised in msg_main_7" },
      { id: "msg_main_1", ...who },
      { id: "msg_main_2", ...who },
      { id: "msg_main_3", ...who, why: "before_complete" },
      { id: "msg_main_4", ...who },
    ]);
    expect(view.changes.map(({ effect: kind, edit, messages }) => [kind, edit, messages.length])).toEqual([
      [null, "append", 2],
      ["retirer", "retire", 3],
      ["retirer", "retire", 2],
      ["retirer", "inject", 1],
    ]);
    const [said] = dataOf(bench, "effect_applied");
    expect(savedBy(view, "retirer")).toBe((said?.tokens_before ?? 0) - (said?.tokens_after ?? 0));
    const { data } = bench.ok("messages", { retired: true }) as unknown as {
      data: readonly { id: string }[];
    };
    expect(data.find(({ id }) => id === "msg_main_3")).toMatchObject({
      state: "retired",
      retired_by: "retirer",
      retired_for: "before_complete",
    });
  });

  test("EF-42: what one effect shortens before the model has seen it is its doing, and so is what comes and goes", async () => {
    const shortening = effect("shortener", "before_complete", ({ view }) =>
      view.flatMap((message): ChatEdit[] =>
        message.role === "tool" && message.overlay === undefined
          ? [{ overlay: { message: message.id, part: 0, text: "…" } }]
          : [],
      ),
    );
    const dropping = effect("dropper", "before_complete", ({ view, turn }) =>
      turn === 3 ? [range(view.at(-2)?.id, view.at(-1)?.id)] : [],
    );
    const noting = effect("noter", "before_complete", ({ turn }) => [{ inject: { text: `Turn ${turn}.` } }]);
    const { bench } = await run(`replies: [${look}, ${look}, ${done}]`, {
      effects: { effects: [shortening, dropping, noting] },
    });
    const before = viewOf(bench, 2);
    const view = viewOf(bench, 3);
    expect(view.messages.find(({ state }) => state === "note")).toMatchObject({
      by: "noter",
      reason: "before_complete",
    });
    expect(view.messages.find(({ state }) => state === "overlaid")).toMatchObject({
      by: "shortener",
      reason: "before_complete",
    });
    expect(view.changes.map(({ effect: kind, edit, messages }) => [kind, edit, messages.length])).toEqual([
      [null, "append", 2],
      ["noter", "inject", 1],
      ["shortener", "overlay", 1],
      ["dropper", "retire", 2],
    ]);
    for (const kind of ["shortener", "dropper", "noter"]) {
      const said = dataOf(bench, "effect_applied").findLast((each) => each.kind === kind);
      expect(savedBy(view, kind), kind).toBe((said?.tokens_before ?? 0) - (said?.tokens_after ?? 0));
    }
    const saved = view.changes.reduce((sum, change) => sum + change.tokens_saved, 0);
    expect(before.size - view.size).toBe(saved);
  });

  test("EF-42: what a rollback and a clear took away says so", async () => {
    const script = `replies: [{ reply: [{ text: Hi. }] }, { reply: [{ text: Ho. }] }, ${done}]`;
    const { bench } = await play(script);
    bench.send("Go");
    await bench.idle();
    bench.ok("clear");
    bench.send("Anew");
    await bench.idle();
    bench.send("More");
    await bench.idle();
    const [first] = viewOf(bench, 1, "run_2").hidden;
    expect(first).toMatchObject({ by: null, reason: "clear", why: "clear", run: null, turn: null });
    expect(viewOf(bench, 1, "run_2").changes[1]).toMatchObject({
      effect: null,
      edit: "remove",
      reason: "clear",
    });
  });
});

const big = defineTool({
  name: "big",
  description: "Says much.",
  params: z.strictObject({ tokens: z.number().describe("How much.") }),
  safety: "read",
  run: ({ tokens }) => ({ content: `begin ${"x".repeat(4 * tokens)} end` }),
});

const pinned = defineTool({
  name: "skill",
  description: "Says what stays.",
  params: z.strictObject({}),
  safety: "read",
  pinned: true,
  run: () => ({ content: "It stays." }),
});

/** Six turns of 2 500 tokens and a pinned one between them; the last overflows four times. */
const overflowing = (): string => {
  const turn = (n: number): string =>
    `- { name: t${n}, when: { purpose: turn, turn: ${n} }, reply: [{ call: ${n === 3 ? "skill, args: {}" : "big, args: { tokens: 2500 }"} }] }`;
  const scenes = [
    '- { name: tells, when: { purpose: compaction }, reply: [{ text: "Told." }] }',
    "- { name: over, when: { purpose: turn, turn: 6 }, reply: [{ text: Done. }], fail: [{ status: 413, times: 4 }] }",
    ...Array.from({ length: 5 }, (_, n) => turn(n + 1)),
    `- ${done.replace("{ reply", "{ name: done, reply")}`,
  ];
  return `scenes:\n${indent(scenes.join("\n"), 2)}`;
};

test("EF-42 EF-25: after a hard clear every message that left says by whom and why, and changes add up", async () => {
  const { bench } = await play("", {
    tools: [big, pinned],
    yaml: scripted(overflowing(), "guards: { tool_loops: false }").replace(
      "context_window: 128000",
      "context_window: 20000",
    ),
  });
  bench.send("Do it.");
  await bench.idle();
  for (let at = bench.alarm(); at !== null && bench.state().threads["main"]?.run != null; at = bench.alarm())
    await bench.pass(Math.max(1, at - bench.now()));
  expect(dataOf(bench, "compaction").map(({ stage }) => stage)).toContain("hard_clear");
  const before = viewOf(bench, 5);
  const view = viewOf(bench, 6);
  expect(view.hidden.length).toBeGreaterThan(4);
  for (const each of view.hidden)
    expect(each).toMatchObject({ by: "compact", reason: "overflow", run: "run_1", turn: 6 });
  expect(view.changes.filter(({ effect: kind, edit }) => kind === null && edit !== "append")).toEqual([]);
  const saved = view.changes.reduce((sum, change) => sum + change.tokens_saved, 0);
  expect(before.size - view.size).toBe(saved);
  const told = dataOf(bench, "effect_applied").filter(({ kind }) => kind === "compact");
  const shrunk = told.reduce((sum, { tokens_before: old, tokens_after: now }) => sum + old - now, 0);
  expect(savedBy(view, "compact")).toBe(shrunk);
  expect(view.verified).toBe(true);
});
