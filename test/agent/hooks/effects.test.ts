import { describe, expect, test } from "vitest";
import * as z from "zod";
import { applyEdits } from "../../../src/agent/context/edits.ts";
import type { ChatEdit, Effect, EffectContext, EffectResult } from "../../../src/agent/definition/effect.ts";
import { defineEffect } from "../../../src/agent/definition/effect.ts";
import type { TransactionContext } from "../../../src/agent/transaction/draft.ts";
import { createDraft, selectThread } from "../../../src/agent/transaction/draft.ts";
import type { Message } from "../../../src/chat/message.ts";
import type { Tool } from "../../../src/tools/define-tool.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";
import type { Bench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done } from "../../support/scripts.ts";
import { insist, settle } from "../../support/power-cut.ts";
import { dataOf, ends, lastResult, play, results, roles, run, textsOf } from "../loop/play.ts";

type Phase = Effect["phase"];

const effect = (
  kind: string,
  phase: Phase,
  act: (
    context: EffectContext,
    state: { readonly n: number },
  ) => EffectResult<{ n: number }> | Promise<EffectResult<{ n: number }>>,
  reset: "run" | "never" = "run",
): Effect =>
  defineEffect({
    kind,
    description: "Of a test.",
    phase,
    order: "inject",
    params: z.strictObject({}),
    state: { initial: { n: 0 }, reset },
    run: (context, _params, state) => act(context, state),
  });

const editing = (
  kind: string,
  phase: Phase,
  edits: (context: EffectContext) => readonly ChatEdit[],
): Effect =>
  effect(kind, phase, (context) => {
    const made = edits(context);
    return made.length === 0 ? {} : { edits: made };
  });

const look = "{ reply: [{ call: look, args: { name: a } }] }";

const many = (count: number, reply: string): string => Array.from({ length: count }, () => reply).join(", ");

const simpleTool = (name: string, content: string, pinned = false): Tool =>
  defineTool({
    name,
    description: "Of a test.",
    params: z.strictObject({}),
    safety: "read",
    pinned,
    run: () => ({ content }),
  });

const bigTool = simpleTool("big", "x".repeat(200));

const pinnedTool = simpleTool("pin", "pinned", true);

/** What the last request showed, a line per message. */
const shown = (bench: Bench): readonly string[] =>
  bench.requests.at(-1)?.messages.map((message) => `${message.role}: ${textsOf(message)}`) ?? [];

const noteEach = editing("noter", "before_complete", ({ turn }) => [{ inject: { text: `turn ${turn}` } }]);

describe("EF-8: the size", () => {
  const bulky = { ...simpleTool("bulky", "b"), description: "word ".repeat(2_000) };
  const claims = (total: number): string =>
    `{ reply: [{ call: look, args: { name: a } }], usage: { input: ${total}, output: 10 } }`;

  test("EF-8: tools that an effect hides leave the context of the last call, too, unless that call had none of them", async () => {
    const seen: [number, number][] = [];
    const watch = (at: 0 | 1): Effect =>
      effect(`watch_${at}`, "before_complete", ({ turn, size }) => {
        (seen[turn - 1] ??= [0, 0])[at] = size;
        return {};
      });
    const hider = effect("hider", "before_complete", ({ turn }) =>
      turn < 2 ? {} : { tools: { hide: ["bulky"] } },
    );
    const { bench } = await run(`replies: [${many(3, claims(20_000))}, ${done}]`, {
      tools: [bulky],
      effects: { effects: [watch(0), hider, watch(1)] },
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    const [first, second, third] = seen;
    expect(first?.[1]).toBe(first?.[0]);
    const [before = 0, after = 0] = second ?? [];
    expect(before).toBe(20_000);
    expect(before - after).toBeGreaterThan(2_000);
    expect(third).toEqual([20_000, 20_000]);
  });
});

describe("EF-1: what an effect sees", () => {
  test("EF-1 EF-4: the facts of the turn, the view, recorded outcomes, sizes and tools; iteration counts from 0", async () => {
    const seen: EffectContext[] = [];
    const watching = effect("watcher", "before_complete", (context) => {
      seen.push(context);
      return {};
    });
    const { bench } = await run(`replies: [${look}, ${done}]`, { effects: { effects: [watching] } });
    const [first, second] = seen;
    expect(first).toMatchObject({
      phase: "before_complete",
      iteration: 0,
      turn: 1,
      run: "run_1",
      agent: "tester",
    });
    expect(first).toMatchObject({ lastUsage: null, window: 128_000, force: null, now: bench.now() });
    expect(first?.view.map(({ role }) => role)).toEqual(["user"]);
    expect(first?.tools).toContain("look");
    expect(first?.task).toMatchObject({ origin: "human" });
    expect(second).toMatchObject({ iteration: 1, turn: 2, unread: 1 });
    expect(second?.view.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(second?.estimate).toBeGreaterThan(first?.estimate ?? 0);
    expect(second?.size).toBeGreaterThanOrEqual(second?.estimate ?? 0);
    expect(dataOf(bench, "effect_applied")).toEqual([]);
  });
});

describe("EF-2: notes", () => {
  test("EF-2 EF-4 EF-11: a before-note is the end of this turn's request, at iteration 0 too", async () => {
    const { bench } = await run(`replies: [${look}, ${done}]`, { effects: { effects: [noteEach] } });
    expect(bench.requests.map(({ messages }) => textsOf(messages.at(-1) ?? { parts: [] }))).toEqual([
      '<note from="noter">turn 1</note>',
      '<note from="noter">turn 2</note>',
    ]);
    expect(dataOf(bench, "effect_applied")).toMatchObject([
      { kind: "noter", phase: "before_complete", injected: 1, overlaid: 0, retired: 0 },
      { kind: "noter", injected: 1 },
    ]);
  });

  test("EF-2 ★: an after-note on a reply with calls stands behind the results", async () => {
    const after = editing("after", "after_complete", ({ turn }) => [{ inject: { text: `seen ${turn}` } }]);
    const { bench } = await run(
      `replies: [{ reply: [{ call: look, args: { name: a } }, { call: look, args: { name: b } }] }, ${done}]`,
      { effects: { effects: [after] } },
    );
    expect(bench.requests[1]?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "tool",
      "user",
    ]);
    expect(roles(bench)).toEqual(["user", "assistant", "tool", "tool", "user", "assistant", "user"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-2: a note or a summary without a visible character is none", async () => {
    const blank = editing("blank", "before_complete", ({ view, turn }) =>
      turn < 3
        ? [{ inject: { text: " \0" } }]
        : [{ retire: { from: view[1]?.id ?? "", to: view.at(-1)?.id ?? "", summary: "\0" } }],
    );
    const { bench } = await run(`replies: [${look}, ${look}, ${done}]`, { effects: { effects: [blank] } });
    expect(bench.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 1]);
    expect(roles(bench)).toEqual(["user", "assistant"]);
  });

  test("EF-2 EF-3 ★: a power cut at any write: no note twice, no count lost", async () => {
    const counting = effect("count", "before_complete", (_context, { n }) => ({
      edits: [{ inject: { text: `note ${n + 1}` } }],
      state: { n: n + 1 },
    }));
    const after = editing("after", "after_complete", ({ turn }) => [{ inject: { text: `after ${turn}` } }]);
    const script = `replies: [${many(2, look)}, ${done}]`;
    const options = { effects: { effects: [counting, after] } };
    const whole = await run(script, options);
    const expected = whole.bench.chat().map(textsOf);
    for (let write = 1; write <= whole.bench.writes(); write++) {
      const { bench } = await play(script, options);
      bench.cutAt(write);
      insist(bench, "send", { id: "i1", content: "Go" }, "i1");
      await settle(bench);
      expect(bench.chat().map(textsOf), `cut at ${write}`).toEqual(expected);
      checkInvariants(bench, ["i1"]);
    }
  });
});

describe("EF-2: overlays", () => {
  const shorten = (to: string, from = 0): Effect =>
    editing("shorten", "before_complete", ({ view, iteration }) =>
      iteration < 1 + from
        ? []
        : view.flatMap((message): ChatEdit[] =>
            message.role === "tool" ? [{ overlay: { message: message.id, part: 0, text: to } }] : [],
          ),
    );

  test("EF-2: the model sees the overlay, storage keeps the original, a restart changes nothing", async () => {
    const { bench } = await run(`replies: [${look}, ${look}, ${done}]`, {
      effects: { effects: [shorten("s")] },
    });
    expect(shown(bench).filter((line) => line.startsWith("tool"))).toEqual(["tool: s", "tool: s"]);
    expect(results(bench)[0]).not.toBe("ok: s");
    bench.crash();
    bench.send("Again");
    await bench.idle();
    expect(shown(bench)[2]).toBe("tool: s");
    expect(results(bench)[0]).not.toBe("ok: s");
  });

  test("EF-2 ★: an overlay that is not shorter is dropped, and nothing is said", async () => {
    const { bench } = await run(`replies: [${look}, ${done}]`, {
      effects: { effects: [shorten("a very long text that stands for a very short result of the probe")] },
    });
    expect(dataOf(bench, "effect_applied")).toEqual([]);
  });

  test("EF-2 ★: a second overlay is made from the original", async () => {
    let first = "";
    const twice = editing("twice", "before_complete", ({ view, iteration }) =>
      view.flatMap((message): ChatEdit[] => {
        const part = message.parts[0];
        if (part?.type !== "tool_result" || iteration === 0) return [];
        first = textsOf({ parts: [part] });
        return [{ overlay: { message: message.id, part: 0, text: first.slice(0, 3 - iteration) } }];
      }),
    );
    const { bench } = await run(`replies: [${look}, ${look}, ${done}]`, { effects: { effects: [twice] } });
    expect(shown(bench)[2]).toBe(`tool: ${first.slice(0, 1)}`);
  });

  test("EF-2 ★: a pinned message is never overlaid, nor is its block", async () => {
    const { bench } = await run(`replies: [{ reply: [{ call: pin }] }, ${look}, ${done}]`, {
      effects: { effects: [shorten("s")] },
      tools: [pinnedTool],
    });
    expect(shown(bench).filter((line) => line.startsWith("tool"))).toEqual(["tool: pinned", "tool: s"]);
  });

  test("EF-40: an overlay may name where recall finds the original", async () => {
    const offload = editing("offload_test", "before_complete", ({ view, iteration }) =>
      view.flatMap((message): ChatEdit[] =>
        message.role === "tool" && iteration === 1
          ? [{ overlay: { message: message.id, part: 0, text: (id) => `[${id}]` } }]
          : [],
      ),
    );
    const { bench } = await run(
      `replies: [{ reply: [{ call: big }] }, { reply: [{ call: recall, args: { id: b1 } }] }, ${done}]`,
      { effects: { effects: [offload] }, tools: [bigTool] },
    );
    expect(shown(bench)[2]).toBe("tool: [b1]");
    expect(results(bench)[1]).toContain("x".repeat(200));
  });
});

describe("EF-2: ranges", () => {
  test("EF-2: an after-effect takes out neither the reply that it follows nor what the reply's calls bring", async () => {
    const sweeping = editing("sweep", "after_complete", ({ view }) => [
      { retire: { from: view[0]?.id ?? "", to: view.at(-1)?.id ?? "", summary: "What was." } },
    ]);
    const { bench } = await run(`replies: [${look}, ${look}, ${done}]`, { effects: { effects: [sweeping] } });
    expect(bench.requests.map(({ messages }) => messages.map(({ role }) => role).join(" "))).toEqual([
      "user",
      "user assistant tool",
      "user assistant tool",
    ]);
    expect(lastResult(bench).text).toBe("Done.");
    expect(roles(bench)).toEqual(["user", "assistant"]);
    checkInvariants(bench, []);
  });

  const retireAt = (turn: number, pick: (context: EffectContext) => ChatEdit[]): Effect =>
    editing("retire", "before_complete", (context) => (context.turn === turn ? pick(context) : []));
  const script = `replies: [${many(3, look)}, ${done}]`;

  test("EF-2 ★: half a block is snapped, one summary stands for the range, originals stay readable", async () => {
    const cutting = retireAt(3, ({ view }) => [
      { retire: { from: view[0]?.id ?? "", to: view[3]?.id ?? "", summary: "What was." } },
    ]);
    const { bench } = await run(script, { effects: { effects: [cutting] } });
    expect(bench.requests[2]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(textsOf(bench.requests[2]?.messages[0] ?? { parts: [] })).toBe("What was.");
    const all = bench.ok("messages", { retired: true }) as unknown as { data: readonly object[] };
    expect(all.data).toHaveLength(9);
    const before = bench.chat().map(({ id }) => id);
    bench.crash();
    bench.send("Again");
    await bench.idle();
    expect(
      bench
        .chat()
        .map(({ id }) => id)
        .slice(0, before.length),
    ).toEqual(before);
  });

  test("EF-2 ★: pinned messages stay with their whole block", async () => {
    const cutting = retireAt(3, ({ view }) => [
      { retire: { from: view[0]?.id ?? "", to: view.at(-1)?.id ?? "", summary: "S." } },
    ]);
    const { bench } = await run(`replies: [{ reply: [{ call: pin }] }, ${look}, ${done}]`, {
      effects: { effects: [cutting] },
      tools: [pinnedTool],
    });
    const ids = bench.chat().map(({ id }) => id);
    expect(shown(bench)).toEqual(["user: S.", "assistant: ", "tool: pinned"]);
    bench.crash();
    expect(bench.chat().map(({ id }) => id)).toEqual(ids);
  });

  test("EF-2: a range that changed since it was looked at is left alone", async () => {
    const { bench } = await run(script);
    const chat = bench.chat();
    const context = {
      now: 0,
      estimate: () => 1,
      agents: () => ({ prefix: "" }),
    } as unknown as TransactionContext;
    const retire = { retire: { from: chat[0]?.id ?? "", to: chat[4]?.id ?? "", summary: "S." } };
    const count = (seen: readonly Message[]): number =>
      applyEdits(
        selectThread(createDraft(bench.state(), context), "main"),
        { kind: "late", reason: "of a test", seen, later: false },
        [retire],
      ).retired;
    expect(count(chat)).toBe(5);
    expect(count(chat.toSpliced(2, 1))).toBe(0);
    expect(count(chat.slice(1))).toBe(0);
    expect(count(chat.with(3, { ...(chat[3] as Message), id: "other" }))).toBe(0);
  });

  test("EF-2: a range without summary leaves only if a user message comes first then", async () => {
    const cutting = retireAt(3, ({ view }) => [
      { retire: { from: view[0]?.id ?? "", to: view[0]?.id ?? "" } },
    ]);
    const { bench } = await run(script, { effects: { effects: [cutting] } });
    expect(dataOf(bench, "effect_applied")).toEqual([]);
    expect(dataOf(bench, "error")).toEqual([]);
  });
});

describe("EF-6 EF-7: ends and hidden tools", () => {
  test("EF-6: a throwing effect ends the run with its name; later effects do not run", async () => {
    const broken = effect("broken", "before_complete", () => {
      throw new Error("no idea");
    });
    const { bench } = await run(`replies: [${done}]`, { effects: { effects: [broken, noteEach] } });
    expect(ends(bench)).toEqual(["failed:effect_failed"]);
    expect(lastResult(bench).error).toBe("broken: no idea");
    expect(bench.requests).toHaveLength(0);
    expect(dataOf(bench, "effect_applied")).toEqual([]);
    bench.send("Again");
    await bench.idle();
    expect(ends(bench)).toHaveLength(2);
  });

  test("EF-6: a built-in shrinker that throws is left out, and the run goes on", async () => {
    const broken: Effect = {
      ...effect("broken", "before_complete", () => {
        throw new Error("no idea");
      }),
      order: "shrink",
    };
    const { bench } = await run(`replies: [${done}]`, {
      effects: { effects: [broken, noteEach], builtIn: true },
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(dataOf(bench, "error")).toMatchObject([{ code: "effect_skipped", message: "broken: no idea" }]);
    expect(dataOf(bench, "effect_applied")).toHaveLength(1);
  });

  test("EF-6: a throwing after-effect ends the run after the reply, its calls answered", async () => {
    const broken = effect("broken", "after_complete", () => {
      throw new Error("no idea");
    });
    const { bench } = await run(`replies: [${look}, ${done}]`, { effects: { effects: [broken] } });
    expect(ends(bench)).toEqual(["failed:effect_failed"]);
    expect(roles(bench)).toEqual(["user", "assistant", "tool"]);
    const text = await run(`replies: [${done}]`, { effects: { effects: [broken] } });
    expect(ends(text.bench)).toEqual(["failed:effect_failed"]);
  });

  test("EF-7 ★: a hidden tool is not declared, and refused when it is called all the same", async () => {
    const hide = effect("hide", "before_complete", () => ({ tools: { hide: ["look", "never_was"] } }));
    const { bench, probe } = await run(`replies: [${look}, ${done}]`, { effects: { effects: [hide] } });
    expect(bench.requests[0]?.tools.map(({ name }) => name)).not.toContain("look");
    expect(dataOf(bench, "llm_request_start")[0]?.tools).toBe(bench.requests[0]?.tools.length);
    expect(results(bench)).toEqual(["denied: not_permitted: look is not available in this turn"]);
    expect(probe.calls).toEqual([]);
    const other = await run(`replies: [${look}, ${done}]`, { effects: { effects: [noteEach] } });
    const size = (bench: Bench): number => dataOf(bench, "llm_request_start")[0]?.estimated_tokens ?? 0;
    expect(size(bench)).toBeLessThan(size(other.bench));
  });

  test("EF-7: a hidden tool is refused under its other name, too", async () => {
    const hide = effect("hide", "before_complete", () => ({ tools: { hide: ["spawn_agents"] } }));
    const { bench } = await run(`replies: [{ reply: [{ call: delegate, args: { tasks: [] } }] }, ${done}]`, {
      effects: { effects: [hide] },
      team: "  - name: mate\n    description: Helps.\ndefaults: { delegation: {} }",
    });
    expect(results(bench)).toEqual(["denied: not_permitted: delegate is not available in this turn"]);
  });

  test("EF-7: stop ends the run when the phase is done", async () => {
    const stop = effect("stopper", "before_complete", ({ iteration }) =>
      iteration < 1 ? {} : { stop: { reason: "no_progress", message: "enough" } },
    );
    const { bench } = await run(`replies: [${many(4, look)}]`, { effects: { effects: [stop, noteEach] } });
    expect(ends(bench)).toEqual(["failed:no_progress"]);
    expect(lastResult(bench)).toMatchObject({ error: "enough", no_progress_detected: true });
    expect(bench.requests).toHaveLength(1);
    expect(dataOf(bench, "effect_applied").map(({ kind }) => kind)).toEqual(["noter", "stopper", "noter"]);
  });

  test("EF-7: effects behind one that needs the outside act before a stop ends the run, whichever of them stops it", async () => {
    const enough = { stop: { reason: "no_progress", message: "enough" } } as const;
    const stop = effect("stopper", "before_complete", ({ iteration }) => (iteration < 1 ? {} : enough));
    const slow = effect("slow", "before_complete", async () => ({}));
    const late = effect("late", "before_complete", async ({ iteration }) =>
      iteration < 1 ? {} : { stop: { reason: "tool_loop", message: "late" } },
    );
    for (const [effects, expected, error] of [
      [[stop, slow, noteEach], ["noter", "stopper", "noter"], "enough"],
      [[late, noteEach], ["noter", "late", "noter"], "late"],
      [[stop, slow, late, slow, noteEach], ["noter", "stopper", "noter"], "enough"],
    ] as const) {
      const { bench } = await run(`replies: [${many(4, look)}]`, { effects: { effects: [...effects] } });
      expect(dataOf(bench, "effect_applied").map(({ kind }) => kind)).toEqual(expected);
      expect(lastResult(bench).error).toBe(error);
      expect(bench.requests).toHaveLength(1);
    }
  });

  test("EF-7 SE-31: a stop that waits for its phase survives a crash, and gives way to a cancel", async () => {
    const stop = effect("stopper", "before_complete", () => ({
      stop: { reason: "no_progress", message: "enough" },
    }));
    const started = async () => {
      let tries = 0;
      const hanging = effect("hanging", "before_complete", async () => {
        tries += 1;
        return tries === 2 ? Promise.withResolvers<{}>().promise : {};
      });
      const { bench } = await play(`replies: [${look}]`, {
        effects: { effects: [stop, hanging, noteEach] },
      });
      bench.send("Go");
      await bench.steps();
      expect(ends(bench)).toEqual([]);
      return bench;
    };
    const crashed = await started();
    crashed.crash();
    await crashed.idle();
    expect(dataOf(crashed, "effect_applied").map(({ kind }) => kind)).toEqual(["stopper", "noter"]);
    expect(ends(crashed)).toEqual(["failed:no_progress"]);
    const cancelled = await started();
    cancelled.ok("cancel");
    await cancelled.idle();
    expect(ends(cancelled)).toEqual(["cancelled:cancelled"]);
  });

  test("EF-11: an effect that only hides tools, or only stops the run, says so; one that changes nothing does not", async () => {
    const hide = effect("hide", "before_complete", () => ({ tools: { hide: ["fire", "unknown"] } }));
    const again = effect("again", "before_complete", () => ({ tools: { hide: ["fire"] } }));
    const stop = effect("stopper", "after_complete", ({ turn }) =>
      turn < 2 ? {} : { stop: { reason: "no_progress", message: "enough" } },
    );
    const { bench } = await run(`replies: [${many(2, look)}]`, {
      effects: { effects: [hide, again, stop] },
    });
    const none = { injected: 0, overlaid: 0, retired: 0 };
    const said = dataOf(bench, "effect_applied");
    expect(said).toMatchObject([
      { kind: "hide", phase: "before_complete", ...none, hidden: 1, stopped: false },
      { kind: "hide", ...none, hidden: 1, stopped: false },
      { kind: "stopper", phase: "after_complete", ...none, hidden: 0, stopped: true },
    ]);
    expect(said[0]?.tokens_after).toBeLessThan(said[0]?.tokens_before ?? 0);
    expect(said[0]?.tokens_after).toBe(dataOf(bench, "llm_request_start")[0]?.estimated_tokens);
    expect(said[2]?.tokens_after).toBe(said[2]?.tokens_before);
  });

  test("EF-3 EF-44: more than 64 KiB of state, 50 edits or 8 000 characters end the run cleanly", async () => {
    const fat = defineEffect({
      kind: "fat",
      description: "x",
      phase: "before_complete",
      order: "inject",
      params: z.strictObject({}),
      state: { initial: "", reset: "run" },
      run: () => ({ state: "x".repeat(70_000) }),
    });
    const noisy = editing("noisy", "before_complete", () =>
      Array.from({ length: 51 }, () => ({ inject: { text: "n" } })),
    );
    const wordy = editing("wordy", "before_complete", () => [{ inject: { text: "n".repeat(8_001) } }]);
    for (const each of [fat, noisy, wordy]) {
      const { bench } = await run(`replies: [${done}]`, { effects: { effects: [each] } });
      expect(ends(bench)).toEqual(["failed:effect_failed"]);
      expect(lastResult(bench).error).toContain(`${each.kind}: `);
    }
  });

  test("EF-6 EF-44: what is no result ends the run with the effect's name, and the session goes on", async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    const wrong: readonly unknown[] = [
      undefined,
      null,
      5,
      { edits: 5 },
      { edits: [null] },
      { edits: [{ inject: { text: 5 } }] },
      {
        edits: [
          {
            overlay: {
              message: "m",
              part: 0,
              text: () => {
                throw new Error("no");
              },
            },
          },
        ],
      },
      { tools: {} },
      { state: cyclic },
      { state: 10n },
    ];
    for (const result of wrong) {
      for (const given of [() => result, async () => result]) {
        const odd: Effect = {
          ...effect("odd", "before_complete", () => ({})),
          run: given as unknown as Effect["run"],
        };
        const { bench } = await run(`replies: [${done}]`, { effects: { effects: [odd] } });
        expect(ends(bench)).toEqual(["failed:effect_failed"]);
        expect(lastResult(bench).error).toContain("odd: ");
      }
    }
  });

  test("EF-3: state of a run starts anew with each run, state that never resets goes on, over restarts", async () => {
    const seen: string[] = [];
    const counter = (kind: string, reset: "run" | "never"): Effect =>
      effect(
        kind,
        "before_complete",
        (_context, { n }) => {
          seen.push(`${kind} ${n}`);
          return { state: { n: n + 1 } };
        },
        reset,
      );
    const { bench } = await run(`replies: [${look}, ${done}, ${done}]`, {
      effects: { effects: [counter("perrun", "run"), counter("ever", "never")] },
    });
    bench.crash();
    bench.send("Again");
    await bench.idle();
    expect(seen).toEqual(["perrun 0", "ever 0", "perrun 1", "ever 1", "perrun 0", "ever 2"]);
  });
});
