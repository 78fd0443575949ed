import { expect, test } from "vitest";
import { explainAgent, explainTeam } from "../../src/config/explain/explain.ts";
import type { ExplainedValue } from "../../src/config/explain/explain.ts";
import { plainTeamSchemas } from "../../src/config/schema.ts";
import { compile } from "./support.ts";

/** Whatever a team writes stands in `limpet explain`, with its place (CF-37, acceptance of config §3). */

const yaml = `
providers:
  - { name: main, kind: anthropic, api_key: "\${KEY}", model: claude-sonnet-5-5, max_tokens: 901 }
agents:
  - name: guide
    description: Guides people.
    instructions: Be brief.
    capabilities: [{ name: coding, languages: [ts] }]
    skills_tags: [sea]
    estimated_cost: cheap
    async: true
    max_concurrency: 7
    reasoning: { effort: low }
    temperature: 1
    top_p: 0.4
    max_tokens: 900
    skills: none
    prefix: X
    options: { max_iterations: 9 }
    guards: { tool_loops: false }
    delegation: { may_call: [] }
    permissions: { preset: locked }
    middleware: [{ kind: timeout, params: { duration: 77s } }]
    memory: { recent: 13 }
reflections: { scope: tenant, ttl: 41d }
`;

const rowsOf = async (): Promise<readonly ExplainedValue[]> => {
  const { team, draft, diagnostics } = await compile(yaml);
  if (team === null || draft === null) throw new Error(JSON.stringify(diagnostics));
  return [...explainAgent(draft, team, "guide", [], 0), ...explainTeam(draft, team)];
};

test("★ CF-13 CF-37: every key of an agent that is written shows in explain, with its line", async () => {
  const rows = await rowsOf();
  const found = (section: string, key: string): ExplainedValue | undefined =>
    rows.find((row) => row.section === section && row.key === key);
  expect(found("agent", "description")).toMatchObject({ value: "Guides people.", origin: "line 6" });
  expect(found("agent", "instructions")).toMatchObject({ value: "Be brief.", origin: "line 7" });
  expect(found("agent", "capabilities")).toMatchObject({
    value: [{ name: "coding", languages: ["ts"], strength: 1 }],
  });
  expect(found("agent", "skills_tags")).toMatchObject({ value: ["sea"] });
  expect(found("agent", "estimated_cost")).toMatchObject({ value: "cheap", origin: "line 10" });
  expect(found("agent", "middleware")).toMatchObject({
    value: [{ kind: "timeout", params: { duration: 77_000 } }],
  });
  expect(found("memory", "recent")).toMatchObject({ value: 13, origin: "line 24" });
  expect(found("reflections", "ttl")).toMatchObject({ value: 41 * 86_400_000, origin: "line 25" });
});

test("CF-37: what has env or headers in its name is shown like anything else", async () => {
  const { team, draft } = await compile(`
providers:
  - { name: dev-env, kind: anthropic, api_key: "\${KEY}", model: claude-sonnet-5-5, headers: { X-Sea: s } }
agents:
  - { name: guide, toolboxes: [headers] }
mcp_servers:
  - { name: headers, url: "https://headers.example/mcp" }
`);
  if (team === null || draft === null) throw new Error("the team has errors");
  const rows = explainTeam(draft, team);
  const of = (section: string, key: string): unknown =>
    rows.find((row) => row.section === section && row.key === key)?.value;
  expect(of("provider dev-env", "model")).toBe("claude-sonnet-5-5");
  expect(of("server headers", "url")).toBe("https://headers.example/mcp");
  expect(of("provider dev-env", "headers.X-Sea")).toBe("(not shown)");
});

test("CF-37: no key of the schema is missing in explain", async () => {
  const rows = await rowsOf();
  const shown = new Set(rows.flatMap(({ section, key }) => [section, key]));
  const elsewhere = ["name", "toolboxes", "effects", "fallbacks", "defaults", "webhooks", "schedules"];
  const { agent, sections } = plainTeamSchemas;
  const keys = [...Object.keys(agent.shape), ...Object.keys(sections.shape)];
  expect(keys.filter((key) => !shown.has(key) && !elsewhere.includes(key))).toEqual([]);
});

test("★ CF-37 TB-5: explain shows the MCP servers of an agent and what decides about their tools, without a secret", async () => {
  const { team, draft, diagnostics } = await compile(`
providers:
  - { name: main, kind: anthropic, api_key: "\${KEY}", model: claude-sonnet-5-5 }
agents:
  - name: guide
    description: Guides people.
    toolboxes: [sea, { name: lake, tools: [lake__find, dive.in] }, shore]
    permissions:
      preset: sandboxed
      rules:
        - { tool: "sea__delete_*", action: deny }
        - { tool: "*__write", action: allow }
        - { tool: lake__find, action: allow }
mcp_servers:
  - name: sea
    url: "https://sea.example/mcp?token=\${SEA_TOKEN}"
    headers: { X-Sea: "Bearer \${SEA_TOKEN}" }
    auth: client_credentials
    credentials: { client_id: "\${SEA_ID}", client_secret: "\${SEA_SECRET}", issuer: "https://login.example" }
  - { name: lake, url: "https://lake.example/mcp", trust: true, tools: [find, dive.in, drown] }
  - { name: shore, command: npx, args: ["-y", shore], env: { SHORE_KEY: "\${SHORE}" }, tools: [walk] }
  - { name: unused, url: "https://unused.example/mcp" }
`);
  if (team === null || draft === null) throw new Error(JSON.stringify(diagnostics));
  const rows = explainAgent(draft, team, "guide", [], 0);
  const shown = rows.filter(({ section }) => section === "servers" || section === "tools");
  expect(shown.map(({ section, key, value, origin }) => [section, key, value, origin])).toEqual([
    ["servers", "sea", "https://sea.example/mcp?…", "line 16"],
    ["servers", "lake", "https://lake.example/mcp", "line 20"],
    ["servers", "shore", "command npx", "line 21"],
    ["tools", "sea.sea__*", "unsafe, ask; deny sea__delete_*; allow *__write", "preset sandboxed"],
    ["tools", "lake.lake__find", "unsafe unless its server says otherwise, allow", "rule allow lake__find"],
    ["tools", "lake.lake__dive_in", "unsafe unless its server says otherwise, ask", "preset sandboxed"],
    ["tools", "shore.shore__walk", "unsafe, ask", "preset sandboxed"],
  ]);
  const general = explainTeam(draft, team);
  const of = (section: string, key: string): unknown =>
    general.find((row) => row.section === section && row.key === key)?.value;
  expect(of("server sea", "url")).toBe("https://sea.example/mcp?…");
  expect(of("server unused", "new_tools")).toBe("quarantine");
  const secret = /SEA_TOKEN|SEA_SECRET|SHORE\}/;
  expect([...rows, ...general].filter(({ value }) => secret.test(JSON.stringify(value)))).toEqual([]);
});
