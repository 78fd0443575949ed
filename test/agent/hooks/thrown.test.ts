import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Effect } from "../../../src/agent/definition/effect.ts";
import { defineEffect } from "../../../src/agent/definition/effect.ts";
import type { Guard, Middleware } from "../../../src/agent/definition/guard.ts";
import { defineGuard, defineMiddleware } from "../../../src/agent/definition/guard.ts";
import { openBench } from "../../support/bench.ts";
import { createProbe } from "../../support/probe.ts";
import { scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf } from "../loop/play.ts";

/** What an effect, a guard or middleware of a team throws is logged, so that its author finds the place. */

const fail = (): never => {
  throw new Error("no canary at 25");
};

const failing = (phase: Effect["phase"], run: Effect["run"]): Effect =>
  defineEffect({ kind: "tide_note", phase, order: "inject", params: z.strictObject({}), run });

const watching = (hooks: Pick<Guard, "before" | "after">): Guard =>
  defineGuard({ kind: "tide_guard", description: "", params: z.strictObject({}), ...hooks });

const around = (hooks: Partial<Pick<Middleware, "start" | "finish">>): Middleware =>
  defineMiddleware({
    kind: "tide_watch",
    description: "",
    params: z.strictObject({}),
    ...hooks,
  });

const effects = "effects: [{ kind: tide_note }]";
const guards = "    guards: { tide_guard: {} }";
const middleware = "    middleware: [{ kind: tide_watch }]";

const replies = "replies: [{ reply: [{ call: look, args: { name: a } }] }, { reply: [{ text: Done. }] }]";

const logged = async (agent: string, extras: object, env: Readonly<Record<string, string>> = {}) => {
  const { toolbox } = createProbe(true);
  const yaml =
    agent === effects ? scripted(replies).replace("effects: []", effects) : scripted(replies, agent);
  const engine = await engineOf(yaml, { toolboxes: [toolbox], ...extras, env });
  const bench = openBench({ engine });
  bench.ok("create", {});
  bench.send("Go");
  await bench.idle();
  expect(dataOf(bench, "run_end")).toMatchObject([{ reason: "effect_failed" }]);
  return bench.logs.filter(({ msg }) => msg === "hook_threw");
};

describe("RE-12: what a team's own code throws around a turn is logged with its place, and without its message", () => {
  test.each([
    ["an effect", "tide_note", effects, { effects: [failing("before_complete", fail)] }],
    [
      "an effect with a promise",
      "tide_note",
      effects,
      { effects: [failing("before_complete", async () => fail())] },
    ],
    ["an effect after a reply", "tide_note", effects, { effects: [failing("after_complete", fail)] }],
    ["a guard before a call", "tide_guard", guards, { guards: [watching({ before: fail })] }],
    [
      "a guard after a call",
      "tide_guard",
      guards,
      { guards: [watching({ before: () => ({ do: "allow" }), after: fail })] },
    ],
    ["middleware at the start", "tide_watch", middleware, { middleware: [around({ start: fail })] }],
    ["middleware at the end", "tide_watch", middleware, { middleware: [around({ finish: fail })] }],
  ])("%s", async (_, hook, agent, extras) => {
    const lines = await logged(agent, extras);
    expect(lines).toMatchObject([{ level: "warn", thread: "main", run: "run_1", hook, fault: "Error" }]);
    expect(JSON.stringify(lines[0]?.["frames"])).toContain("hooks/thrown.test.ts:");
    expect(JSON.stringify(lines)).not.toContain("canary");
  });

  test("on a developer's machine its message is logged, and its stack below the line", async () => {
    const [line] = await logged(
      effects,
      { effects: [failing("before_complete", fail)] },
      { LIMPET_DEV: "1" },
    );
    expect(line).toMatchObject({ hook: "tide_note", message: "no canary at 25" });
    expect(line?.["below"]).toMatch(/^\n {4}at .*hooks\/thrown\.test\.ts:/);
  });
});
