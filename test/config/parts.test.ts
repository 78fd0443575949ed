import * as z from "zod";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { shippedTeams } from "../support/shipped.ts";
import { parse } from "yaml";
import { readDocument } from "../../src/config/document/document.ts";
import { shapeIssues } from "../../src/config/document/issues.ts";
import { plainValueOf } from "../../src/config/document/located.ts";
import { formatDiagnostics } from "../../src/config/document/diagnostics.ts";
import { buildFiles, productSchema } from "../../src/config/build/emit.ts";
import { explainAgent } from "../../src/config/explain/explain.ts";
import { teamJsonSchema } from "../../src/config/json-schema.ts";
import type { JsonSchema } from "../../src/config/json-schema.ts";
import {
  isReferenceField,
  missingReferenceText,
  referencesIn,
  resolveReferences,
} from "../../src/config/document/references.ts";
import { definitionOf, revisionOf, withDefinition } from "../../src/config/revision.ts";
import { suggestFor } from "../../src/config/document/suggest.ts";
import { judgeWindow, resolveWindow } from "../../src/config/window.ts";
import { findNearestName } from "../../src/tools/suggest.ts";
import type { WindowQuestion } from "../../src/config/window.ts";
import type { Team } from "../../src/config/team.ts";
import { fixtures } from "./fixtures.ts";
import { complaints, compile, team } from "./support.ts";

const root = resolve(import.meta.dirname, "../..");
const built = async (files: Parameters<typeof compile>[0]): Promise<Team> => {
  const compiled = (await compile(files)).team;
  if (compiled === null) throw new Error("the team was not built");
  return compiled;
};

// ── references ────────────────────────────────────────────────────────────────────────────────────────────────────

test("CF-19 ★: only ${NAME} is a reference; $NAME, $5 and $$ are text, $${ is a literal ${", () => {
  const lookup = (name: string): string => `<${name}>`;
  const resolved = (text: string): unknown => resolveReferences(text, lookup);
  expect(resolved("a ${ONE}-${_two} $THREE $5 $$ $${FOUR}")).toEqual({
    ok: true,
    value: "a <ONE>-<_two> $THREE $5 $$ ${FOUR}",
  });
  expect(referencesIn("${A}${B}${A} $${C} ${d-e} ${F")).toEqual({
    names: ["A", "B"],
    malformed: ["${d-e}", "${F"],
  });
});

test("CF-19 ★: a value is not scanned again and cannot change the structure", () => {
  const hostile = "x: 1\n- ${OTHER} $${y}";
  expect(resolveReferences("${A}", () => hostile)).toEqual({ ok: true, value: hostile });
});

test("CF-20: unset and empty references are named, with the way out", () => {
  expect(resolveReferences("${A}${B}${C}", (name) => ({ A: "1", B: "" })[name])).toEqual({
    ok: false,
    missing: ["B", "C"],
  });
  expect(missingReferenceText("providers[0].api_key", "ANTHROPIC_API_KEY", "acme", false)).toBe(
    "providers[0].api_key: secret ANTHROPIC_API_KEY is not set (wrangler secret put ANTHROPIC_API_KEY --env acme)",
  );
});

test.each([
  ["acme", ".dev.vars.acme"],
  ["default", ".dev.vars"],
])("CF-20: on a local server an unset reference of team %s names %s", (name, file) => {
  expect(missingReferenceText("providers[0].api_key", "KEY", name, true)).toBe(
    `providers[0].api_key: secret KEY is not set (name it under secrets in wrangler.toml, write it into ${file} and start again)`,
  );
});

test("CF-19: references are expanded in the named fields and nowhere else", () => {
  const yes = ["providers.0.api_key", "providers.0.base_url", "providers.0.model", "providers.0.binding"];
  yes.push(
    "providers.0.headers.X",
    "mcp_servers.0.url",
    "mcp_servers.0.env.A",
    "browser.endpoint",
    "webhooks.0.secret",
  );
  yes.push(
    "git.work_dir",
    "http.headers.https://a.X",
    "sandbox.credentials.0.headers.Authorization",
    "agents.0.model",
  );
  const no = [
    "agents.0.instructions",
    "agents.0.name",
    "sandbox.env.A",
    "entry_agent",
    "agents.0.options.response_schema.model",
  ];
  const path = (text: string): (string | number)[] =>
    text.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  expect(yes.filter((text) => !isReferenceField(path(text)))).toEqual([]);
  expect(no.filter((text) => isReferenceField(path(text)))).toEqual([]);
});

const keysOfSections = ["models", "options", "script", "effects", "middleware", "headers", "env", "sandbox"];

test.each(keysOfSections)(
  "CF-19 CF-20: a header or variable may be called %s and is checked",
  async (key) => {
    const withText = (text: string): string =>
      team({
        provider: `    headers: { ${key}: "${text}" }`,
        top: [
          "mcp_servers:",
          `  - { name: far, url: "https://h.example", headers: { ${key}: "${text}" } }`,
          `  - { name: near, command: run, env: { ${key}: "${text}" } }`,
          `http: { headers: { "https://a.example": { ${key}: "${text}" } } }`,
        ].join("\n"),
      });
    const reserved = await compile(withText("${LIMPET_ADMIN_KEY}"));
    expect(
      reserved.diagnostics.filter(({ code }) => code === "reserved_reference").map(({ path }) => path),
    ).toEqual([
      `providers[0].headers.${key}`,
      `mcp_servers[0].headers.${key}`,
      `mcp_servers[1].env.${key}`,
      `http.headers["https://a.example"].${key}`,
    ]);
    expect((await compile(withText("${TOKEN}"))).secrets["TOKEN"]).toContain(`providers[0].headers.${key}`);
  },
);

test("CF-20: names of the runtime are never resolved, whatever they are bound to", () => {
  expect(resolveReferences("${LIMPET_ADMIN_KEY} ${A}", () => "bound")).toEqual({
    ok: false,
    missing: ["LIMPET_ADMIN_KEY"],
  });
  expect(missingReferenceText("providers[0].api_key", "LIMPET_ADMIN_KEY", "acme", false)).toBe(
    "providers[0].api_key: LIMPET_ADMIN_KEY belongs to the runtime; refer to a secret of another name",
  );
});

test("CF-2 CF-20: secrets are the references that an agent can reach, with their fields", async () => {
  const yaml = team({
    provider:
      "    headers: { X-Team: 'a ${TEAM} b' }\n  - name: spare\n    kind: openai\n    api_key: ${SPARE}\n    model: m",
  });
  const { secrets, team: compiled } = await compile(yaml);
  expect(secrets).toEqual({ KEY: ["providers[0].api_key"], TEAM: ["providers[0].headers.X-Team"] });
  expect(compiled?.secrets).toEqual(["KEY", "TEAM"]);
});

// ── windows ───────────────────────────────────────────────────────────────────────────────────────────────────────

const question = (more: Partial<WindowQuestion> = {}): WindowQuestion => ({
  provider: { kind: "anthropic", model: "m" },
  model: "m",
  models: {},
  default_context_windows: {},
  defaultWindow: null,
  ...more,
});
const windows: readonly [name: string, asked: Partial<WindowQuestion>, tokens: number, origin: string][] = [
  [
    "the provider's own, for its own model",
    { provider: { kind: "openai", model: "m", context_window: 9 } },
    9,
    "provider",
  ],
  ["an explicit 0 stays 0", { provider: { kind: "openai", model: "m", context_window: 0 } }, 0, "provider"],
  [
    "not the provider's, for another model",
    { provider: { kind: "openai", model: "n", context_window: 9 } },
    128_000,
    "kind",
  ],
  [
    "models.M for another model",
    { provider: { kind: "openai", model: "n", context_window: 9 }, models: { m: { context_window: 7 } } },
    7,
    "model",
  ],
  [
    "auto is the catalogue",
    { provider: { kind: "openai", model: "gpt-6", context_window: "auto" }, model: "gpt-6" },
    1_050_000,
    "catalogue",
  ],
  [
    "auto without catalogue goes on",
    { provider: { kind: "openai", model: "m", context_window: "auto" } },
    128_000,
    "kind",
  ],
  ["the team's default of the kind", { default_context_windows: { anthropic: 180_000 } }, 180_000, "team"],
  [
    "a team default for a custom kind",
    { provider: { kind: "own", model: "m" }, default_context_windows: { own: 64_000 } },
    64_000,
    "team",
  ],
  [
    "a model smaller than its kind",
    { model: "claude-haiku-4-5", default_context_windows: { anthropic: 300_000 } },
    200_000,
    "catalogue",
  ],
  ["a model larger than its kind", { model: "claude-sonnet-5-5" }, 200_000, "kind"],
  ["anthropic", {}, 200_000, "kind"],
  ["grok", { provider: { kind: "grok", model: "m" } }, 131_072, "kind"],
  ["gemini", { provider: { kind: "gemini", model: "m" } }, 1_048_576, "kind"],
  [
    "an unknown kind in the catalogue",
    { provider: { kind: "own", model: "grok-4.7" }, model: "grok-4.7" },
    500_000,
    "catalogue",
  ],
  ["the agent's own, before all others", { agentWindow: 50_000 }, 50_000, "agent"],
  [
    "the agent's own, where its provider says 0",
    { provider: { kind: "openai", model: "m", context_window: 0 }, agentWindow: 50_000 },
    50_000,
    "agent",
  ],
  [
    "the agent's own above its kind's, up to what the catalogue says",
    { model: "claude-sonnet-5-5", agentWindow: 5_000_000 },
    1_000_000,
    "agent",
  ],
  [
    "the agent's own up to what models.M says, which overrides the catalogue",
    {
      model: "claude-sonnet-5-5",
      models: { "claude-sonnet-5-5": { context_window: 90_000 } },
      agentWindow: 500_000,
    },
    90_000,
    "agent",
  ],
  [
    "the agent's own up to what its provider says of a model that the catalogue does not know",
    { provider: { kind: "openai", model: "m", context_window: 32_000 }, agentWindow: 50_000 },
    32_000,
    "agent",
  ],
  [
    "the team's defaults",
    { provider: { kind: "own", model: "m" }, defaultWindow: 50_000 },
    50_000,
    "defaults",
  ],
  ["not the team's defaults where a level above says so", { defaultWindow: 50_000 }, 200_000, "kind"],
  ["the last resort", { provider: { kind: "own", model: "m" } }, 128_000, "last resort"],
  [
    "an inherited name is no setting",
    { provider: { kind: "toString", model: "constructor" }, model: "constructor" },
    128_000,
    "last resort",
  ],
];
for (const [name, asked, tokens, origin] of windows) {
  test(`CF-22: window: ${name}`, () => {
    expect(resolveWindow(question(asked))).toEqual({ tokens, origin });
  });
}

test("CF-23 EF-30: 15 999 fails, 16 000 warns, 32 000 and 0 pass, minimum 0 lets 1 000 pass", () => {
  const guard = { minimum: 16_000, warning: 32_000 };
  expect([15_999, 16_000, 31_999, 32_000, 0].map((tokens) => judgeWindow(tokens, guard))).toEqual([
    "too_small",
    "small",
    "small",
    "fits",
    "fits",
  ]);
  expect(judgeWindow(1_000, { minimum: 0, warning: 0 })).toBe("fits");
});

// ── skills and context ────────────────────────────────────────────────────────────────────────────────────────────

test("CF-4: a skill's name, description, text and files", async () => {
  const { skills } = await built({
    "team.yaml": team(),
    "skills/plain/SKILL.md": "Just text.\n",
    "skills/full/SKILL.md": "---\r\nname: other-name\r\ndescription: When to use it\r\n---\r\n\r\n# Body\r\n",
    "skills/full/data/table.csv": "a,b\r\n",
    "skills/open/SKILL.md": "---\nname: never closed\nText.",
  });
  expect(skills).toEqual([
    {
      name: "other-name",
      description: "When to use it",
      body: "# Body",
      files: { "data/table.csv": "a,b\n" },
    },
    { name: "open", description: null, body: "---\nname: never closed\nText.", files: {} },
    { name: "plain", description: null, body: "Just text.", files: {} },
  ]);
});

test("CF-4: what is wrong with a skill is said at its own file", async () => {
  const said = await complaints({
    "team.yaml": team(),
    "skills/a/SKILL.md": "---\nname: same\nversion: 2\n---\nA",
    "skills/b/SKILL.md": "---\nname: same\n---\nB",
    "skills/c/SKILL.md": "---\nname: 'x\n---\nC",
    "skills/d/SKILL.md": "---\n- a\n---\nD",
    "skills/e/SKILL.md": "---\nE",
    "skills/f/notes.md": "F",
    "skills/g/SKILL.md": "G",
    "skills/g/big.txt": "x".repeat(262_145),
    "skills/h/SKILL.md": "---\nname: not a name\n---\n",
  });
  expect(said.map((line) => line.replace("config/acme/skills/", ""))).toEqual([
    'a/SKILL.md:3:1 warning key_ignored version: the frontmatter key "version" has no effect\n  known: name, description',
    'b/SKILL.md:1:1 error duplicate_name: the skill "same" is also in skills/a/SKILL.md',
    "c/SKILL.md:2:7 error skill_invalid: a quote is opened here and never closed",
    "d/SKILL.md:2:1 error skill_invalid: the frontmatter must be a map with name and description",
    "e/SKILL.md:1:1 warning key_ignored: the frontmatter has no closing ---; the whole file is the skill's text",
    "f/notes.md:1:1 warning unused_file: skills/f/ has no SKILL.md, so this file is not used",
    "g/big.txt:1:1 error file_too_large: the file has more than 262144 bytes, and no more are allowed",
    "h/SKILL.md:1:1 error skill_invalid: a skill's name starts with a letter and has letters, digits, - and _",
  ]);
});

test("CF-4: a skill that cannot be read is there all the same, by the name of its folder: who names it is not told otherwise", async () => {
  for (const broken of ["x".repeat(65_537), "---\nname: 'x\n---\nC", "---\n- a\n---\nD"]) {
    const said = await complaints({
      "team.yaml": team({ agent: "    skills: [big, other, wrong]" }),
      "skills/big/SKILL.md": broken,
      "skills/other/SKILL.md": "Other.",
    });
    expect(said).toHaveLength(2);
    expect(said.join("\n")).toContain("skills/big/SKILL.md:");
    expect(said.join("\n")).toContain('there is no skill "wrong"');
  }
});

test("CF-4: all files beside skills together have at most 2 MiB", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [`skills/s/f${index}.txt`, "x".repeat(240_000)]),
  );
  const [said] = await complaints({ "team.yaml": team(), "skills/s/SKILL.md": "S", ...files });
  expect(said).toContain("skills/s/SKILL.md:1:1 error file_too_large");
});

test("CF-5: context files are joined in name order by blank lines; HEARTBEAT.md is kept apart as well", async () => {
  const compiled = await built({
    "team.yaml": team(),
    "context/b.md": "Second.\n",
    "context/a.md": "First.\n",
    "context/HEARTBEAT.md": "Beat.",
  });
  expect(compiled.context_text).toBe("Beat.\n\nFirst.\n\nSecond.");
  expect(compiled.heartbeat_text).toBe("Beat.");
});

// ── diagnostics ───────────────────────────────────────────────────────────────────────────────────────────────────

test("CF-28: of 200 errors 100 are shown, then how many more there are", async () => {
  const keys = Array.from({ length: 200 }, (_, index) => `wrong${index}: 1`).join("\n");
  const lines = formatDiagnostics((await compile(team({ top: keys }))).diagnostics);
  expect(lines).toHaveLength(101);
  expect(lines.at(-1)).toBe("100 more");
});

test("CF-28: values of keys, headers and env are never printed", async () => {
  const canary = "canary-7f3a";
  const yaml = team({
    provider: `    headers: { Host: ${canary}, X: [${canary}] }\n    auth: ${canary}`,
    top: `sandbox: { env: { A: [${canary}] }, credentials: [{ host: h.example, headers: { Cookie: [${canary}] } }] }`,
  }).replace("${KEY}", `[${canary}]`);
  const text = (await complaints(yaml)).filter((line) => !line.includes("providers[0].auth")).join("\n");
  expect(text).not.toContain(canary);
});

test("CF-28: a wrong value below headers, env or a key is not repeated, elsewhere it is", () => {
  const yaml = "headers: { X: canary }\nplain: { X: canary }\n";
  const { root: node } = readDocument("a.yaml", yaml);
  if (node === null) throw new Error("the file was not read");
  const wrong = z.strictObject({ X: z.enum(["a", "b"]) });
  const found = z.strictObject({ headers: wrong, plain: wrong }).safeParse(plainValueOf(node));
  const messages = shapeIssues(found.error?.issues ?? [], [], node).map(({ message }) => message);
  expect(messages).toEqual(["this value is not allowed here", '"canary" is not allowed here']);
});

test("CF-29: a near name is suggested, and all names if they are few", () => {
  expect(findNearestName("git_staus", ["git_status", "git_diff"])).toBe("git_status");
  expect(findNearestName("Filesystem", ["filesystem"])).toBe("filesystem");
  expect(findNearestName("observation", ["observation_mask", "offload"])).toBeNull();
  expect(findNearestName("xy", ["ab"])).toBeNull();
  expect(
    suggestFor(
      "x",
      Array.from({ length: 13 }, (_, index) => `name${index}`),
    ),
  ).toBeUndefined();
  expect(suggestFor("qeue", ["queue", "steer"])).toBe('did you mean "queue"? known: queue, steer');
});

// ── revision ──────────────────────────────────────────────────────────────────────────────────────────────────────

test("CF-31: the revision follows the definition and not the connections", async () => {
  const base = (await built(team())).revision;
  expect(base).toMatch(/^r_[0-9a-f]{20}$/);
  const revision = async (yaml: string): Promise<string> => (await built(yaml)).revision;
  const connections = [
    team().replace("${KEY}", "${OTHER}"),
    team({ provider: "    base_url: https://gateway.example.com" }),
    team({ provider: "    headers: { X-A: b }\n    rate_limit: { rpm: 5 }\n    timeouts: { idle: 30s }" }),
    team({ top: "access: { token_ttl: 5m }\nlimits: { asks: { timeout: 1h } }\nsandbox: { env: { A: b } }" }),
    team({ top: "models: {}\nx-a: 1\nsessions: { on_busy: queue }" }),
    `# a comment\n${team()}`,
  ];
  for (const yaml of connections) expect(await revision(yaml)).toBe(base);
  const definitions = [
    team({ agent: "    instructions: Be brief." }),
    team({ agent: "    options: { max_iterations: 3 }" }),
    team({ top: "permissions: { preset: ask }" }),
    team({ provider: "    context_window: 100000" }),
    team({ top: "default_context_windows: { anthropic: 100000 }" }),
    team({ agent: "    guards: { budget: { max_tokens: 5 } }" }),
  ];
  const others = await Promise.all(definitions.map(revision));
  expect(new Set([base, ...others]).size).toBe(definitions.length + 1);
  expect((await built({ "team.yaml": team(), "context/a.md": "x" })).revision).not.toBe(base);
});

test("CF-31: a revision does not depend on the order of keys", () => {
  expect(revisionOf({ a: null, b: [1, { c: 2, d: 3 }] })).toBe(
    revisionOf({ b: [1, { d: 3, c: 2 }], a: null }),
  );
});

test("CF-32: a pinned definition takes its connections from the deployed team", async () => {
  const old = await built(team({ agent: "    instructions: Old." }));
  const deployed = await built(team({ agent: "    instructions: New." }).replace("${KEY}", "${ROTATED}"));
  const pinned = withDefinition(deployed, old.revision, definitionOf(old));
  if (!pinned.ok) throw new Error(pinned.missing.join());
  expect(pinned.team.agents[0]?.instructions).toBe("Old.");
  expect(pinned.team.providers[0]?.api_key).toBe("${ROTATED}");
  expect(pinned.team.providers[0]?.timeouts.idle).toBe(90_000);
  expect(pinned.team.revision).toBe(old.revision);
});

test("CF-31, CF-32: a price is a connection, also the first of a model and one that is taken away", async () => {
  const priced = (models: string): Promise<Team> => built(team({ top: `models: { ${models} }` }));
  const none = await built(team());
  const first = await priced("far: { price: { input: 1, output: 2 } }");
  const other = await priced("far: { price: { input: 3, output: 4 } }, near: { alias: n }");
  expect(first.revision).toBe(none.revision);
  expect(other.revision).not.toBe(none.revision);
  const models = (deployed: Team, old: Team): unknown => {
    const pinned = withDefinition(deployed, old.revision, definitionOf(old));
    return pinned.ok ? pinned.team.models : pinned.missing;
  };
  expect(models(first, none)).toEqual({ far: { price: { input: 1, output: 2 } } });
  expect(models(other, first)).toEqual({ far: { price: { input: 3, output: 4 } }, near: {} });
  expect(models(first, other)).toEqual({ far: { price: { input: 1, output: 2 } }, near: { alias: "n" } });
  expect(models(none, first)).toEqual({});
  const open = await priced("open: {}");
  expect(open.revision).toBe(none.revision);
  expect(models(open, open)).toEqual({ open: {} });
});

test("CF-34: a pinned definition whose provider is gone names it", async () => {
  const old = await built(team());
  const deployed = await built(team().replace("name: main", "name: other"));
  expect(withDefinition(deployed, old.revision, definitionOf(old))).toMatchObject({
    ok: false,
    missing: ["provider main (anthropic)"],
  });
});

// ── output ────────────────────────────────────────────────────────────────────────────────────────────────────────

test("CF-2: the same input gives the same bytes, and the module holds the very team", async () => {
  const files = {
    "team.yaml": team({ top: "models: { m: { alias: a } }" }),
    "skills/a/SKILL.md": "`${x}` </script>",
  };
  const first = buildFiles(await compile(files), false);
  const second = buildFiles(await compile(files), false);
  expect([...(first ?? [])]).toEqual([...(second ?? [])]);
  const source = first?.get("team.js") ?? "";
  const loaded = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as { default: Team };
  expect(loaded.default).toEqual(await built(files));
  expect(revisionOf(definitionOf(loaded.default))).toBe(loaded.default.revision);
  expect(Object.isFrozen(loaded.default.agents[0]?.options)).toBe(true);
  expect(Object.getPrototypeOf(loaded.default.models)).toBeNull();
  expect(source).not.toMatch(/from "yaml"|require\(/);
});

test("CF-2: the worker names its team's extensions only if there are some", async () => {
  const simple = buildFiles(await compile(team()), false)?.get("worker.js") ?? "";
  const extended = buildFiles(await compile(team()), true)?.get("worker.js") ?? "";
  expect(simple).toContain('from "../../src/index.ts"');
  expect(simple).not.toContain("extensions");
  expect(extended).toContain('import * as extensions from "./extensions.js"');
  expect(extended).toContain("createLimpet(team, extensions)");
});

// ── JSON Schema ───────────────────────────────────────────────────────────────────────────────────────────────────

test("CF-36: the checked-in schema is the one that the code describes (vitest -u writes it anew)", async () => {
  await expect(productSchema()).toMatchFileSnapshot("../../src/config/team.schema.json");
});

const undescribed = (schema: JsonSchema, path: string): string[] => {
  const here = Object.entries(schema.properties ?? {}).flatMap(([key, value]) => [
    ...(value.description === undefined ? [`${path}.${key}`] : []),
    ...undescribed(value, `${path}.${key}`),
  ]);
  const inner = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [
    ...here,
    ...inner.flatMap((item) => (typeof item === "object" ? undescribed(item, `${path}[]`) : [])),
  ];
};

test("CF-36: every key has a sentence", () => {
  expect(undescribed(teamJsonSchema(), "")).toEqual([]);
});

const accepts = (schema: JsonSchema, value: unknown): boolean =>
  z
    .fromJSONSchema(JSON.parse(JSON.stringify(schema)) as Parameters<typeof z.fromJSONSchema>[0])
    .safeParse(value).success;

test("CF-36: the schema accepts the shipped teams and refuses mistakes of shape", () => {
  const schema = JSON.parse(productSchema()) as JsonSchema;
  for (const name of shippedTeams) {
    const yaml = readFileSync(join(root, "config", name, "team.yaml"), "utf8");
    expect([name, accepts(schema, parse(yaml))]).toEqual([name, true]);
    expect(yaml.startsWith("# yaml-language-server: $schema=../../src/config/team.schema.json")).toBe(true);
  }
  const shape = new Set([
    "unknown_key",
    "missing_key",
    "wrong_type",
    "out_of_range",
    "invalid_value",
    "empty_list",
  ]);
  const shapes = fixtures.flatMap(({ code, bad, good }) =>
    shape.has(code) && typeof bad === "string" && typeof good === "string" ? [{ code, bad, good }] : [],
  );
  expect(shapes.length).toBeGreaterThan(5);
  for (const { code, bad, good } of shapes) {
    expect([code, accepts(schema, parse(bad))]).toEqual([code, false]);
    expect([code, accepts(schema, parse(good))]).toEqual([code, true]);
  }
});

test("CF-36: a team's own schema offers its names", async () => {
  const compiled = await compile({ "team.yaml": team(), "skills/review/SKILL.md": "Look." });
  const schema = JSON.parse(buildFiles(compiled, false)?.get("team.schema.json") ?? "{}") as JsonSchema;
  expect(schema.properties?.["entry_agent"]?.enum).toEqual(["guide"]);
  const agent = schema.properties?.["agents"]?.items?.properties;
  expect(agent?.["provider"]?.enum).toEqual(["main"]);
  expect(JSON.stringify(agent?.["skills"])).toContain('"review"');
  expect(JSON.stringify(agent?.["toolboxes"])).toContain('"fs_read"');
});

test("TB-5: explain shows a rule at the tools that it really binds, names in their case", async () => {
  const rules =
    "permissions: { rules: [{ tool: 'FS_*', match: a, action: ask }, { tool: 'fs_w*', match: b, action: ask }] }";
  const { team: built, draft } = await compile(team({ top: rules }));
  if (built === null || draft === null) throw new Error("the team was not built");
  const tools = [{ name: "fs_write", toolbox: "filesystem", safety: "idempotent" }];
  const rows = explainAgent(draft, built, "guide", tools, 0);
  expect(rows.find(({ key }) => key === "filesystem.fs_write")?.value).toBe("idempotent, allow; ask b");
});

for (const [kind, problem] of [
  ["openai", null],
  ["openai-compatible", null],
  ["grok", null],
  ["anthropic", "anthropic"],
] as const)
  test(`AG-41: memory.embedding names a provider of the kind ${kind}: ${problem === null ? "fine" : "an error at its place"}`, async () => {
    const yaml = team({
      provider: `  - { name: near, kind: ${kind}, model: m, base_url: "https://a.example" }`,
      agent: "    memory: { embedding: near }",
    });
    const { diagnostics } = await compile(yaml);
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    expect(errors.map(({ code, path, message }) => [code, path, message])).toEqual(
      problem === null
        ? []
        : [
            [
              "invalid_value",
              "agents[0].memory.embedding",
              "near is of the kind anthropic, which has no embeddings",
            ],
          ],
    );
  });
