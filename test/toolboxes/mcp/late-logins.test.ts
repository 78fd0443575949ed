import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { memoryTables } from "../../engine/access/tables.ts";
import { eventsOf, lastEvent } from "../../engine/harness.ts";
import { coder, crew, lead, spawn, task, writer } from "../../support/crew.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { said } from "../../support/scripts.ts";
import { adminKey, askOf, oauthOf, protectedBy } from "./logins.ts";
import { serverOf } from "./support.ts";

/** Logins that end while a run is about to ask for one. */

test("★ TB-27: a run whose other server is slow to answer does not wait for a login that has ended meanwhile", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  const slow = Promise.withResolvers<ServerResponse>();
  const lake = await serverOf({
    tools: () => [textTool("dive")],
    call: () => textResult("wet"),
    before: (_seen, response) => {
      slow.resolve(response);
      return true;
    },
  });
  const { tables } = memoryTables();
  const look = said(["sea__look", {}]);
  const { bench } = await crew(
    [
      lead([said(spawn([task("coder"), task("writer")])), said("Done.")], "delegation: { may_call: ['*'] }"),
      coder([look, said("Done.")], "toolboxes: [sea]"),
      writer([look, said("Done.")], "toolboxes: [sea, lake]"),
    ],
    {
      tables,
      team: `egress: { allow_http: true }\naccess: { hosts: [agents.example.com] }\nmcp_servers: [{ name: sea, url: "${sea.url}", auth: oauth }, { name: lake, url: "${lake.url}", protocol: "2025" }]`,
      env: {
        LIMPET_DEV: "1",
        LIMPET_ADMIN_KEY: adminKey,
        LIMPET_PRIVATE_EGRESS: `${sea.host},${auth.host},${lake.host}`,
      },
    },
  );
  bench.send("Go");
  const response = await slow.promise;
  await expect.poll(() => eventsOf(bench, "ask_user")).toHaveLength(1);
  await expect.poll(() => tables.read("SELECT 1 FROM mcp_logins")).toHaveLength(2);
  expect(askOf(bench).authorization.server).toBe("sea");
  const { search } = new URL(await auth.signIn(askOf(bench).authorization.url));
  await bench.tick(1_000);
  expect(await bench.finishLogin(search)).toBe("signed_in");
  response.writeHead(500).end();
  await bench.idle();
  expect(eventsOf(bench, "tool_call_end").filter(({ tool }) => tool === "sea__look")).toMatchObject([
    { output: "look done" },
    { output: "look done" },
  ]);
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
});
