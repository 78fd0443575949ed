import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { ChatEdit, Effect, EffectContext } from "../../src/agent/definition/effect.ts";
import { defineEffect } from "../../src/agent/definition/effect.ts";
import { play, refused, run } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";

interface View {
  readonly turn: number;
  readonly size: number;
  readonly system: string;
  readonly tools: readonly { readonly name: string }[];
  readonly messages: readonly {
    readonly id: string;
    readonly state: string;
    readonly by: string | null;
    readonly tokens: number;
    readonly original_tokens: number;
    readonly text: string;
  }[];
  readonly hidden: readonly { readonly id: string; readonly why: string }[];
  readonly changes: readonly {
    readonly effect: string | null;
    readonly edit: string;
    readonly tokens_saved: number;
  }[];
  readonly verified: boolean | null;
}

const viewOf = (bench: Bench, turn: number, runId = "run_1"): View =>
  bench.ok("context", { run: runId, turn }) as unknown as View;

const effect = (
  kind: string,
  phase: Effect["phase"],
  edits: (context: EffectContext) => readonly ChatEdit[],
  hide: readonly string[] = [],
): Effect =>
  defineEffect({
    kind,
    description: "Of a test.",
    phase,
    order: "inject",
    params: z.strictObject({}),
    run: (context) => ({
      edits: edits(context),
      ...(hide.length > 0 && context.turn > 3 ? { tools: { hide } } : {}),
    }),
  });

const shortening = effect("shortener", "after_complete", ({ view }) =>
  view
    .slice(0, -3)
    .flatMap((message): ChatEdit[] =>
      message.role === "tool" && message.overlay === undefined
        ? [{ overlay: { message: message.id, part: 0, text: "…" } }]
        : [],
    ),
);

const noting = effect("noter", "before_complete", ({ turn }) =>
  turn % 4 === 0 ? [{ inject: { text: `Turn ${turn}.` } }] : [],
);

const retiring = effect(
  "retirer",
  "before_complete",
  ({ view, turn }) =>
    turn % 7 === 0
      ? [{ retire: { from: view[0]?.id ?? "", to: view.at(-5)?.id ?? "", summary: `Summary at ${turn}.` } }]
      : [],
  ["fire"],
);

const twenty = async (): Promise<Bench> => {
  const look = "{ reply: [{ call: look, args: { name: a } }] }";
  const turns = Array.from({ length: 20 }, () => look).join(", ");
  const { bench } = await run(`replies: [${turns}, { reply: [{ text: Done. }] }]`, {
    effects: { effects: [retiring, noting, shortening] },
  });
  return bench;
};

describe("EF-42: the context view", () => {
  test("EF-42: 20 turns with effects: each is verified, and changes add up to the difference in tokens", async () => {
    const bench = await twenty();
    let before: View | null = null;
    for (let turn = 1; turn <= 21; turn++) {
      const view = viewOf(bench, turn);
      expect(view.verified, `turn ${turn}`).toBe(true);
      const saved = view.changes.reduce((sum, change) => sum + change.tokens_saved, 0);
      if (before !== null) expect(before.size - view.size, `turn ${turn}`).toBe(saved);
      before = view;
    }
  });

  test("EF-42: it tells what is overlaid, summarised and noted, by whom, and what left the view", async () => {
    const view = viewOf(await twenty(), 8);
    expect(view.messages[0]).toMatchObject({ state: "summary", by: "retirer", text: "Summary at 7." });
    expect(view.messages.find(({ state }) => state === "note")).toMatchObject({
      by: "noter",
      text: "Turn 8.",
    });
    const overlaid = view.messages.find(({ state }) => state === "overlaid");
    expect(overlaid).toMatchObject({ by: "shortener", text: "[ok] …" });
    expect(overlaid?.tokens).toBeLessThan(overlaid?.original_tokens ?? 0);
    expect(view.hidden[0]).toMatchObject({ id: "msg_main_0", why: expect.stringContaining("summarised in") });
    expect(view.tools.map(({ name }) => name)).not.toContain("fire");
    expect(view).toMatchObject({ hidden_tools: [{ name: "fire", by: "retirer" }] });
    expect(viewOf(await twenty(), 1).tools.map(({ name }) => name)).toContain("fire");
  });

  test("EF-42: after a compaction turn 1 still shows as it was sent, over a restart", async () => {
    const bench = await twenty();
    const sent = bench.requests[1]?.messages.map(({ id }) => id);
    bench.crash();
    const view = viewOf(bench, 2);
    expect(view.messages.map(({ id }) => id)).toEqual(sent);
    expect(view.verified).toBe(true);
  });

  test("EF-42: the wire body and a text for people", async () => {
    const bench = await twenty();
    const body = bench.ok("context", { run: "run_1", turn: 8, format: "provider" }) as unknown as {
      messages: unknown[];
    };
    expect(body.messages).toHaveLength(viewOf(bench, 8).messages.length);
    const { text } = bench.ok("context", { run: "run_1", turn: 8, format: "text" }) as unknown as {
      text: string;
    };
    expect(text).toContain("run_1, turn 8: tester on script/play");
    expect(text).toContain("these are the bytes that were sent");
    expect(text).toContain("noter: inject 1 message");
  });

  test("EF-42: a request that cannot be built again as it was is not verified", async () => {
    const advising = (advice: string): string =>
      scripted("replies: [{ reply: [{ text: Hi. }] }]", `instructions: ${advice}`);
    const engine = (advice: string) => engineOf(advising(advice), { toolboxes: [createProbe().toolbox] });
    const { bench } = await run("", { yaml: advising("Hurry.") });
    expect(viewOf(bench, 1)).toMatchObject({ verified: true });
    bench.deploy(await engine("Linger."));
    expect(viewOf(bench, 1)).toMatchObject({ verified: false });
    bench.deploy(await engine("Hurry."));
    expect(viewOf(bench, 1)).toMatchObject({ verified: true });
  });

  test("EF-42 AP-3: another tenant sees nothing, a caller without the scope is refused, an unknown turn is 404", async () => {
    const { bench } = await play("replies: [{ reply: [{ text: Hi. }] }]");
    bench.send("Go");
    await bench.idle();
    const query = { run: "run_1", turn: 1 };
    const other = bench.performAs({ tenant: "t2" }, "context", query);
    expect(other.ok ? "" : other.problem.code).toBe("not_found");
    const unable = bench.performAs({ scopes: ["sessions:read"] }, "context", query);
    expect(unable.ok ? "" : unable.problem.code).toBe("scope_missing");
    expect(refused(bench, "context", { run: "run_1", turn: 2 })).toBe("not_found");
    expect(refused(bench, "context", { run: "run_9", turn: 1 })).toBe("not_found");
  });

  test("EF-42: a rolled-back run can still be looked at", async () => {
    const { bench } = await play("replies: [{ reply: [{ text: Hi. }] }, { reply: [{ text: Ho. }] }]");
    bench.send("Go");
    await bench.idle();
    bench.ok("clear");
    bench.send("Anew");
    await bench.idle();
    expect(viewOf(bench, 1).messages.map(({ text }) => text)).toEqual(["Go"]);
    expect(viewOf(bench, 1, "run_2").messages.map(({ text }) => text)).toEqual(["Anew"]);
    expect(viewOf(bench, 1, "run_2").verified).toBe(true);
  });
});

describe("EF-43: originals and pins", () => {
  test("EF-43: retired=true gives every original with its present state", async () => {
    const bench = await twenty();
    const { data } = bench.ok("messages", { retired: true, limit: 200 }) as unknown as {
      data: readonly {
        id: string;
        state: string;
        retired_by: string | null;
        overlay?: object;
        parts: object[];
      }[];
    };
    expect(data.find(({ id }) => id === "msg_main_0")).toMatchObject({
      state: "retired",
      retired_by: "retirer",
    });
    const overlaid = data.find(({ state }) => state === "overlaid");
    expect(overlaid?.overlay).toMatchObject({ by: "shortener" });
    expect(JSON.stringify(overlaid?.parts)).toContain("look(a) done");
    expect(data.filter(({ state }) => state === "full").length).toBeGreaterThan(5);
    expect(data).toHaveLength(bench.state().threads["main"]?.nextPos ?? 0);
  });

  test("EF-43: a summary that is stored in pieces tells who wrote it, too", async () => {
    const long = effect("teller", "before_complete", ({ turn, view }) =>
      turn === 2
        ? [
            {
              retire: {
                from: view[0]?.id ?? "",
                to: view.at(-1)?.id ?? "",
                summary: "told ".repeat(110_000),
              },
            },
          ]
        : [],
    );
    const { bench } = await run(
      "replies: [{ reply: [{ call: look, args: { name: a } }] }, { reply: [{ text: Done. }] }]",
      { effects: { effects: [long] } },
    );
    const { data } = bench.ok("messages", { retired: true }) as unknown as {
      data: readonly { id: string; retired_by: string | null }[];
    };
    expect(data.find(({ id }) => id === "msg_main_0")).toMatchObject({ retired_by: "teller" });
  });

  test("EF-2: a message pinned by API is shown whole again, and stays so", async () => {
    const bench = await twenty();
    const short = bench.chat().find(({ overlay }) => overlay !== undefined);
    const { tokens = 0 } = bench.state().threads["main"] ?? {};
    bench.ok("pin", { message: short?.id, pinned: true });
    expect(bench.state().threads["main"]?.tokens).toBeGreaterThan(tokens);
    bench.crash();
    bench.send("Again");
    await bench.idle();
    const sent = bench.requests.at(-1)?.messages.find(({ id }) => id === short?.id);
    expect(JSON.stringify(sent?.parts)).toContain("look(a) done");
    expect(bench.chat().find(({ id }) => id === short?.id)?.marks).toContain("pinned");
    bench.ok("pin", { message: short?.id, pinned: false });
    bench.crash();
    expect(bench.chat().find(({ id }) => id === short?.id)?.marks).not.toContain("pinned");
    expect(refused(bench, "pin", { message: "msg_main_0", pinned: true })).toBe("not_found");
  });
});
