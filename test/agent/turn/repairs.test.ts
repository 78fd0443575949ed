import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { benchOf, eventsOf, wireEnv } from "../../engine/harness.ts";
import type { Bench } from "../../support/bench.ts";
import type { Speech } from "../../support/fake-provider-reply.ts";
import type { FakeProvider } from "../../support/fake-provider.ts";
import { startFakeProvider } from "../../support/fake-provider.ts";
import { createProbe } from "../../support/probe.ts";
import { ends, results } from "../loop/play.ts";

/** What a model wrote, or what is stored, ruins no session: each request can be made, over either wire (SE-7, MO-8). */

let fake: FakeProvider;

beforeAll(async () => {
  fake = await startFakeProvider();
});

afterAll(() => fake.close());

interface Wire {
  readonly dialect: "anthropic" | "openai" | "compatible";
  readonly kind: string;
  readonly model: string;
}

const wires: readonly Wire[] = [
  { dialect: "anthropic", kind: "anthropic", model: "claude-sonnet-5-5" },
  { dialect: "openai", kind: "openai", model: "gpt-6.1-sol" },
  { dialect: "compatible", kind: "openai-compatible", model: "local-1" },
];

const open = async ({ dialect, kind, model }: Wire, turns: readonly Speech[]): Promise<Bench> => {
  let asked = 0;
  fake.play(() => ({ speech: turns[asked++] ?? { pieces: [{ text: "Done." }] } }));
  const yaml = `
providers:
  - { name: main, kind: ${kind}, base_url: "${fake.url(dialect)}", api_key: "\${KEY}", model: ${model}, context_window: 128000 }
agents:
  - name: helper
    toolboxes: [probe]
    permissions: { preset: open }
    effects: []
`;
  const { toolbox } = createProbe(true);
  return benchOf(yaml, { env: wireEnv(fake), toolboxes: [toolbox] }, {});
};

const nested = (levels: number, inner: string): string =>
  `${'{"a":'.repeat(levels)}${inner}${"}".repeat(levels)}`;

const calling = (rawArgs: string): Speech => ({ pieces: [{ call: "look", rawArgs }], chunk: 50_000 });

const repairsOf = (bench: Bench): readonly Record<string, unknown>[] =>
  eventsOf(bench, "error").filter(({ code }) => code === "history_repaired");

describe.each(wires)("SE-7 MO-8: $kind", (wire) => {
  test.each([
    ["3 000 levels deep with half a character", nested(3_000, '"\\ud800"')],
    ["50 000 levels deep", nested(50_000, "1")],
    ["65 levels deep", nested(65, "1")],
  ])(
    "SE-7 MO-8 TB-2: a call with arguments %s is refused, told as unparsable, and said once",
    async (_, args) => {
      const bench = await open(wire, [calling(args), calling("{}")]);
      bench.send("Go");
      await bench.idle();
      bench.send("On");
      await bench.idle();
      expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
      expect(results(bench)[0]).toMatch(/^error: invalid_arguments: .* nested deeper than 32 levels/);
      const stored = bench
        .chat()
        .flatMap(({ parts }) => parts.find((part) => part.type === "tool_call") ?? []);
      expect(stored[0]).toMatchObject({ args });
      for (const { text } of fake.requests.slice(-3)) {
        expect(text).toContain("_invalid");
        expect(text).not.toContain(nested(65, "").slice(0, 65 * 5));
      }
      const first = {
        code: "history_repaired",
        retryable: true,
        message: "arguments_too_deep at msg_main_1",
      };
      expect(repairsOf(bench), "once in the run that wrote it, once in the next").toEqual([first, first]);
    },
  );

  test("SE-7 ★: what is stored already and no wire can carry ends no run", async () => {
    const bench = await open(wire, [
      { pieces: [{ call: "look", rawArgs: '{"name":"DEEP"}' }] },
      { pieces: [{ call: "look", rawArgs: '{"name":"HALF"}' }] },
    ]);
    bench.send("Go HALF");
    await bench.idle();
    const deep = JSON.stringify(nested(3_000, '"\\ud800"')).slice(1, -1);
    bench.sql(
      `UPDATE messages SET json = replace(replace(json, '\\"DEEP\\"', '${deep}'), 'HALF', '\\ud800')`,
    );
    bench.crash();
    bench.send("On");
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    const [said, ...more] = repairsOf(bench);
    expect(more).toEqual([]);
    expect(said).toMatchObject({ retryable: true });
    expect(
      String(said?.["message"])
        .split(", ")
        .map((each) => each.split(" ")[0]),
    ).toEqual(expect.arrayContaining(["text_mended", "arguments_too_deep"]));
  });

  test("SE-14: an answer that nests without end is sent back, and breaks no check", async () => {
    const answer = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const bench = await open(wire, [
      { pieces: [{ text: answer }], chunk: 50_000 },
      { pieces: [{ text: "[1]" }] },
    ]);
    bench.send("Go", { output_schema: { enum: [[1], [2]] } });
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(fake.requests.at(-1)?.text).toContain("the answer is not JSON, or nests deeper than 64 levels");
    expect(eventsOf(bench, "attempt_aborted")).toEqual([]);
  });
});
