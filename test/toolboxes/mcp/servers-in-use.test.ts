import { expect, test, vi } from "vitest";
import { eventsOf } from "../../engine/harness.ts";
import { coder, crew, delegate, lead, member, mission, spawn, task, writer } from "../../support/crew.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { said } from "../../support/scripts.ts";
import { serverOf } from "./support.ts";

/** Runs that use a server while another asks it for its list: their session at the server goes on. */

const teamWith = ({ url, host }: { readonly url: string; readonly host: string }, keys = "") => ({
  team: `egress: { allow_http: true }\nmcp_servers: [{ name: sea, url: "${url}", protocol: "2025"${keys} }]`,
  env: { LIMPET_PRIVATE_EGRESS: host },
});

test("TB-25: a list that a run requires ends no session at the server in which another run has a call", async () => {
  const listed = Promise.withResolvers<void>();
  let lists = 0;
  const server = await serverOf({
    session: "tide",
    tools: () => ["look", "wait"].map((name) => textTool(name)),
    call: async () => {
      await listed.promise;
      return textResult("waited");
    },
    before: ({ rpc, params }, response) => {
      if (rpc === "tools/list") lists += 1;
      if (lists === 2) listed.resolve();
      const isLook = rpc === "tools/call" && params["name"] === "look";
      if (isLook) response.writeHead(503).end();
      return isLook;
    },
  });
  const calling = "toolboxes: [sea]\ndelegation: { may_call: ['*'] }\noptions: { max_delegation_depth: 3 }";
  const { bench } = await mission(
    [
      lead([said(spawn([task("coder"), task("writer")])), said("Done.")], calling),
      coder([said(["sea__wait", {}]), said("Done.")], "toolboxes: [sea]"),
      writer([said(["sea__look", {}]), said(spawn([task("helper")])), said("Done.")], calling),
      member("helper", [said("Done.")], "toolboxes: [sea]"),
    ],
    teamWith(server, ", required: true"),
  );
  const [waited] = eventsOf(bench, "tool_call_end").filter(({ tool }) => tool === "sea__wait");
  expect([lists, waited?.["output"]]).toEqual([2, "waited"]);
  expect(server.seen.filter(({ http }) => http === "DELETE")).toEqual([]);
});

test("TB-25: a list is not read again while a child that outlives its caller's run has a call by a lent tool", async () => {
  const called = Promise.withResolvers<void>();
  const answers = Promise.withResolvers<void>();
  const server = await serverOf({
    session: "tide",
    tools: () => ["look", "wait"].map((name) => textTool(name)),
    call: async (name, _args, { mcpReq }) => {
      if (name === "look") await mcpReq.notify({ method: "notifications/tools/list_changed" });
      else {
        called.resolve();
        await answers.promise;
      }
      return textResult("seen");
    },
  });
  const { bench } = await crew(
    [
      lead(
        [said(["sea__look", {}]), said(delegate("coder", { async: true })), ...Array(3).fill(said("Done."))],
        "toolboxes: [sea]\ndelegation: { may_call: ['*'], inherit: union, async: true }",
      ),
      coder([said(["sea__wait", {}]), said("Done.")], "toolboxes: []"),
    ],
    teamWith(server),
  );
  bench.send("Go");
  const over = bench.idle();
  await called.promise;
  bench.send("Again");
  await vi.waitFor(() =>
    expect(eventsOf(bench, "run_end").map(({ state }) => state)).toEqual(["completed", "completed"]),
  );
  const before = server.seen.filter(({ http, rpc }) => http === "DELETE" || rpc === "tools/list");
  expect(before).toHaveLength(1);
  answers.resolve();
  await over;
});
