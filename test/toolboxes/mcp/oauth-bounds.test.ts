import { expect, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { protect } from "../../support/oauth-server.ts";
import { askOf, benchOf, oauthOf, output, protectedBy, signedIn, signIn } from "./logins.ts";
import { serverOf } from "./support.ts";

/** What an authorization server does badly, and how much of it a tenant stores. */

test("★ TB-27: an outage of the authorization server, or a page of a proxy in its place, asks nobody to sign in, and a refresh ends it", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  const turns = Array.from({ length: 5 }, () => [[["sea__look", {}]], ["Done."]] as const).flat();
  const bench = await signedIn({ auth, sea, turns });
  for (const status of [503, 429, 200]) {
    auth.tokens.clear();
    Object.assign(auth.faults, { token: status, text: "<html>later</html>" });
    await say(bench);
    expect(eventsOf(bench, "ask_user"), String(status)).toHaveLength(1);
    expect(lastEvent(bench, "tool_call_end")["output"]).toMatch(/did not answer/);
    await bench.pass(1_300_000);
  }
  delete auth.faults.token;
  await say(bench);
  expect(output(bench)).toBe("look done");
  expect(eventsOf(bench, "ask_user")).toHaveLength(1);
});

test("TB-27: a page in place of the metadata is told in a sentence", async () => {
  const sea = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("never asked"),
    before: ({ http }, response) => {
      if (http === "GET") response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>");
      else response.writeHead(401, { "www-authenticate": "Bearer" }).end();
      return true;
    },
  });
  const bench = await benchOf({ auth: await oauthOf(), sea });
  await say(bench);
  expect(lastEvent(bench, "mcp_status")).toEqual({
    server: "sea",
    state: "failed",
    error: "no token is available: the metadata of the authorization server cannot be used",
  });
});

test("TB-27: a server without metadata of its own gets tokens that name its address", async () => {
  const auth = await oauthOf();
  const guard = protect({ by: () => auth });
  const sea = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("look done"),
    before: (seen, response) => {
      const { pathname } = new URL(seen.path, "http://sea");
      if (!pathname.startsWith("/.well-known/")) return guard(seen, response);
      const found = pathname === "/.well-known/oauth-authorization-server";
      const metadata = {
        issuer: `http://${sea.host}`,
        authorization_endpoint: `${auth.url}/authorize`,
        token_endpoint: `${auth.url}/token`,
        registration_endpoint: `${auth.url}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      };
      response.writeHead(found ? 200 : 404, { "content-type": "application/json" });
      response.end(JSON.stringify(metadata));
      return true;
    },
  });
  auth.faults.iss = `http://${sea.host}`;
  const bench = await benchOf({ auth, sea });
  await say(bench);
  expect(new URL(askOf(bench).authorization.url).searchParams.get("resource")).toBe(sea.url);
  expect(await signIn(bench, auth)).toBe("signed_in");
  expect(auth.tokenRequests[0]?.get("resource")).toBe(sea.url);
  expect(output(bench)).toBe("look done");
});

test("TB-27: a scope that a refresh does not repeat is still held, so a wider one is asked for beside it", async () => {
  const auth = await oauthOf();
  let needed = "sea:read";
  const sea = await protectedBy(auth, { scopeOf: ({ rpc }) => (rpc === "tools/call" ? needed : null) });
  auth.clients.set("team", null);
  const more = "auth: oauth, credentials: { client_id: team, scope: sea:read }";
  const bench = await signedIn({ auth, sea, more });
  auth.faults.scope = null;
  auth.tokens.clear();
  await say(bench);
  expect(output(bench)).toBe("look done");
  needed = "sea:write";
  await say(bench);
  const wider = new URL(askOf(bench).authorization.url).searchParams.get("scope");
  expect(wider?.split(" ").toSorted()).toEqual(["sea:read", "sea:write"]);
});

test("TB-27: too much metadata and too long a login are refused, and of the rest what is used is stored", async () => {
  const cases = [
    [{ metadata: { scopes_supported: ["x".repeat(17_000)] } }, /too long/],
    [{ authorize: `http://127.0.0.1:1/authorize?long=${"x".repeat(8_200)}` }, /too long/],
  ] as const;
  for (const [faults, reason] of cases) {
    const auth = await oauthOf();
    Object.assign(auth.faults, faults);
    const bench = await benchOf({ auth, sea: await protectedBy(auth) });
    await say(bench);
    expect(eventsOf(bench, "ask_user")).toEqual([]);
    expect(lastEvent(bench, "mcp_status")).toMatchObject({
      error: expect.stringMatching(reason) as string,
    });
  }
  const auth = await oauthOf();
  auth.faults.metadata = { x_more: "x".repeat(40_000) };
  await signedIn({ auth, sea: await protectedBy(auth) });
});

test("TB-27: of a server's authorization servers the one in use and two before it are remembered", async () => {
  const auths = await Promise.all(Array.from({ length: 5 }, () => oauthOf()));
  let by = auths[0] as (typeof auths)[0];
  const sea = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("look done"),
    before: (seen, response) => protect({ by: () => by })(seen, response),
  });
  const { tables } = memoryTables();
  const hosts = [sea, ...auths].map(({ host }) => host).join(",");
  const turns = Array.from({ length: 6 }, () => [[["sea__look", {}]], ["Done."]] as const).flat();
  const bench = await benchOf({ auth: by, sea, tables, turns, env: { LIMPET_PRIVATE_EGRESS: hosts } });
  for (const auth of auths) {
    by = auth;
    await say(bench);
    expect(await signIn(bench, auth)).toBe("signed_in");
    expect(output(bench)).toBe("look done");
  }
  const kept = tables.read("SELECT issuer FROM mcp_credentials").map(({ issuer }) => issuer);
  expect(new Set(kept)).toEqual(new Set(auths.slice(2).map(({ url }) => url)));
});
