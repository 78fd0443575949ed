import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { compileTeam } from "../../src/config/build/compile.ts";
import { readTeamFiles } from "../../src/config/build/files.ts";
import { formatDiagnostic } from "../../src/config/document/diagnostics.ts";
import type { Team } from "../../src/config/team.ts";
import { createEngine } from "../../src/engine/create.ts";
import { lastEvent, say, wireEnv } from "../engine/harness.ts";
import { openBench } from "../support/bench.ts";
import { eventsAs } from "../support/crew.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider, FakeReply, FakeRequest } from "../support/fake-provider.ts";
import { engineOptions } from "../support/teams.ts";

/** `new-team --import` of what Shelly ships and saves, from its file to a run (CF-18, CF-37). */

const project = resolve(import.meta.dirname, "../..");
const shelly = join(project, "test/config/shelly");

let root: string;
const roots: string[] = [];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "limpet-import-"));
  roots.push(root);
  cpSync(join(project, "config/default"), join(root, "config/default"), { recursive: true });
  cpSync(join(project, "wrangler.toml"), join(root, "wrangler.toml"));
});
afterAll(() => {
  for (const folder of roots) rmSync(folder, { recursive: true, force: true });
});

const imported = async (source: string, name = "taken") => {
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(...line.split("\n"));
  const code = await run(["new-team", name, "--import", source], { root, print });
  return { code, lines };
};

const read = (path: string): string => readFileSync(join(root, "config/taken", path), "utf8");

const built = (change: (yaml: string) => string = (yaml) => yaml): Team => {
  const files = new Map(readTeamFiles(root, "taken"));
  files.set("team.yaml", change(read("team.yaml")));
  const { team, diagnostics } = compileTeam(files, { name: "taken" });
  if (team === null) throw new Error(diagnostics.map(formatDiagnostic).join("\n"));
  return team;
};

let provider: FakeProvider | null = null;
afterEach(async () => {
  await provider?.close();
  provider = null;
});

const agentOf = ({ body }: FakeRequest): string =>
  /You are ([\w-]+)/.exec(JSON.stringify(body["system"]))?.[1] ?? "";

const isFirst = ({ body }: FakeRequest): boolean =>
  !(body["messages"] as readonly { role: string }[]).some(({ role }) => role === "assistant");

/** Plays an input with the imported team; an agent's first answer is its call here, everything else a sentence. */
const play = async (calls: Readonly<Record<string, readonly [string, object]>>) => {
  provider = await startFakeProvider((request): FakeReply => {
    const [call, args] = calls[agentOf(request)] ?? [];
    return call === undefined || args === undefined || !isFirst(request)
      ? { speech: { pieces: [{ text: `Said by ${agentOf(request)}.` }] } }
      : { speech: { pieces: [{ call, args }] } };
  });
  const url = provider.url("anthropic");
  const team = built((yaml) =>
    yaml.replaceAll(/^( +)(?:base_url: .*\n +)?api_key:/gm, `$1base_url: ${url}\n$1api_key:`),
  );
  const env = wireEnv(provider, Object.fromEntries(team.secrets.map((name) => [name, `sk-of-${name}`])));
  const bench = openBench({ engine: createEngine(engineOptions(team, { env })) });
  bench.ok("create");
  return { bench, end: await say(bench) };
};

const toolsOf = (agent: string): readonly string[] => {
  const request = provider?.requests.find((each) => agentOf(each) === agent);
  return ((request?.body["tools"] ?? []) as readonly { name: string }[]).map(({ name }) => name);
};

test("★ CF-37 CF-18: Shelly's dev-team is taken over without what this release lacks; its lead delegates and its explorer cannot", async () => {
  const { code, lines } = await imported(join(shelly, "settings/dev-team.yaml"));
  expect([code, lines.filter((line) => line.includes(" error "))]).toEqual([0, []]);
  expect(lines.filter((line) => line.includes("needs_sandbox_process"))).toHaveLength(1);
  expect(lines.filter((line) => line.includes("git is taken out"))).toEqual([]);
  const { bench, end } = await play({
    lead: ["delegate_to_agent", { agent: "explorer", task: "Look", context: "" }],
    explorer: ["delegate_to_agent", { agent: "coder", task: "Write", context: "" }],
  });
  expect(end).toMatchObject({ state: "completed", result: { text: "Said by lead." } });
  expect(eventsAs({ bench }, "agent_start").map(({ agent }) => agent.name)).toEqual(["lead", "explorer"]);
  expect(toolsOf("lead")).toEqual(expect.arrayContaining(["fs_read", "search_content", "write_note"]));
  expect(toolsOf("lead")).not.toContain("fs_write");
  expect(toolsOf("explorer")).not.toContain("delegate_to_agent");
  const team = built();
  expect(team.agents.map(({ name, effects }) => [name, effects.length])).toEqual([
    ["lead", 5],
    ["explorer", 5],
    ["planner", 5],
    ["coder", 8],
    ["reviewer", 5],
  ]);
  expect(team.skills.map(({ name }) => name)).toHaveLength(6);
});

test("CF-37: Shelly's simple-assistant is taken over and answers", async () => {
  const { code } = await imported(join(shelly, "settings/simple-assistant.yaml"));
  expect(code).toBe(0);
  const { end } = await play({});
  expect(end).toMatchObject({ state: "completed", result: { text: "Said by assistant." } });
  expect(toolsOf("assistant")).toEqual(expect.arrayContaining(["exec_run", "fs_write", "load_skill"]));
});

test("CF-37: Shelly's project-indexer is taken over as it stands, and its lead delegates", async () => {
  const { code, lines } = await imported(join(shelly, "settings/project-indexer.yaml"));
  expect([code, lines.filter((line) => line.includes(" error "))]).toEqual([0, []]);
  expect(read("team.yaml").split("\n").slice(1).join("\n")).toBe(
    readFileSync(join(shelly, "settings/project-indexer.yaml"), "utf8"),
  );
  const { bench, end } = await play({
    "index-lead": ["delegate_to_agent", { agent: "index-explorer", task: "Describe", context: "" }],
  });
  expect(end).toMatchObject({ state: "completed" });
  expect(eventsAs({ bench }, "agent_start").map(({ agent }) => agent.name)).toEqual([
    "index-lead",
    "index-explorer",
  ]);
});

test("★ CF-37: what Shelly's wizard saves is taken over from its folder, and each change is said", async () => {
  const { code, lines } = await imported(join(shelly, "saved"));
  expect([code, lines.filter((line) => line.includes(" error "))]).toEqual([0, []]);
  for (const line of [
    "providers[0].context_window: it had no value and is omitted",
    "agents[0].options.question_timeout: it had no value and is omitted",
    "git.work_dir: it had no value and is omitted",
    "providers[0].rate_limit.max_retries: 0 meant the default; it is omitted",
    "agents[0].effects: an empty list meant the default effects; it is omitted",
    "agents[0].options.max_iterations: 0 meant no limit; without it a run has 100 turns; it is omitted",
    "agents[0].options.context_threshold: 0 meant the default; it is omitted",
    "agents[1].effects[0].params.preserve_recent: it meant the default; it is omitted",
    "agents[0].toolboxes[3]: the toolbox filesystem was listed twice and is now listed once",
    "providers[0].api_key: $ANTHROPIC_API_KEY is now ${ANTHROPIC_API_KEY}",
    "providers[1].api_key: the secret is now ${OPENAI_API_KEY}; set it with: npx wrangler secret put OPENAI_API_KEY --env taken",
    "skills/lead-workflow/: copied",
    "context.md: copied to context/context.md",
  ])
    expect(lines).toContain(line);
  expect(lines.join("\n") + read("team.yaml")).not.toContain("sk-a-key");
  expect(read("skills/lead-workflow/table.csv")).toContain("coder,code");
  const team = built();
  const [lead, coder] = team.agents;
  expect(lead).toMatchObject({
    prefix: "🤖",
    instructions: "Charge $5 for it.\n",
    skills: ["lead-workflow"],
    toolboxes: [
      { name: "ask" },
      { name: "filesystem" },
      { name: "git" },
      { name: "playwright" },
      { name: "notes", tools: ["read_note"] },
    ],
    options: { max_iterations: 100, context_threshold: 0.8, max_delegation_depth: 2 },
  });
  expect(lead?.effects.map(({ kind }) => kind)).toEqual(["trim_tool_results", "compact"]);
  expect(coder).toMatchObject({
    provider: "default",
    prefix: "🦾",
    effects: [{ params: { preserve_recent: 4 } }, { params: { threshold: 0.8 } }],
    options: { max_iterations: 30, interaction_mode: "auto", question_timeout: 300_000 },
  });
  expect(team.providers[0]?.rate_limit.max_retries).toBe(3);
  expect(team.context_text).toBe("The project counts tides.");
  const { bench, end } = await play({});
  expect(end).toMatchObject({ state: "completed", result: { text: "Said by lead." } });
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
});

test("CF-37: the saved file itself, its folder and the folder of its project are one import", async () => {
  const texts: string[] = [];
  for (const source of ["saved", "saved/.shelly", "saved/.shelly/config.yaml"]) {
    rmSync(join(root, "config/taken"), { recursive: true, force: true });
    cpSync(join(project, "wrangler.toml"), join(root, "wrangler.toml"));
    expect([source, (await imported(join(shelly, source))).code]).toEqual([source, 0]);
    texts.push(read("team.yaml"));
  }
  expect(new Set(texts).size).toBe(1);
  const { code, lines } = await imported(join(shelly, "skills"), "other");
  expect([code, lines]).toEqual([1, [`there is no team file at ${join(shelly, "skills")}`]]);
});

test("CF-37: comments and anchors survive what is taken out", async () => {
  const file = join(root, "own.yaml");
  const agents = [
    "agents:",
    "  - name: one # the first",
    "    toolboxes: &boxes [filesystem, git, filesystem]",
    "  - name: two",
    "    toolboxes: *boxes",
  ];
  const head = "providers: [{ name: p, kind: anthropic, api_key: '${KEY}', model: claude-sonnet-5-5 }]";
  writeFileSync(file, [head, ...agents, ""].join("\n"));
  expect((await imported(file)).code).toBe(0);
  expect(built().agents.map(({ toolboxes }) => toolboxes.map(({ name }) => name))).toEqual([
    ["ask", "filesystem", "git"],
    ["ask", "filesystem", "git"],
  ]);
  rmSync(join(root, "config/taken"), { recursive: true });
  cpSync(join(project, "wrangler.toml"), join(root, "wrangler.toml"));
  writeFileSync(file, [head, ...agents.slice(0, 3), ""].join("\n"));
  expect((await imported(file)).code).toBe(0);
  expect(read("team.yaml")).toContain("- name: one # the first");
});

test("CF-37: entries that are taken out take no others with them, whatever their order", async () => {
  const file = join(root, "own.yaml");
  const boxes = "[web, { name: web, tools: [far_search] }, filesystem, web, { name: web }, exec, state]";
  const yaml = [
    "providers: [{ name: p, kind: anthropic, api_key: '${KEY}', model: claude-sonnet-5-5 }]",
    "mcp_servers: [{ name: web, url: 'https://a.example/mcp' }, { name: far, url: 'https://b.example/mcp' }]",
    `agents: [{ name: a, toolboxes: ${boxes} }]`,
    "",
  ].join("\n");
  writeFileSync(file, yaml);
  expect((await imported(file)).code).toBe(0);
  const [agent] = built().agents;
  expect(agent?.toolboxes.map(({ name }) => name)).toEqual(["ask", "web", "filesystem", "exec", "state"]);
});

test("CF-37: a file that cannot become a team ends with 1 and says what to mend, not how to go on", async () => {
  const file = join(root, "own.yaml");
  writeFileSync(
    file,
    "providers: [{ name: p, kind: anthropic, model: m }]\nagents: [{ name: a, skills: [b] }]\n",
  );
  const { code, lines } = await imported(file);
  expect(code).toBe(1);
  expect(lines.join("\n")).toContain('there is no skill "b"');
  expect(lines.at(-1)).toBe(
    "made config/taken/ and [env.taken] in wrangler.toml; fix this, then: npx limpet validate taken",
  );
  for (const text of ["a: [", "%YAML 1.1\n---\na: 1"]) {
    rmSync(join(root, "config/taken"), { recursive: true });
    cpSync(join(project, "wrangler.toml"), join(root, "wrangler.toml"));
    writeFileSync(file, text);
    expect([text, (await imported(file)).code]).toEqual([text, 1]);
  }
});

test("CF-37 CF-20: of an Authorization header only the secret becomes a reference, and its scheme stays", async () => {
  const file = join(root, "given.yaml");
  const server = `{ name: library, url: "https://h.example/mcp", headers: { Authorization: "Bearer sk-literal" } }`;
  const given = readFileSync(join(project, "config/assistant/team.yaml"), "utf8");
  writeFileSync(
    file,
    `${given.replace("toolboxes: [", "toolboxes: [library, ")}\nmcp_servers: [${server}]\n`,
  );
  const { code, lines } = await imported(file);
  expect(lines).toContain(
    "mcp_servers[0].headers.Authorization: the secret is now Bearer ${LIBRARY_AUTHORIZATION}; set it with: npx wrangler secret put LIBRARY_AUTHORIZATION --env taken",
  );
  expect(code).toBe(0);
  expect(built().mcp_servers[0]?.headers).toEqual({ Authorization: "Bearer ${LIBRARY_AUTHORIZATION}" });
});

test("CF-7 CF-37: a file that is not UTF-8 is refused with its place, and not changed in silence", async () => {
  const given = Buffer.from("providers: []\nagents:\n  - name: caf\u00e9\n", "latin1");
  const file = join(root, "latin.yaml");
  writeFileSync(file, given);
  const { code, lines } = await imported(file);
  expect(code).toBe(1);
  expect(lines[0]).toBe(
    "config/taken/team.yaml:3:14 error not_utf8: the file is not UTF-8 here; save it as UTF-8",
  );
  expect(readFileSync(join(root, "config/taken/team.yaml"))).toEqual(given);
});

test("CF-37: Go's zero durations are left out, and a token budget of 0, which has no default, is taken out", async () => {
  const file = join(root, "own.yaml");
  const yaml = [
    "providers:",
    "  - { name: p, kind: anthropic, api_key: '${KEY}', model: m, context_window: 200000, rate_limit: { base_delay: 0s } }",
    "agents:",
    "  - name: a",
    "    effects:",
    "      - { kind: token_budget, params: { max_tokens: 0, warn_threshold: 0.5 } }",
    "      - { kind: time_budget, params: { max_duration: 0s } }",
    "      - { kind: token_budget, params: null }",
    "    options: { question_timeout: 0h0m0s }",
    "  - { name: b, effects: [{ kind: token_budget, params: { max_tokens: 5000 } }] }",
    "",
  ].join("\n");
  writeFileSync(file, yaml);
  const { code, lines } = await imported(file);
  expect([code, lines.filter((line) => line.includes(" error "))]).toEqual([0, []]);
  for (const line of [
    "providers[0].rate_limit.base_delay: 0 meant the default; it is omitted",
    "agents[0].options.question_timeout: 0 meant the default; it is omitted",
    "agents[0].effects[0]: a token_budget without max_tokens limits nothing; it is removed",
    "agents[0].effects[2]: a token_budget without max_tokens limits nothing; it is removed",
  ])
    expect(lines).toContain(line);
  const team = built();
  expect(team.providers[0]?.rate_limit.base_delay).toBe(1_000);
  expect(team.agents.map(({ effects }) => effects)).toMatchObject([
    [{ kind: "time_budget", params: { max_duration: 600_000 } }],
    [{ kind: "token_budget", params: { max_tokens: 5_000 } }],
  ]);
  expect(team.agents[0]?.options.question_timeout).toBeUndefined();
});
