import { expect, test } from "vitest";
import { replaceMethod, tenantStub } from "../support/worker/directories.ts";
import { api, create } from "../support/worker/session.ts";

/** Open asks over all sessions of a tenant (`GET /asks`). */

interface ListedAsk {
  readonly id: string;
  readonly session: string;
  readonly session_title: string | null;
  readonly kind: string;
  readonly status: string;
}

const openAsks = async (query = "?status=open"): Promise<readonly ListedAsk[]> => {
  const { status, body } = await api("GET", `/asks${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body["data"] as unknown as readonly ListedAsk[];
};

const openIn = async (session: string): Promise<readonly ListedAsk[]> =>
  (await openAsks()).filter((ask) => ask.session === session);

test("★ AP-5: open asks of all sessions are listed with their session, the oldest first, until they are answered", async () => {
  const first = await create("ask", "Go");
  const second = await create("approve", "Go");
  await Promise.all([first.settled(), second.settled()]);
  await expect.poll(() => openIn(first.id)).toHaveLength(1);
  await expect.poll(() => openIn(second.id)).toHaveLength(1);

  const [question] = await openIn(first.id);
  expect(question?.session_title).toBe("Go");
  const shown = await first.call("GET", "/asks?status=open");
  expect([{ ...question }]).toEqual([
    { session: first.id, session_title: "Go", ...(shown.body["data"] as unknown as object[])[0] },
  ]);
  const [approval] = await openAsks("?status=open&kind=approval");
  expect(approval).toMatchObject({ session: second.id, kind: "approval", approval: { tool: "fire" } });

  const pages = await api("GET", "/asks?limit=1");
  const next = await api("GET", `/asks?limit=1&cursor=${pages.body["next_cursor"]}`);
  const ids = [pages, next].flatMap(({ body }) => body["data"] as unknown as ListedAsk[]).map(({ id }) => id);
  expect(ids).toEqual((await openAsks()).map(({ id }) => id));
  expect((await api("GET", "/asks?status=resolved")).status).toBe(400);

  expect((await second.call("PATCH", "", { body: { title: "Fire" } })).status).toBe(200);
  await expect.poll(async () => (await openIn(second.id))[0]?.session_title).toBe("Fire");

  const answer = { decision: "answer", text: "red" };
  expect((await first.call("POST", `/asks/${question?.id}`, { body: answer })).status).toBe(200);
  await expect.poll(() => openIn(first.id)).toEqual([]);
  expect(await openIn(second.id)).toHaveLength(1);
  expect((await second.call("DELETE")).status).toBe(204);
  await expect.poll(() => openIn(second.id)).toEqual([]);
});

test("★ AP-5: an ask of a session that died before it reported the answer leaves the list once the session wakes", async () => {
  const session = await create("approve", "Go");
  await session.settled();
  await expect.poll(() => openIn(session.id)).toHaveLength(1);
  const [ask] = await openIn(session.id);
  const tenant = { away: true };
  await replaceMethod(tenantStub(), "index", (there) => (...args) => {
    if (tenant.away) throw new Error("the tenant is away");
    return there(...args);
  });
  const answer = { decision: "deny" };
  expect((await session.call("POST", `/asks/${ask?.id}`, { body: answer })).status).toBe(200);
  await session.crash();
  expect(await openIn(session.id)).toHaveLength(1);
  tenant.away = false;
  await session.quiet();
  await expect.poll(() => openIn(session.id)).toEqual([]);
});
