import { describe, expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { indent, scripted } from "../../support/scripts.ts";
import { dataOf, ends, play } from "../../agent/loop/play.ts";

/** Summaries are made for the window of the model that writes them (EF-20, EF-26). */

/** Turns of text, by default of 2 500 tokens each. */
const talking = (turns: number, times = 1_250, ...first: readonly string[]): string => {
  const turn = (n: number): string =>
    `- { name: t${n}, when: { purpose: turn, turn: ${n} }, reply: [{ text: { repeat: "Turn ${n}. ", times: ${times} } }, { call: look }] }`;
  const scenes = Array.from({ length: turns }, (_, n) => turn(n + 1));
  return `scenes:\n${indent([...first, ...scenes, "- { name: done, reply: [{ text: Done. }] }"].join("\n"), 2)}`;
};

const summariser = (window: number): string => `
  - name: cheap
    kind: scripted
    model: small
    context_window: ${window}
    script: { script: 1, scenes: [{ name: all, reply: [{ text: "Told cheaply." }] }] }
agents:`;

const ran = async (effect: string, window: number, own = 60_000, script = talking(14)): Promise<Bench> => {
  const { bench } = await play("", {
    yaml: scripted(script, "guards: { tool_loops: false }")
      .replace("context_window: 128000", `context_window: ${own}`)
      .replace("effects: []", `effects: [${effect}]`)
      .replace("\nagents:", summariser(window)),
  });
  bench.send("Do it.");
  await bench.idle();
  return bench;
};

/** Estimated tokens of each call for a summary. */
const asked = (bench: Bench): readonly number[] =>
  dataOf(bench, "llm_request_start").flatMap(({ purpose, estimated_tokens: tokens }) =>
    purpose === "compaction" ? [tokens] : [],
  );
const stages = (bench: Bench): readonly string[] => dataOf(bench, "compaction").map(({ stage }) => stage);

const compact = "{ kind: compact, params: { threshold: 0.5, target: 0.1, summary_provider: cheap } }";

describe("EF-20 EF-26: the window of a summary's calls", () => {
  test("EF-20 EF-26: a summary_provider with a smaller window is given chunks that fit it", async () => {
    const bench = await ran(compact, 20_000);
    expect(stages(bench)).toContain("full");
    expect(asked(bench).length).toBeGreaterThan(2);
    expect(Math.max(...asked(bench))).toBeLessThan(20_000 / 1.2);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-20 EF-26: one with a larger window is asked no more at once than the run's own model would be", async () => {
    const [larger, same] = [await ran(compact, 500_000), await ran(compact, 60_000)];
    expect(asked(larger)).toEqual(asked(same));
    expect(asked(larger)).toHaveLength(1);
  });

  test("EF-20: one whose window has no room for a summary is never asked: the note stands for the range", async () => {
    const bench = await ran(compact, 5_000);
    expect(asked(bench)).toEqual([]);
    expect(stages(bench)).toContain("note");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-20 EF-29: of one whose window is not known 128 000 tokens are presumed", async () => {
    const bench = await ran(compact.replace("0.5", "0.35"), 0, 400_000, talking(6, 12_500));
    expect(stages(bench)).toContain("full");
    expect(asked(bench).length).toBeGreaterThan(1);
    expect(Math.max(...asked(bench))).toBeLessThan(128_000 / 1.2);
  });

  test.each([
    ["full", "{ kind: compact, params: { threshold: 0.28, target: 0.1 } }"],
    ["window", "{ kind: sliding_window, params: { threshold: 0.28, recent_zone: 1, medium_zone: 0 } }"],
  ])(
    "EF-14 EF-20: a target that the run fell back to writes the summary: stage %s fits its window",
    async (stage, effect) => {
      const backup = `
  - name: backup
    kind: scripted
    model: small
    context_window: 20000
    script:
      script: 1
${indent(talking(14, 1_250, '- { name: told, when: { purpose: compaction }, reply: [{ text: "Told." }] }'), 6)}
agents:`;
      const { bench } = await play("", {
        yaml: scripted(
          "scenes: [{ name: down, fail: [{ status: 401, times: 99 }], reply: [] }]",
          "guards: { tool_loops: false }",
        )
          .replace("context_window: 128000", "context_window: 60000\n    fallbacks: [backup]")
          .replace("effects: []", `effects: [${effect}]`)
          .replace("\nagents:", backup),
      });
      bench.send("Do it.");
      await bench.idle();
      expect(dataOf(bench, "llm_request_start").map(({ provider }) => provider)).toContain("backup");
      expect(stages(bench)[0]).toBe(stage);
      expect(dataOf(bench, "compaction")[0]?.attempts).toBeGreaterThan(1);
    },
  );
});
