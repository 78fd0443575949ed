import { expect, test } from "vitest";
import { say } from "../../engine/harness.ts";
import { describePlan, explainCall } from "../../../src/session/decisions.ts";
import { replies, said, scripted } from "../../support/scripts.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { engineOf } from "../../support/teams.ts";
import { serverOf, servedBench } from "./support.ts";

/** What rules say to calls of servers before a session has asked for their tools. */

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

test("TB-6: a session that has not listed a server yet judges its tools as a new one would; one that has knows what there is", async () => {
  const sea = await serverOf({ tools: () => [textTool("look")], call: () => textResult("seen") });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${sea.url}" }`],
    toolboxes: "[sea]",
    turns: [["Done."]],
    hosts: [sea.host],
    preset: "sandboxed",
  });
  const explainNow = (tool: string): unknown => {
    const live = bench.live();
    if (live === null) throw new Error("there is no session");
    const call = { agent: "tester", tool, input: { q: "tides" } };
    return explainCall(live.read(), live.agentFor, { agents: [], revoked: [] }, call, 0);
  };
  for (const tool of ["sea__look", "sea__gone"])
    expect(explainNow(tool), tool).toMatchObject({ verdict: "ask" });
  expect(explainNow("lake__look")).toMatchObject({ verdict: "deny" });
  expect(sea.seen).toEqual([]);
  await say(bench);
  expect(explainNow("sea__look")).toMatchObject({ verdict: "ask" });
  expect(explainNow("sea__gone")).toMatchObject({
    verdict: "deny",
    error: expect.stringMatching(/^unknown_tool: /) as string,
  });
});
