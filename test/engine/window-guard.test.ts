import { expect, test } from "vitest";
import { benchOf, eventsOf, lastEvent, refused, say } from "./harness.ts";

const script =
  "replies: [{ reply: [{ text: one }] }, { reply: [{ text: two }] }, { reply: [{ text: three }] }]";

const team = (window: string, guard = ""): string => `
providers:
  - { name: main, kind: scripted, model: "\${MODEL}", script: { script: 1, ${script} } }
  - { name: tiny, kind: scripted, model: tiny, context_window: 8000, script: { script: 1, ${script} } }
models: { given: { context_window: ${window} }, larger: { context_window: 128000 } }
agents:
  - name: helper
    effects: []
    guards: { tool_loops: false${guard} }
`;

const env = { MODEL: "given" };
const warnings = (windows: readonly Record<string, unknown>[]): readonly unknown[] =>
  windows.map(({ window }) => window);

test.each(["8000", "15999"])(
  "★ EF-30: a run under a window of %s ends as context_window_too_small before any call",
  async (window) => {
    const bench = await benchOf(team(window), { env }, {});
    expect(await say(bench)).toMatchObject({
      state: "failed",
      reason: "context_window_too_small",
      error: {
        detail: `the context window of main/given has ${window} tokens, fewer than guards.context_window.minimum; use a larger model`,
      },
    });
    expect(bench.requests).toEqual([]);
    expect(bench.types().slice(-6)).toEqual([
      "agent_start",
      "input_applied",
      "message_added",
      "error",
      "agent_end",
      "run_end",
    ]);
    expect(bench.types()).not.toContain("turn_start");
    expect(await say(bench, "Again")).toMatchObject({ reason: "context_window_too_small" });
  },
);

test("EF-30: 16 000 warns once, in the first run that has it, and the run goes on; a crash does not warn again", async () => {
  const bench = await benchOf(team("16000"), { env }, {});
  expect(await say(bench)).toMatchObject({ state: "completed" });
  expect(warnings(eventsOf(bench, "context_window_warning"))).toEqual([16_000]);
  expect(lastEvent(bench, "context_window_warning")).toEqual({ kind: "small_window", window: 16_000 });
  bench.crash();
  expect(await say(bench, "Again")).toMatchObject({ state: "completed" });
  expect(eventsOf(bench, "context_window_warning")).toHaveLength(1);
});

test.each(["32000", "128000", "0"])("EF-30: a window of %s passes without a word", async (window) => {
  const bench = await benchOf(team(window), { env }, {});
  expect(await say(bench)).toMatchObject({ state: "completed" });
  expect(eventsOf(bench, "context_window_warning")).toEqual([]);
});

test("EF-30: the guard is the agent's: a minimum of 0 lets every window pass, a higher one none", async () => {
  const none = await benchOf(team("1000", ", context_window: { minimum: 0, warning: 0 }"), { env }, {});
  expect(await say(none)).toMatchObject({ reason: expect.not.stringMatching("too_small") as string });
  const high = await benchOf(
    team("60000", ", context_window: { minimum: 64000, warning: 64000 }"),
    { env },
    {},
  );
  expect(await say(high)).toMatchObject({ reason: "context_window_too_small" });
});

test("EF-30: an override to a small model is refused before any call, at create and later; a larger one frees the session", async () => {
  const closed = await benchOf(team("8000"), { env });
  expect(refused(closed, "create", { model: "tiny" }).code).toBe("context_window_too_small");
  const bench = await benchOf(team("8000"), { env }, {});
  expect(refused(bench, "patch", { model: "tiny" }).code).toBe("context_window_too_small");
  expect(await say(bench)).toMatchObject({ reason: "context_window_too_small" });
  bench.ok("patch", { model: "larger" });
  expect(await say(bench)).toMatchObject({ state: "completed" });
});
