import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { tenantStub } from "../support/worker/directories.ts";
import { api, create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** Budgets over HTTP, and the tenant's day in its real object (AP-41, RE-4). */

/** What a tenant's tables hold, in 10⁻⁹ USD. */
const dayOf = (tenant: string): Promise<{ readonly spent: number; readonly out: number }> =>
  runInDurableObject(tenantStub(tenant), (_, { storage }) => {
    const sum = (table: string): number =>
      Number(storage.sql.exec(`SELECT sum(cost) AS cost FROM ${table}`).one()["cost"] ?? 0);
    return { spent: sum("days"), out: sum("leases") };
  });

const keyOf = async (scopes: readonly string[]): Promise<string> => {
  const { body } = await api("POST", "/keys", { body: { scopes } });
  return String(body["key"]);
};

const openAsk = async (session: Session): Promise<string> => {
  await session.settled();
  const { body } = await session.call("GET", "/asks?status=open");
  return (body["data"] as unknown as { id: string }[])[0]?.id ?? "";
};

test("AP-10 AP-41: a session without budget left answers 429, and takes inputs again when somebody may and does raise it", async () => {
  const session = await create("capped", "Go", { budget: { max_tokens: 4_600 } });
  await session.settled();
  const refused = await session.call("POST", "/messages", { body: { content: "More" } });
  expect(refused.status).toBe(429);
  expect(refused.headers.get("Content-Type")).toContain("application/problem+json");
  expect(refused.body).toMatchObject({ code: "budget_exceeded", retryable: false });
  const manager = await keyOf(["sessions:read", "sessions:manage"]);
  const raise = { body: { budget: { max_tokens: 90_000 } } };
  const forbidden = await session.call("PATCH", "", { ...raise, key: manager });
  expect(forbidden.status).toBe(403);
  expect(forbidden.body).toMatchObject({ code: "scope_missing" });
  const tighter = await session.call("PATCH", "", { body: { budget: { max_tool_calls: 9 } }, key: manager });
  expect(tighter).toMatchObject({
    status: 200,
    body: { budget: { max_tokens: { limit: 4_600 }, max_tool_calls: { limit: 9 } } },
  });
  expect((await session.call("PATCH", "", raise)).status).toBe(200);
  expect((await session.call("POST", "/messages", { body: { content: "More" } })).status).toBe(202);
});

test("SE-28 AP-19: a run asks for more, hibernates, and goes on with an answer that is enough", async () => {
  const session = await create("capped", "Go");
  const ask = await openAsk(session);
  const { body } = await session.call("GET", "");
  expect(body).toMatchObject({ status: "waiting", waiting_for: [{ kind: "ask", ask }] });
  await session.evict();
  const answer = (more: object) => session.call("POST", `/asks/${ask}`, { body: more });
  const low = await answer({ decision: "approve", limit: 5_000 });
  expect(low.status).toBe(422);
  expect(low.body).toMatchObject({ code: "budget_not_raised", errors: [{ pointer: "/limit" }] });
  expect((await answer({ decision: "approve" })).body).toMatchObject({ code: "answer_invalid" });
  expect(await answer({ decision: "approve", limit: 50_000 })).toMatchObject({
    status: 200,
    body: { kind: "budget", status: "resolved", budget: { kind: "max_tokens", limit: 5_000 } },
  });
  await session.settled();
  const ends = (await session.events()).filter(({ type }) => type === "run_end");
  expect(ends.map(({ data }) => data)).toMatchObject([{ state: "completed", reason: "end_turn" }]);
});

test("AP-18 SE-28: who waits for a run that cannot begin without a higher limit is told of its ask at once", async () => {
  const budget = { max_tokens: 10, on_exceeded: "ask" };
  const session = await create("capped", undefined, { budget });
  const { status, body } = await session.call("POST", "/messages", { body: { content: "Go", wait: 8 } });
  const asks = [{ id: await openAsk(session), kind: "budget" }];
  expect({ status, body }).toMatchObject({ status: 202, body: { status: "applied", asks } });
});

test("RE-4: a run draws one lease of its tenant's day, and gives back what it did not use", async () => {
  const { body } = await api("POST", "/keys", {
    body: { tenant: "frugal", scopes: ["sessions:read", "sessions:write"] },
  });
  const key = String(body["key"]);
  const made = await api("POST", "/sessions", { body: { agent: "priced", input: "Go" }, key });
  const path = `/sessions/${made.body["id"]}`;
  const ended = async (): Promise<number> => {
    const { body: page } = await api("GET", `${path}/events?limit=1000`, { key });
    return (page["data"] as unknown as { type: string }[]).filter(({ type }) => type === "run_end").length;
  };
  while ((await ended()) < 1) await scheduler.wait(2);
  while ((await dayOf("frugal")).out > 0) await scheduler.wait(2);
  expect(await dayOf("frugal")).toEqual({ spent: 2_000_000_000, out: 0 });
  await api("POST", `${path}/messages`, { body: { content: "Again" }, key });
  while ((await ended()) < 2) await scheduler.wait(2);
  while ((await dayOf("frugal")).out > 0) await scheduler.wait(2);
  expect(await dayOf("frugal")).toEqual({ spent: 3_000_000_000, out: 0 });
});

test("RE-4 RE-P14: a deleted session gives its lease back", async () => {
  const { body } = await api("POST", "/keys", {
    body: { tenant: "gone", scopes: ["sessions:read", "sessions:write", "sessions:manage"] },
  });
  const key = String(body["key"]);
  const made = await api("POST", "/sessions", { body: { agent: "priced", input: "Go" }, key });
  const path = `/sessions/${made.body["id"]}`;
  while ((await dayOf("gone")).out === 0 && (await dayOf("gone")).spent === 0) await scheduler.wait(1);
  expect((await api("DELETE", path, { key })).status).toBe(204);
  while ((await dayOf("gone")).out > 0) await scheduler.wait(2);
  expect((await dayOf("gone")).spent).toBeLessThanOrEqual(2_000_000_000);
});

test("AP-40 RE-4: a model call that its session's deletion cuts off is paid for by its tenant all the same", async () => {
  const { body } = await api("POST", "/keys", {
    body: { tenant: "cut", scopes: ["sessions:read", "sessions:write", "sessions:manage", "usage:read"] },
  });
  const key = String(body["key"]);
  const made = await api("POST", "/sessions", { body: { agent: "aloud", input: "Go" }, key });
  const path = `/sessions/${made.body["id"]}`;
  const items = async (): Promise<unknown> => (await api("GET", `${path}/snapshot`, { key })).body["items"];
  await expect.poll(items).toHaveLength(2);
  expect((await api("DELETE", path, { key })).status).toBe(204);
  const group = { key: "aloud", calls: 1, usage: { output: expect.any(Number), estimated: true } };
  await expect
    .poll(async () => (await api("GET", "/usage?group_by=agent", { key })).body["data"])
    .toMatchObject([group]);
  const { total } = (await api("GET", "/usage", { key })).body as unknown as {
    readonly total: { readonly usage: { readonly output: number; readonly cost_usd: number } };
  };
  expect(total.usage.output).toBeGreaterThan(0);
  const { spent, out } = await dayOf("cut");
  expect({ spent: spent / 1e9, out }).toEqual({ spent: total.usage.cost_usd, out: 0 });
});
