import { expect, test } from "vitest";
import { describePlan } from "../../../src/session/explain.ts";
import { replies, said, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";

/** What rules say to calls of servers before any session has asked for their tools. */

const yaml = (agent: string): string =>
  scripted(
    replies(said("Done.")),
    agent,
    `mcp_servers: [{ name: github, url: "https://mcp.example/a" }, { name: lake, url: "https://mcp.example/b" }]`,
  ).replace("    toolboxes: [probe]\n    permissions: { preset: open }\n", "");

const explain = async (toolboxes: string, rules: string, tool: string): Promise<unknown> => {
  const permissions = `toolboxes: ${toolboxes}\npermissions: { preset: sandboxed, rules: ${rules} }`;
  const engine = await engineOf(yaml(permissions));
  const plan = engine.judgeCall("tester", { tool, input: { q: "tides" } }, []);
  return plan === null ? null : describePlan(plan);
};

test("TB-6: before any session the rules judge a server's tool, which counts as unsafe and takes any arguments", async () => {
  const allow = '[{ tool: "github__*", action: allow }]';
  const tool = "github__search_code";
  expect(await explain("[github]", allow, tool)).toEqual({
    verdict: "allow",
    by: "rule allow github__*",
    rule: "allow github__*",
  });
  expect(await explain("[github]", '[{ tool: "github__*", action: deny }]', tool)).toMatchObject({
    verdict: "deny",
    rule: "deny github__*",
  });
  expect(await explain("[github]", "[]", tool)).not.toMatchObject({ verdict: "allow" });
  expect(await explain("[{ name: github, tools: [search_code] }]", allow, tool)).toMatchObject({
    verdict: "allow",
  });
  for (const [toolboxes, name] of [
    ["[lake]", tool],
    ["[{ name: github, tools: [read] }]", tool],
    ["[github]", "sea__look"],
  ] as const)
    expect(await explain(toolboxes, allow, name), toolboxes).toMatchObject({
      verdict: "deny",
      by: "toolboxes",
    });
});
