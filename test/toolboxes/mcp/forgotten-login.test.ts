import { expect, test } from "vitest";
import { memoryTables } from "../../engine/access/tables.ts";
import { performTenantCall } from "../../../src/engine/access/tenant/calls.ts";
import type { DirectoryReply } from "../../../src/engine/access/rpc.ts";
import type { Tables } from "../../../src/engine/access/database.ts";
import type { Scope } from "../../../src/session/rpc.ts";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import * as logins from "./logins.ts";

/** A tenant's login at an MCP server that somebody forgets on purpose. */

const forget = (tables: Tables, name: string, at: number, scope: Scope = "admin"): Promise<DirectoryReply> =>
  performTenantCall(
    tables,
    {
      principal: { tenant: "acme", jurisdiction: null, by: "key7", scopes: [scope] },
      op: "forget_mcp_login",
      params: { name },
    },
    at,
  );

test("TB-27 AP-11: a forgotten login is asked for again by the next call; only an administrator forgets, and it is audited", async () => {
  const { tables } = memoryTables();
  const auth = await logins.oauthOf();
  const sea = await logins.protectedBy(auth);
  const bench = await logins.signedIn({ auth, sea, tables });
  const { updatedAt: at } = bench.state();
  expect(await forget(tables, "sea", at, "approvals:decide")).toMatchObject({
    ok: false,
    problem: { code: "scope_missing" },
  });
  expect(await forget(tables, "lake", at)).toMatchObject({ ok: false, problem: { code: "not_found" } });
  await say(bench, "Again");
  expect(eventsOf(bench, "ask_user")).toHaveLength(1);

  expect(await forget(tables, "sea", at)).toMatchObject({ ok: true, status: 204 });
  const audited = tables.read("SELECT decisions FROM audit ORDER BY first");
  expect(audited.map(({ decisions }) => JSON.parse(String(decisions)) as unknown)).toMatchObject([
    [{ action: "sign_in", subject: "sea" }],
    [{ action: "forget_mcp_login", subject: "sea", who: "key7" }],
  ]);
  await say(bench, "Once more");
  expect(eventsOf(bench, "ask_user")).toHaveLength(2);
  expect(logins.askOf(bench)).toMatchObject({ kind: "authorization", authorization: { server: "sea" } });
  expect(await logins.signIn(bench, auth)).toBe("signed_in");
  expect(logins.output(bench)).toBe("look done");
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
});
