import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { expect, test } from "vitest";
import { defineEffect } from "../../src/agent/definition/effect.ts";
import { buildFiles } from "../../src/config/build/emit.ts";
import { effectsTable } from "../../src/config/explain/explain-effects.ts";
import { explainAgent, explainKinds } from "../../src/config/explain/explain.ts";
import type { JsonSchema } from "../../src/config/json-schema.ts";
import { effectKinds } from "../../src/effects/schema.ts";
import { complaints, compile, team } from "./support.ts";

const remindStyle = defineEffect({
  kind: "remind_style",
  description: "Reminds of a style.",
  phase: "before_complete",
  order: "inject",
  params: z.strictObject({
    every: z.int().min(1).default(10).describe("Turns between two notes."),
    text: z.string().min(1).describe("What the note says."),
  }),
  run: () => ({}),
});

const extended = (effects: unknown) => ({ extensions: { exports: { effects } } });
const known = extended([remindStyle]);
const withEffects = (list: string): string => team({ agent: `    effects: ${list}` });

const effectsOf = async (yaml: string, options = {}): Promise<unknown> => {
  const { team: compiled, diagnostics } = await compile(yaml, options);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return compiled?.agents[0]?.effects;
};

test("EF-44: an effect of the extensions is configured like a built-in one, its defaults filled in", async () => {
  expect(await effectsOf(withEffects("[{ kind: remind_style, params: { text: Hi } }]"), known)).toEqual([
    { kind: "remind_style", params: { every: 10, text: "Hi" } },
  ]);
  const shared = team({
    top: "defaults: { effects: [{ kind: remind_style, params: { text: Hi, every: 3 } }] }",
  });
  expect(await effectsOf(shared, known)).toEqual([
    { kind: "remind_style", params: { every: 3, text: "Hi" } },
  ]);
});

test("EF-44 EF-10: a wrong param fails the build with file, line, path and the way out", async () => {
  const lines = async (entry: string): Promise<readonly string[]> =>
    (await complaints(withEffects(`[${entry}]`), known)).map((line) => line.replace("config/acme/", ""));
  expect(await lines("{ kind: remind_style, params: { text: Hi, every: 0 } }")).toEqual([
    "team.yaml:9:64 error out_of_range agents[0].effects[0].params.every: the value must be at least 1",
  ]);
  expect(await lines("{ kind: remind_style, params: { text: Hi, evry: 2 } }")).toEqual([
    'team.yaml:9:57 error unknown_key agents[0].effects[0].params.evry: unknown key "evry"\n  did you mean "every"? known: every, text',
  ]);
  expect((await lines("{ kind: remind_style }"))[0]).toMatch(
    /^team.yaml:9:\d+ error missing_key agents\[0\]\.effects\[0\]\.params\.text: "text" is required here/,
  );
  expect((await lines("{ kind: remind_stile }"))[0]).toMatch(
    /unknown_effect .*\n {2}did you mean "remind_style"\?/,
  );
});

test("EF-44: without the extension its kind is unknown", async () => {
  expect((await complaints(withEffects("[{ kind: remind_style, params: { text: Hi } }]")))[0]).toContain(
    'unknown_effect agents[0].effects[0].kind: there is no effect "remind_style"',
  );
});

const wrong: readonly (readonly [string, unknown, RegExp])[] = [
  [
    "repeats a built-in",
    [{ ...remindStyle, kind: "compact" }],
    /name_conflict effects\[0\]: there is already an effect "compact"/,
  ],
  [
    "stands there twice",
    [remindStyle, remindStyle],
    /name_conflict effects\[1\]: there is already an effect "remind_style"/,
  ],
  [
    "has a kind with capitals",
    [{ ...remindStyle, kind: "Remind" }],
    /extension_invalid effects\[0\]: this is not an effect/,
  ],
  [
    "does nothing",
    [{ ...remindStyle, run: undefined }],
    /extension_invalid effects\[0\]: this is not an effect/,
  ],
  [
    "has an unknown phase",
    [{ ...remindStyle, phase: "sometimes" }],
    /extension_invalid effects\[0\]: this is not an effect/,
  ],
  [
    "takes any key",
    [{ ...remindStyle, params: z.object({}) }],
    /extension_invalid effects\[0\]\.params: .*strictObject/,
  ],
  [
    "has params that are no schema",
    [{ ...remindStyle, params: {} }],
    /extension_invalid effects\[0\]\.params: .*strictObject/,
  ],
  [
    "has params that no editor can be told of",
    [{ ...remindStyle, params: z.strictObject({ at: z.date() }) }],
    /extension_invalid effects\[0\]\.params: .*JSON Schema/,
  ],
  ["is no list", remindStyle, /extension_invalid effects: the export effects must be a list/],
];
for (const [what, effects, says] of wrong) {
  test(`EF-44: an effect of the extensions that ${what} is refused`, async () => {
    const lines = await complaints(team(), extended(effects));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^config\/acme\/extensions\.ts:1:1 error /);
    expect(lines[0]).toMatch(says);
  });
}

test("EF-44: an effect may do without a description", async () => {
  const { description: _, ...plain } = remindStyle;
  const used = team({ agent: "    effects: [{ kind: remind_style, params: { text: Be brief. } }]" });
  expect(await complaints(used, extended([plain]))).toEqual([]);
});

test("CF-36 EF-44: the team's own JSON Schema knows its effects with their params", async () => {
  const files = buildFiles(await compile(team(), known), true);
  const schema = JSON.parse(files?.get("team.schema.json") ?? "{}") as JsonSchema;
  const entries = schema.properties?.["agents"]?.items?.properties?.["effects"]?.items?.oneOf ?? [];
  expect(entries.map(({ properties }) => properties?.["kind"]?.const)).toEqual([
    ...effectKinds,
    "remind_style",
  ]);
  expect(entries.at(-1)).toMatchObject({
    description: "Reminds of a style.",
    properties: { params: { properties: { every: { default: 10, minimum: 1 } } } },
  });
});

test("EF-10: 0 means 0", async () => {
  const zeros =
    "[{ kind: trim_tool_results, params: { max_result_length: 0, preserve_recent: 0 } }, { kind: observation_mask, params: { threshold: 0, recent_window: 0, recent_turns: 0 } }]";
  expect(await effectsOf(withEffects(zeros))).toEqual([
    { kind: "trim_tool_results", params: { max_result_length: 0, preserve_recent: 0 } },
    {
      kind: "observation_mask",
      params: { threshold: 0, recent_window: 0, style: "preview", recent_turns: 0 },
    },
  ]);
});

test("CF-14 EF-13: context_compaction: auto is a mask with its threshold, as digests, five turns whole", async () => {
  const mask = {
    kind: "observation_mask",
    params: { threshold: 0.5, recent_window: 10, style: "digest", recent_turns: 5 },
  };
  const options = "    options: { context_compaction: auto, compaction_threshold: 0.5 }";
  expect(await effectsOf(team({ agent: `    effects: []\n${options}` }))).toEqual([mask]);
  expect(await effectsOf(team({ agent: options }))).toMatchObject([
    mask,
    { kind: "trim_tool_results" },
    { kind: "compact" },
  ]);
  const twice = team({ agent: `    effects: [{ kind: observation_mask }]\n${options}` });
  expect((await complaints(twice))[0]).toContain("duplicate_setting agents[0].options.context_compaction");
});

test("CF-37 EF-5: explain shows effects in the order in which they run, each with its origin", async () => {
  const rows = async (yaml: string): Promise<readonly (readonly string[])[]> => {
    const { team: compiled, draft } = await compile(yaml, known);
    if (compiled === null || draft === null) throw new Error("the team was not built");
    return explainAgent(draft, compiled, "guide", [], 0)
      .filter(({ section }) => section === "effects")
      .map(({ key, origin }) => [key, origin]);
  };
  const written =
    "    effects:\n      - { kind: progress }\n      - { kind: remind_style, params: { text: Hi } }\n      - { kind: compact }\n" +
    "    options: { context_compaction: auto, compaction_threshold: 0.5 }";
  expect(await rows(team({ agent: written }))).toEqual([
    ["1 observation_mask", "line 13"],
    ["2 compact", "line 12"],
    ["3 progress", "line 10"],
    ["4 remind_style", "line 11"],
  ]);
  expect(await rows(team())).toEqual([
    ["1 compact", "generated"],
    ["2 trim_tool_results", "generated"],
  ]);
});

test("CF-37: explain --kinds tells the parameters of each effect", () => {
  expect(explainKinds()["effects"]).toMatchObject({
    loop_detect: ["threshold", "window_size"],
    progress: ["interval"],
  });
});

test("the README's table of effects is the one of the definitions (npx limpet explain --effects)", () => {
  const readme = readFileSync(join(import.meta.dirname, "../../config/README.md"), "utf8");
  expect(readme).toContain(effectsTable());
  for (const kind of effectKinds) expect(effectsTable()).toContain(`| \`${kind}\` |`);
});

test("CF-14: a context_threshold is 0 or below 1: at 1 nothing would be compacted in time", async () => {
  const threshold = (value: string) => team({ agent: `    options: { context_threshold: ${value} }` });
  expect(await complaints(threshold("1"))).toEqual([
    "config/acme/team.yaml:9:35 error out_of_range agents[0].options.context_threshold: the value must be less than 1",
  ]);
  expect(await complaints(threshold("0.99"))).toEqual([]);
});
