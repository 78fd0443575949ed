import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi, watchSession } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTeamFile } from "../support/built-team.ts";
import type { TeamFile } from "../support/built-team.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startMcpServer, textResult, textTool } from "../support/mcp-server.ts";
import type { TestMcpServer } from "../support/mcp-server.ts";
import { protect, startOAuthServer } from "../support/oauth-server.ts";
import type { OAuthServer } from "../support/oauth-server.ts";
import { startRuntime } from "../support/runtime.ts";
import { replies, said, scripted } from "../support/scripts.ts";

/** A login at an MCP server in workerd, from YAML, over the callback, with kills in between. */

let auth: OAuthServer;
let library: TestMcpServer;
let team: TeamFile;
let server: DevServer;
let api: Api;

const teamYaml = (): string =>
  scripted(
    replies(...Array.from({ length: 6 }, () => [said(["library__search", {}]), said("Done.")]).flat()),
    "",
    `mcp_servers: [{ name: library, url: "${library.url}", auth: oauth }]`,
  ).replace("toolboxes: [probe]", "toolboxes: [library]");

beforeAll(async () => {
  auth = await startOAuthServer({ lifetime: 65 });
  library = await startMcpServer({
    tools: () => [textTool("search")],
    call: () => textResult("found"),
    before: protect({ by: () => auth }),
  });
  team = await buildTeamFile(teamYaml());
  server = await startRuntime({
    team,
    vars: {
      LIMPET_DEV: "1",
      LIMPET_ADMIN_KEY: "canary-admin-key-0123456789",
      LIMPET_PRIVATE_EGRESS: `${library.host},${auth.host}`,
    },
  });
  api = createApi(server.url);
});
afterAll(async () => {
  await server?.close();
  team?.remove();
  await library?.close();
  await auth?.close();
});

const dataOf = async (session: string, type: string): Promise<readonly Record<string, unknown>[]> =>
  (await api.events(session))
    .filter((event) => event.type === type)
    .map(({ data }) => data as unknown as Record<string, unknown>);

const send = async (session: string): Promise<void> => {
  expect((await api.post(`/v1/sessions/${session}/messages`, { content: "Search" })).status).toBe(202);
};

const ended = (session: string, runs: number) =>
  expect.poll(async () => (await dataOf(session, "run_end")).length).toBe(runs);

const outputOf = async (session: string): Promise<unknown> =>
  (await dataOf(session, "tool_call_end")).at(-1)?.["output"];

/** The address of the session's newest ask to sign in. */
const loginOf = async (session: string): Promise<string> => {
  await expect.poll(async () => (await dataOf(session, "ask_user")).length).toBeGreaterThan(0);
  const newest = (await dataOf(session, "ask_user")).at(-1)?.["ask"];
  return (newest as { readonly authorization: { readonly url: string } }).authorization.url;
};

/** What the browser of whoever signed in is answered by the deployment. */
const comeBack = (search: string): Promise<Response> => fetch(`${server.url}/v1/oauth/callback${search}`);

const searchOf = async (login: string): Promise<string> => new URL(await auth.signIn(login)).search;

test("TB-27: a login whose server is killed between ask and callback lets the run go on; the state counts once and the page says nothing of the request", async () => {
  const session = await api.create();
  await send(session);
  const login = await loginOf(session);
  expect(new URL(login).searchParams.get("redirect_uri")).toBe("http://localhost:8787/v1/oauth/callback");
  const { body: open } = await api.get("/v1/asks?kind=authorization");
  expect(open["data"]).toMatchObject([
    { session, authorization: { server: "library", url: login, login: true } },
  ]);
  await server.kill();
  await server.start();
  const search = await searchOf(login);
  const foreign = await comeBack("?state=%3Cscript%3Ealert(1)%3C/script%3E&code=reflected&error=reflected");
  expect(foreign.status).toBe(400);
  const page = await foreign.text();
  expect(page).not.toMatch(/script|reflected/);
  expect(Object.fromEntries(foreign.headers)).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": expect.stringMatching(/^default-src 'none'/) as string,
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
  expect((await comeBack(search)).status).toBe(200);
  await ended(session, 1);
  expect(await outputOf(session)).toBe("found");
  const again = await comeBack(search);
  expect([again.status, await again.text()]).toEqual([400, page]);
  const seen = JSON.stringify(await api.events(session)) + server.output();
  for (const secret of [...auth.tokens.keys(), new URLSearchParams(search).get("code") ?? "none"])
    expect(seen).not.toContain(secret);
});

test("TB-27: after another kill the tenant's token is renewed, and no session asks again", async () => {
  await server.kill();
  await server.start();
  await expect
    .poll(
      async () => {
        const session = await api.create();
        await send(session);
        await ended(session, 1);
        expect(await outputOf(session)).toBe("found");
        return auth.seen.includes("/token refresh_token");
      },
      { interval: 1_000 },
    )
    .toBe(true);
  expect(auth.seen.filter((path) => path === "/authorize")).toHaveLength(1);
});

test("TB-27: an administrator gets the address to sign in at, and the server is connected afterwards", async () => {
  auth.revoke();
  const { body } = await api.post("/v1/mcp/library/connect", {});
  expect(body).toMatchObject({ name: "library", state: "auth_needed" });
  expect((await comeBack(await searchOf(String(body["url"])))).status).toBe(200);
  expect((await api.post("/v1/mcp/library/connect", {})).body).toMatchObject({
    state: "connected",
    tools: ["library__search"],
  });
});

test("TB-27: an answer in another issuer's name is refused, and the call that was withdrawn asks again when approved", async () => {
  const session = await api.create();
  await send(session);
  await ended(session, 1);
  auth.revoke();
  await send(session);
  await expect.poll(async () => (await dataOf(session, "ask_user")).length).toBe(1);
  auth.faults.iss = "https://evil.example";
  expect((await comeBack(await searchOf(await loginOf(session)))).status).toBe(502);
  auth.faults.iss = auth.url;
  const [{ ask } = {}] = await dataOf(session, "ask_user");
  const { id } = ask as { readonly id: string };
  expect((await api.post(`/v1/sessions/${session}/asks/${id}`, { decision: "approve" })).status).toBe(200);
  await expect.poll(async () => (await dataOf(session, "ask_user")).length).toBe(2);
  expect((await comeBack(await searchOf(await loginOf(session)))).status).toBe(200);
  await ended(session, 2);
  expect(await outputOf(session)).toBe("found");
});

test("TB-27: a login that an administrator forgets is asked for again by the next call, and the audit says who did it", async () => {
  const session = await api.create();
  await send(session);
  await ended(session, 1);
  expect((await api.delete("/v1/mcp/library/login")).status).toBe(204);
  expect((await api.delete("/v1/mcp/unknown/login")).status).toBe(404);
  const { body } = await api.get("/v1/audit?action=forget_mcp_login");
  expect(body["data"]).toMatchObject([{ who: "dev", subject: "library" }]);
  await send(session);
  const search = await searchOf(await loginOf(session));
  expect((await comeBack(search)).status).toBe(200);
  await ended(session, 2);
  expect(await outputOf(session)).toBe("found");
});

/** The text of a stream of a session until it has told of a person's ask. */
const streamUntilAsk = async (session: string, token: string, query: string): Promise<string> => {
  const stopped = new AbortController();
  const { body } = await fetch(`${server.url}/v1/sessions/${session}/events${query}`, {
    headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
    signal: stopped.signal,
  });
  let text = "";
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (/"kind":"authorization".*\n\n/.test(text)) break;
  }
  stopped.abort();
  return text;
};

test("AP-13 TB-27: sockets and streams show a reader who may not decide that somebody has to sign in where, never the address", async () => {
  auth.revoke();
  const session = await api.create();
  const { body } = await api.post(`/v1/sessions/${session}/tokens`, {});
  const token = String(body["token"]);
  const open = (protocols: readonly string[]) => watchSession(server.url, session, { protocols });
  const reader = open(["limpet.v1", `bearer.${token}`]);
  const decider = open(["limpet.v1"]);
  await Promise.all([reader.frame("live"), decider.frame("live")]);
  await send(session);
  const login = await loginOf(session);
  const late = open(["limpet.v1", `bearer.${token}`]);
  const [shown, replayed, whole] = await Promise.all(
    [reader, late, decider].map((watcher) => watcher.event("ask_user")),
  );
  expect(whole?.data).toMatchObject({ ask: { authorization: { server: "library", url: login } } });
  expect(replayed).toEqual(shown);
  expect(shown?.data).toMatchObject({ ask: { authorization: { server: "library", login: true } } });
  expect({ ...shown, data: null }).toEqual({ ...whole, data: null });
  const streamed = await Promise.all(["?after=0", ""].map((query) => streamUntilAsk(session, token, query)));
  for (const text of streamed) expect(text).toContain('"authorization":{"server":"library","login":true}');
  for (const text of [JSON.stringify([reader.frames, late.frames]), ...streamed])
    expect(text).not.toContain("/authorize?");
  for (const watcher of [reader, late, decider]) watcher.close();
});
