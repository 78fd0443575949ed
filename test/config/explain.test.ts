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

test("CF-37: no key of the schema is missing in explain", async () => {
  const rows = await rowsOf();
  const shown = new Set(rows.flatMap(({ section, key }) => [section, key]));
  const elsewhere = ["name", "toolboxes", "effects", "fallbacks", "defaults", "webhooks", "schedules"];
  const { agent, sections } = plainTeamSchemas;
  const keys = [...Object.keys(agent.shape), ...Object.keys(sections.shape)];
  expect(keys.filter((key) => !shown.has(key) && !elsewhere.includes(key))).toEqual([]);
});
