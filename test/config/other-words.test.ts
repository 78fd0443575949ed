import { expect, test } from "vitest";
import { otherWords } from "../../src/config/document/other-words.ts";
import { productSchema } from "../../src/config/build/emit.ts";
import { schemasBelow } from "../../src/config/json-schema.ts";
import type { JsonSchema } from "../../src/config/json-schema.ts";
import { profiles } from "../../src/providers/index.ts";
import { toolboxes } from "../../src/toolboxes/index.ts";
import { complaints, team } from "./support.ts";

/** Who comes from another product writes its words; the build knows which key they mean. */

test("CF-29: a key by which another product calls it is told by ours, and one that nobody knows is not guessed", async () => {
  const hintOf = async (agent: string): Promise<string> =>
    (await complaints(team({ agent: `    ${agent}` }))).join("\n").split("\n  ")[1] ?? "";
  expect(await hintOf("system_prompt: Hi.")).toBe('did you mean "instructions"?');
  expect(await hintOf("tools: [git]")).toBe('did you mean "toolboxes"?');
  expect(await hintOf("max_turns: 9")).toBe('did you mean "options.max_iterations"?');
  expect(await hintOf("instrutions: Hi.")).toBe('did you mean "instructions"?');
  expect(await hintOf("tide: high")).toBe("");
  const [inDefaults] = await complaints(team({ top: "defaults: { system_prompt: Hi. }" }));
  expect(inDefaults, "defaults have no instructions").toMatch(/unknown key "system_prompt"$/);
});

test("CF-29: a key that belongs into a map below is told its place, however it is spelt", async () => {
  const hintOf = async (lines: Parameters<typeof team>[0]): Promise<string> =>
    (await complaints(team(lines))).join("\n").split("\n  ")[1] ?? "";
  expect(await hintOf({ top: "budgets: { max_cost_usd: 1 }" })).toBe('did you mean "run.max_cost_usd"?');
  expect(await hintOf({ top: "rules: []" })).toBe('did you mean "permissions.rules"?');
  expect(await hintOf({ top: "max_iterations: 5" })).toBe('did you mean "defaults.options.max_iterations"?');
  expect(await hintOf({ agent: "    inherit: union" })).toBe('did you mean "delegation.inherit"?');
  expect(await hintOf({ agent: "    maxIterations: 5" })).toBe('did you mean "options.max_iterations"?');
  expect(await hintOf({ agent: "    max_duration: 5m" })).toBe('did you mean "guards.budget.max_duration"?');
  expect(
    await hintOf({ top: "budget: { run: { max_cost_usd: 1 } }" }),
    "and a key that is a letter away",
  ).toBe('did you mean "budgets" or "defaults.guards.budget"?');
  expect(await hintOf({ provider: "    max_retries: 3" })).toBe('did you mean "rate_limit.max_retries"?');
});

const told = async (yaml: string): Promise<string> =>
  (await complaints(yaml)).map((line) => line.split(/ error \w+ /)[1] ?? line).join("\n");

const withLine = (agent: string, top = ""): string => team({ agent: `    ${agent}`, top });

const withToolbox = (name: string, top = ""): string =>
  team({ top }).replace(/toolboxes: .*/, `toolboxes: [${name}]`);

test("CF-28 CF-29: an entry that is no list, or lacks its kind or its params, is told how it is written", async () => {
  expect(await told(withLine("effects: [compact]"))).toBe(
    "agents[0].effects[0]: expected a map, found a text\n  write the entry as a map: { kind: … }",
  );
  expect(await told(withLine("effects: [{ kind: compact, threshold: 0.5 }]"))).toBe(
    'agents[0].effects[0].threshold: unknown key "threshold"\n  did you mean "params.threshold"?',
  );
  const served = withToolbox("sea", 'mcp_servers: { sea: { url: "https://sea.example.com/mcp" } }');
  expect(await told(served)).toBe(
    "mcp_servers: expected a list, found a map\n  begin each entry of the list with a dash: - name: sea",
  );
  const single = "providers: { kind: anthropic, model: m }\nagents: [{ name: guide }]\n";
  expect(await told(single)).toContain("begin each entry of the list with a dash: - kind: …");
});

test("CF-16: a bare number where a duration or off stands is told to have no unit", async () => {
  expect(await complaints(withLine("guards: { budget: { max_duration: 30 } }"))).toEqual([
    expect.stringMatching(
      /error invalid_duration agents\[0\]\.guards\.budget\.max_duration: write .*, or off$/,
    ),
  ]);
});

test("CF-29: a vendor or a tool in the place of a kind or a toolbox is told which one is meant", async () => {
  const provider = "  - { name: other, kind: google, model: m }";
  expect(await told(team({ provider, agent: "    fallbacks: [other]" }))).toContain(
    'there is no provider kind "google"\n  did you mean "gemini"? known: anthropic,',
  );
  expect(await told(withToolbox("bash"))).toContain('did you mean "exec"?');
  expect(await told(withToolbox("fs_read"))).toContain("it is a tool of the toolbox filesystem");
});

test("CF-29: a word that is close to a name of the team's own is told both meanings", async () => {
  const server = 'mcp_servers: [{ name: files, url: "https://files.example.com/mcp" }]';
  expect(await told(withToolbox("file", server))).toContain('did you mean "files" or "filesystem"?');
  expect(await told(withLine("maxTurns: 9"))).toContain('did you mean "options.max_iterations"?');
  expect(await told(withLine("reasoning_effort: high"))).toContain('did you mean "reasoning.effort"?');
});

test("CF-28: a list that is written as a map is told its dash, and a key only if an entry may have it", async () => {
  const dash = "begin each entry of the list with a dash";
  expect(await told(withLine("fallbacks: { main: {} }"))).toMatch(new RegExp(`${dash}$`));
  expect(await told(withLine("effects: { compact: { threshold: 0.5 } }"))).toMatch(new RegExp(`${dash}$`));
  expect(await told('agents: { "a: b": {} }\nproviders: []\n')).toMatch(new RegExp(`${dash}$`, "m"));
  const server = "mcp_servers: { headers: { A: b }, name: sea }";
  expect(await told(team({ top: server }))).toContain(`${dash}: - headers: …`);
});

test("CF-25: an unknown toolbox is left out only where it may be a server that is missing", async () => {
  const codes = async (name: string, top: string): Promise<readonly (string | undefined)[]> =>
    (await complaints(withToolbox(name, top))).map((line) => line.split(" ")[2]);
  const wrongServers = "mcp: []";
  expect(await codes("sea", wrongServers)).toEqual(["unknown_key"]);
  expect(await codes("filesytem", wrongServers)).toEqual(["unknown_toolbox", "unknown_key"]);
  expect(await codes("fs_read", wrongServers)).toEqual(["unknown_toolbox", "unknown_key"]);
  const twice = "{ name: sea, url: https://sea.example.com/mcp }";
  expect(await codes("blub", `mcp_servers: [${twice}, ${twice}]`)).toContain("unknown_toolbox");
  expect(await codes("sea", "git: { work_dir: a, work_dir: b }")).toContain("unknown_toolbox");
});

test("CF-29: beside the team of a template, no key of a team is suggested", async () => {
  const template = `template: { name: t, description: d }\nmodel: m\nconfig:\n${team().replaceAll(/^(?=.)/gm, "  ")}`;
  const hinted = (await complaints(template)).filter((line) => line.includes('"providers"'));
  expect(hinted).toEqual([]);
});

test("CF-28: params that stand beside their kind are one mistake", async () => {
  expect(await told(withLine("middleware: [{ kind: timeout, duration: 5m }]"))).toBe(
    'agents[0].middleware[0].duration: unknown key "duration"\n  did you mean "params.duration"?',
  );
});

const branchesOf = (schemas: readonly JsonSchema[]): readonly JsonSchema[] =>
  schemas.flatMap((schema) => [schema, ...branchesOf(schema.anyOf ?? schema.oneOf ?? [])]);

const below = (schemas: readonly JsonSchema[], part: string | number): readonly JsonSchema[] =>
  schemasBelow(branchesOf(schemas), part, undefined);

const keysOf = (schemas: readonly JsonSchema[]): readonly string[] =>
  branchesOf(schemas).flatMap(({ properties = {} }) => Object.keys(properties));

const wordsAt = (place: string): readonly (readonly [string[], string[]])[] =>
  Object.entries(otherWords.find(({ at }) => at.test(place))?.byMeaning ?? {}).map(
    ([meaning, words]) => [meaning.split("."), words.split(" ")] as const,
  );

test("CF-29: each key that is meant by another word exists, and none of these words is a key itself", () => {
  const root = [JSON.parse(productSchema()) as JsonSchema];
  const places = [[], ["providers", 0], ["mcp_servers", 0], ["agents", 0]];
  for (const path of places) {
    const place = path.reduce(below, root);
    const words = wordsAt(path.join("."));
    expect(words.length, path.join(".")).toBeGreaterThan(0);
    for (const [meaning, others] of words) {
      const parent = meaning.slice(0, -1).reduce(below, place);
      expect(keysOf(parent), meaning.join(".")).toContain(meaning.at(-1));
      expect(keysOf(place).filter((key) => others.includes(key))).toEqual([]);
    }
  }
});

test("CF-29: each kind and toolbox that is meant by another word exists, and none of these words is one", () => {
  const names = {
    "providers.0.kind": profiles.map(({ kind }) => kind),
    toolboxes: toolboxes.map(({ name }) => name),
  };
  for (const [place, known] of Object.entries(names))
    for (const [[meaning = ""], others] of wordsAt(place)) {
      expect(known).toContain(meaning);
      expect(others.filter((word) => known.includes(word))).toEqual([]);
    }
});
