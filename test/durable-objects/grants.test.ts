import { expect, test } from "vitest";
import { api, create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

const askOf = async (session: Session): Promise<string | undefined> => {
  const { body } = await session.call("GET", "/asks?status=open");
  return (body["data"] as unknown as readonly { readonly id: string }[])[0]?.id;
};

test("★ TB-8: a grant of an agent reaches the next session, is listed by the API, and ends when it is revoked", async () => {
  const first = await create("approve", "Go");
  await first.settled();
  const answer = { decision: "approve", remember: "agent" };
  expect((await first.call("POST", `/asks/${await askOf(first)}`, { body: answer })).status).toBe(200);
  await first.quiet();

  const second = await create("approve", "Go");
  await second.quiet();
  const types = (await second.events()).map(({ type }) => type);
  expect(types).toContain("run_end");
  expect(types).not.toContain("ask_user");

  const { body } = await api("GET", "/grants");
  const [grant] = body["data"] as unknown as readonly { readonly id: string }[];
  expect(grant).toMatchObject({ scope: "agent", agent: "approve", tool: "fire", session: first.id });
  expect((await api("DELETE", `/grants/${grant?.id}`)).status).toBe(204);
  expect((await api("DELETE", `/grants/${grant?.id}`)).status).toBe(404);

  const third = await create("approve", "Go");
  await third.settled();
  expect(await askOf(third)).toMatch(/^ask_/);
});

test("AP-13 TB-8: a browser token gives no permission beyond its session, not even one that is remembered", async () => {
  const session = await create("approve", "Go");
  await session.settled();
  const scopes = ["sessions:read", "approvals:decide"];
  const { body } = await session.call("POST", "/tokens", { body: { scopes } });
  const answer = async (remember: string) =>
    session.call("POST", `/asks/${await askOf(session)}`, {
      body: { decision: "approve", remember },
      key: String(body["token"]),
    });
  expect(await answer("agent")).toMatchObject({
    status: 403,
    body: { code: "scope_missing", errors: [{ pointer: "/remember" }] },
  });
  expect((await api("GET", "/grants")).body["data"]).toEqual([]);
  expect((await answer("session")).status).toBe(200);
  await session.quiet();
  await expect
    .poll(async () => (await api("GET", "/grants")).body["data"])
    .toMatchObject([{ scope: "session", session: session.id }]);
});

const explain = async (body: object): Promise<{ readonly status: number; readonly body: object }> =>
  api("POST", "/permissions/explain", { body });

test("TB-6 TB-8: explaining a call says the verdict, the rule or grant behind it, and runs nothing", async () => {
  const call = { agent: "approve", tool: "fire", input: { name: "a", ms: 3 } };
  expect(await explain(call)).toMatchObject({
    status: 200,
    body: { verdict: "ask", by: "rule ask fire", rule: "ask fire", remember: { tool: "fire", pattern: "*" } },
  });
  const session = await create("approve", "Go");
  await session.settled();
  const answer = { decision: "approve", remember: "agent" };
  await session.call("POST", `/asks/${await askOf(session)}`, { body: answer });
  await session.quiet();
  const { body } = await api("GET", "/grants");
  const [grant] = body["data"] as unknown as readonly { readonly id: string }[];
  for (const asked of [call, { ...call, session: session.id }])
    expect((await explain(asked)).body).toEqual({ verdict: "allow", by: `grant ${grant?.id}` });
  expect((await explain({ ...call, tool: "fyre" })).body).toMatchObject({
    error: expect.stringMatching(/^unknown_tool: .*"fire"/),
  });
  for (const asked of [call, { ...call, session: session.id }])
    expect(await explain({ ...asked, input: { name: 1 } })).toMatchObject({
      status: 400,
      body: {
        code: "invalid_request",
        detail: expect.stringMatching(/^\/input: name: expected a text, found the number 1\. Correct/),
        errors: [{ pointer: "/input" }],
      },
    });
  expect(await explain({ ...call, agent: "nobody" })).toMatchObject({
    status: 404,
    body: { code: "unknown_agent", errors: [{ pointer: "/agent" }] },
  });
  expect(await explain({ tool: "fire" })).toMatchObject({ status: 400 });
});
