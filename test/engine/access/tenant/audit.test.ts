import { expect, test } from "vitest";
import { allScopes } from "../../../../src/session/rpc.ts";
import type { Principal } from "../../../../src/session/rpc.ts";
import { jsonFromBase64Url, jsonToBase64Url } from "../../../../src/sandbox/base64.ts";
import { performTenantCall } from "../../../../src/engine/access/tenant/calls.ts";
import type { Tables } from "../../../../src/engine/access/database.ts";
import { memoryTables } from "../tables.ts";

/** What was done outside sessions, as the audit of its tenant lists it. */

const operator: Principal = { tenant: "default", jurisdiction: null, by: "operator", scopes: allScopes };

const forget = (tables: Tables, subject: string, at: number) =>
  performTenantCall(tables, { principal: operator, op: "forget_subject", params: { subject } }, at);

const list = async (tables: Tables, params: object) => {
  const reply = await performTenantCall(tables, { principal: operator, op: "list_audit", params }, 3000);
  return reply.ok ? (JSON.parse(reply.json) as Record<string, unknown>) : { ...reply.problem };
};

test("TB-11: an action is audited also after the clock went back, in the order in which all were done", async () => {
  const { tables } = memoryTables();
  for (const at of [2000, 1000, 1000, 1500])
    expect(await forget(tables, "ada", at), String(at)).toMatchObject({ ok: true, status: 204 });
  expect(await list(tables, {})).toMatchObject({
    data: [
      { seq: 4, at: 1500 },
      { seq: 3, at: 1000 },
      { seq: 2, at: 1000 },
      { seq: 1, at: 2000 },
    ],
  });
});

test("AP-7: a cursor whose place has no number is refused", async () => {
  const { tables } = memoryTables();
  for (const at of [1000, 2000]) await forget(tables, "ada", at);
  const page = await list(tables, { limit: 1 });
  const [binding, direction, at] = jsonFromBase64Url(String(page["next_cursor"])) as readonly unknown[];
  const cursor = jsonToBase64Url([binding, direction, at, ":none"]);
  expect(await list(tables, { limit: 1, cursor })).toMatchObject({ code: "invalid_cursor" });
});
