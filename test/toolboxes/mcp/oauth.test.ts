import { generateKeyPairSync, verify as verifySignature } from "node:crypto";
import { expect, test } from "vitest";
import type { Tables } from "../../../src/engine/access/database.ts";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import type { Bench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import type { OAuthServer } from "../../support/oauth-server.ts";
import { protect } from "../../support/oauth-server.ts";
import { insist } from "../../support/power-cut.ts";
import { adminKey, askOf, benchOf, oauthOf, output, protectedBy, signedIn, signIn } from "./logins.ts";
import { serverOf } from "./support.ts";

/** A server behind OAuth: a person signs in for the tenant once, and every call goes on by itself. */

test("TB-27: a run whose server wants a login asks for it, and goes on with the server's tools once somebody signed in", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  const bench = await benchOf({ auth, sea });
  await say(bench);
  expect(askOf(bench)).toMatchObject({
    kind: "authorization",
    call: "",
    authorization: { server: "sea", login: true },
  });
  expect(lastEvent(bench, "mcp_status")).toMatchObject({ server: "sea", state: "auth_needed" });
  const { searchParams } = new URL(askOf(bench).authorization.url);
  expect(Object.fromEntries(searchParams)).toMatchObject({
    response_type: "code",
    code_challenge_method: "S256",
    redirect_uri: "http://localhost:8787/v1/oauth/callback",
    resource: sea.url,
  });
  bench.crash();
  expect(await signIn(bench, auth)).toBe("signed_in");
  expect(output(bench)).toBe("look done");
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
  await say(bench);
  expect(auth.seen.filter((path) => path === "/authorize")).toHaveLength(1);
  expect(eventsOf(bench, "ask_user")).toHaveLength(1);
});

const canaries = (auth: OAuthServer): readonly string[] => [...auth.tokens.keys(), adminKey];

/** Everything that a reader of the session, its tenant's storage or the log could see. */
const traces = (bench: Bench, tables: Tables): string =>
  JSON.stringify([bench.events(), bench.logs, bench.requests, tables.read("SELECT * FROM mcp_credentials")]);

test("TB-27: calls whose token was withdrawn ask for a login each, one login answers all of them, and they go on", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  const turns = [
    [["sea__look", {}]],
    ["Done."],
    [
      ["sea__look", {}],
      ["sea__look", { text: "b" }],
    ],
    ["Done."],
  ] as const;
  const bench = await signedIn({ auth, sea, turns });
  auth.revoke();
  await say(bench);
  const asks = () => Object.values(bench.state().asks);
  expect(asks().map(({ call }) => call)).toHaveLength(2);
  expect(asks().every(({ call, authorization }) => call !== "" && authorization?.login === true)).toBe(true);
  bench.crash();
  expect(await signIn(bench, auth)).toBe("signed_in");
  expect(asks()).toEqual([]);
  expect(
    eventsOf(bench, "tool_call_end")
      .slice(-2)
      .map((data) => data["output"]),
  ).toEqual(["look done", "look done"]);
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
});

test("TB-27: a state counts once, for ten minutes, and only if this deployment gave it out", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  const bench = await benchOf({ auth, sea });
  await say(bench);
  const query = new URL(await auth.signIn(askOf(bench).authorization.url)).search;
  const altered = new URLSearchParams(query);
  const state = altered.get("state") ?? "";
  for (const wrong of ["", "x", `${state}A`, state.slice(0, -2), state.toUpperCase()]) {
    altered.set("state", wrong);
    expect(await bench.finishLogin(altered.toString())).toBe("unknown");
  }
  expect(auth.seen.filter((path) => path.startsWith("/token"))).toEqual([]);
  expect(await bench.finishLogin(query)).toBe("signed_in");
  expect(await bench.finishLogin(query)).toBe("unknown");
  await bench.idle();
  expect(auth.seen.filter((path) => path.startsWith("/token"))).toHaveLength(1);

  const late = await benchOf({ auth, sea });
  await say(late);
  const old = new URL(await auth.signIn(askOf(late).authorization.url)).search;
  await late.pass(600_000);
  expect(await late.finishLogin(old)).toBe("unknown");
  late.ok("answer", { ask: askOf(late).id, decision: "approve" });
  await late.idle();
  expect(await signIn(late, auth)).toBe("signed_in");
  expect(output(late)).toBe("look done");
});

test("TB-27: an answer in another issuer's name, or in none where one is promised, is not used", async () => {
  for (const iss of ["https://evil.example", null]) {
    const auth = await oauthOf();
    const sea = await protectedBy(auth);
    const bench = await benchOf({ auth, sea });
    auth.faults.iss = iss;
    await say(bench);
    expect(await signIn(bench, auth)).toBe("failed");
    expect(auth.tokenRequests).toEqual([]);
    expect(Object.values(bench.state().asks)).toHaveLength(1);
  }
});

test("TB-27: metadata of another issuer, a login over http, and one outside this machine are refused with a sentence", async () => {
  const cases = [
    [{ issuer: "https://evil.example" }, /issuer/i],
    [{ authorize: "http://evil.example/authorize" }, /not https/],
    [{ authorize: "javascript:alert(1)" }, /not https|cannot be used/],
  ] as const;
  for (const [faults, reason] of cases) {
    const auth = await oauthOf();
    Object.assign(auth.faults, faults);
    const sea = await protectedBy(auth);
    const bench = await benchOf({ auth, sea });
    await say(bench);
    expect(eventsOf(bench, "ask_user")).toEqual([]);
    expect(lastEvent(bench, "mcp_status")).toMatchObject({
      state: "failed",
      error: expect.stringMatching(reason) as string,
    });
  }
});

test("TB-27: an authorization server that no operator opened is not asked (TB-18)", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  const bench = await benchOf({ auth, sea, env: { LIMPET_PRIVATE_EGRESS: sea.host } });
  await say(bench);
  expect(auth.seen).toEqual([]);
  expect(lastEvent(bench, "mcp_status")).toMatchObject({ state: "failed" });
});

test("TB-27: an authorization server that breaks down while somebody signs in has not refused: the next link works", async () => {
  for (const error of ["server_error", "temporarily_unavailable"]) {
    const auth = await oauthOf();
    const sea = await protectedBy(auth);
    const bench = await benchOf({ auth, sea });
    await say(bench);
    const state = new URL(askOf(bench).authorization.url).searchParams.get("state") ?? "";
    const query = new URLSearchParams({ state, iss: auth.url, error }).toString();
    expect(await bench.finishLogin(query)).toBe("failed");
    await bench.idle();
    bench.ok("answer", { ask: askOf(bench).id, decision: "approve" });
    await bench.idle();
    expect(await signIn(bench, auth)).toBe("signed_in");
    expect(output(bench)).toBe("look done");
  }
});

test("TB-27: who says no, here or there, or nobody in time: the run goes on without the server, and nobody is asked again", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  const refuse = async (bench: Bench): Promise<void> => {
    const state = new URL(askOf(bench).authorization.url).searchParams.get("state") ?? "";
    expect(
      await bench.finishLogin(
        new URLSearchParams({ state, iss: auth.url, error: "access_denied" }).toString(),
      ),
    ).toBe("refused");
    await bench.idle();
  };
  const ends: readonly ((bench: Bench) => unknown)[] = [
    (bench) => bench.ok("answer", { ask: askOf(bench).id, decision: "deny" }),
    refuse,
    (bench) => bench.pass(25 * 3_600_000),
  ];
  for (const end of ends) {
    const bench = await benchOf({ auth, sea });
    await say(bench);
    await end(bench);
    await bench.idle();
    expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
    expect(output(bench)).toMatch(/^unknown_tool: /);
    await bench.pass(700_000);
    await say(bench);
    expect(eventsOf(bench, "ask_user")).toHaveLength(1);
  }
  const alone = await benchOf({ auth, sea, create: { interactive: false } });
  await say(alone);
  expect(eventsOf(alone, "ask_user")).toEqual([]);
  expect(lastEvent(alone, "mcp_status")).toMatchObject({ state: "auth_needed" });
});

test("TB-27: a token is renewed a minute ahead of its end, and no two sessions spend one refresh token twice", async () => {
  const auth = await oauthOf({ lifetime: 600 });
  const sea = await protectedBy(auth);
  const { tables } = memoryTables();
  const one = await signedIn({ auth, sea, tables });
  const two = await benchOf({ auth, sea, tables });
  await say(two);
  expect(output(two)).toBe("look done");
  await one.tick(545_000);
  one.send("Again");
  two.send("Again");
  await Promise.all([one.idle(), two.idle()]);
  expect([output(one), output(two)]).toEqual(["look done", "look done"]);
  expect(auth.seen.filter((path) => path === "/token refresh_token")).toHaveLength(1);
  expect(eventsOf(one, "ask_user").length + eventsOf(two, "ask_user").length).toBe(1);
});

test("TB-27: a refresh that cannot be made now leaves the token in use; one that is refused becomes a login at the token's end", async () => {
  const auth = await oauthOf({ lifetime: 600 });
  const sea = await protectedBy(auth);
  const bench = await signedIn({ auth, sea });
  auth.faults.token = 503;
  await bench.tick(545_000);
  await say(bench);
  expect(output(bench)).toBe("look done");
  expect(eventsOf(bench, "ask_user")).toHaveLength(1);
  delete auth.faults.token;
  auth.revoke();
  await bench.tick(60_000);
  await say(bench);
  expect(eventsOf(bench, "ask_user")).toHaveLength(2);
  expect(await signIn(bench, auth)).toBe("signed_in");
  expect(output(bench)).toBe("look done");
});

test("TB-27: a wider scope is asked for by a login for all scopes together, and no more than three logins are asked for", async () => {
  const auth = await oauthOf();
  const scopeOf = ({ rpc }: { readonly rpc: string | null }): string | null =>
    rpc === "tools/call" ? "sea:write" : null;
  const sea = await protectedBy(auth, { scopeOf });
  const bench = await benchOf({
    auth,
    sea,
    more: "auth: oauth, credentials: { client_id: team, scope: sea:read }",
  });
  auth.clients.set("team", null);
  await say(bench);
  expect(await signIn(bench, auth)).toBe("signed_in");
  const wider = new URL(askOf(bench).authorization.url).searchParams.get("scope");
  expect(wider?.split(" ").toSorted()).toEqual(["sea:read", "sea:write"]);
  expect(await signIn(bench, auth)).toBe("signed_in");
  expect(output(bench)).toBe("look done");

  const never = await protectedBy(auth, {
    scopeOf: ({ rpc, id }) => (rpc === "tools/call" ? `s${id}` : null),
  });
  const stuck = await benchOf({ auth, sea: never });
  await say(stuck);
  for (let login = 0; login < 6 && Object.keys(stuck.state().asks).length > 0; login++)
    await signIn(stuck, auth);
  expect(eventsOf(stuck, "ask_user")).toHaveLength(4);
  expect(output(stuck)).toMatch(/^unavailable: /);
});

test("TB-27: what is stored is encrypted, belongs to its tenant and address, and ends with the key of the deployment", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  const { tables } = memoryTables();
  const bench = await signedIn({ auth, sea, tables });
  const seen = traces(bench, tables);
  for (const canary of canaries(auth)) expect(seen).not.toContain(canary);
  expect(tables.read("SELECT server, issuer FROM mcp_credentials")).toEqual([
    { server: "sea", issuer: auth.url },
  ]);
  const rotated = await benchOf({
    auth,
    sea,
    tables,
    env: { LIMPET_ADMIN_KEY: "another-admin-key-0123456789" },
  });
  await say(rotated);
  expect(eventsOf(rotated, "ask_user")).toHaveLength(1);
  const moved = await protectedBy(auth);
  const elsewhere = await benchOf({ auth, sea: moved, tables });
  await say(elsewhere);
  expect(eventsOf(elsewhere, "ask_user")).toHaveLength(1);
  expect(moved.seen.some(({ headers }) => headers.authorization !== undefined)).toBe(false);
  const keyless = await benchOf({ auth, sea, tables, env: { LIMPET_ADMIN_KEY: "" } });
  await say(keyless);
  expect(lastEvent(keyless, "mcp_status")).toMatchObject({
    error: expect.stringContaining("LIMPET_ADMIN_KEY") as string,
  });
});

test("TB-27: a server that repeats its token tells nobody: it is masked in results", async () => {
  const auth = await oauthOf();
  const echo = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult([...auth.tokens.keys()].join(" ")),
    before: protect({ by: () => auth }),
  });
  const bench = await benchOf({ auth, sea: echo });
  await say(bench);
  await signIn(bench, auth);
  expect(output(bench)).toBe("[secret:token of sea]");
});

test("★ TB-27: a token that was renewed, or replaced by a login, is masked like the new one if a server repeats it", async () => {
  const auth = await oauthOf({ lifetime: 600 });
  const known = new Set<string>();
  const echo = await serverOf({
    tools: () => [textTool("look")],
    call: () => {
      for (const token of auth.tokens.keys()) known.add(token);
      return textResult([...known].join(" "));
    },
    before: protect({ by: () => auth }),
  });
  const bench = await benchOf({ auth, sea: echo });
  await say(bench);
  await signIn(bench, auth);
  await bench.tick(545_000);
  await say(bench, "Again");
  expect([known.size, output(bench)]).toEqual([2, "[secret:token of sea] [secret:token of sea]"]);
  auth.revoke();
  await say(bench, "And again");
  await signIn(bench, auth);
  expect([known.size, output(bench)]).toEqual([3, Array(3).fill("[secret:token of sea]").join(" ")]);
});

test("TB-27: a server that changes who authorizes it gets a registration and a login of its own there", async () => {
  const [first, next] = [await oauthOf(), await oauthOf()];
  let by = first;
  const sea = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("look done"),
    before: (seen, response) => protect({ by: () => by })(seen, response),
  });
  const bench = await benchOf({
    auth: first,
    sea,
    env: { LIMPET_PRIVATE_EGRESS: `${sea.host},${first.host},${next.host}` },
  });
  await say(bench);
  await signIn(bench, first);
  by = next;
  await say(bench);
  expect(await signIn(bench, next)).toBe("signed_in");
  expect(output(bench)).toBe("look done");
  expect([first.registrations.length, next.registrations.length]).toEqual([1, 1]);
  expect(next.tokenRequests.some((body) => first.clients.has(body.get("client_id") ?? ""))).toBe(false);
});

test("TB-27: a client of the team's own gets its tokens without a person, by a secret or by a signed assertion", async () => {
  const auth = await oauthOf({ lifetime: 600, clients: { team: "canary-client-secret" } });
  const sea = await protectedBy(auth);
  const more = `auth: client_credentials, credentials: { client_id: team, client_secret: "\${SECRET}", issuer: "${auth.url}", scope: "sea:read" }`;
  const bench = await benchOf({
    auth,
    sea,
    more,
    env: { SECRET: "canary-client-secret" },
    create: { interactive: false },
  });
  await say(bench);
  expect(output(bench)).toBe("look done");
  await bench.tick(545_000);
  await say(bench);
  expect(output(bench)).toBe("look done");
  expect(auth.seen.filter((path) => path === "/token client_credentials")).toHaveLength(2);
  expect(JSON.stringify(bench.events())).not.toContain("canary-client-secret");

  for (const [kind, options, hash] of [
    ["ec", { namedCurve: "P-256" }, "sha256"],
    ["rsa", { modulusLength: 2_048 }, "sha256"],
    ["ed25519", {}, null],
  ] as const) {
    const { publicKey, privateKey } = generateKeyPairSync(kind as "ec", options as { namedCurve: string });
    const verify = (assertion: string): boolean => {
      const [head = "", claims = "", signature = ""] = assertion.split(".");
      const key = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
      const { iss, aud, exp } = JSON.parse(Buffer.from(claims, "base64url").toString()) as {
        iss: string;
        aud: string;
        exp: number;
      };
      const isFor = iss === "team" && aud === keyed.url && exp > 0;
      return (
        isFor &&
        verifySignature(hash, Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, "base64url"))
      );
    };
    const keyed: OAuthServer = await oauthOf({ clients: { team: null }, verify });
    const lake = await protectedBy(keyed);
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const signing = await benchOf({
      auth: keyed,
      sea: lake,
      more: 'auth: client_credentials, credentials: { client_id: team, private_key: "${PEM}" }',
      env: { PEM: kind === "rsa" ? pem : pem.replaceAll("\n", "\\n") },
    });
    await say(signing);
    expect(output(signing), kind).toBe("look done");
  }
});

test("TB-27: a secret goes to the issuer that the file names, and to no other", async () => {
  const auth = await oauthOf({ clients: { team: "canary-client-secret" } });
  const sea = await protectedBy(auth);
  const more =
    'auth: client_credentials, credentials: { client_id: team, client_secret: "${SECRET}", issuer: "https://login.example.com" }';
  const bench = await benchOf({ auth, sea, more, env: { SECRET: "canary-client-secret" } });
  await say(bench);
  expect(auth.tokenRequests).toEqual([]);
  expect(lastEvent(bench, "mcp_status")).toMatchObject({ state: "failed" });
});

test.each([
  ["one at the server's own host", "127.0.0.1", {}],
  ["none at another", "localhost", {}],
  ["none whose tokens come from another", "127.0.0.1", { token_endpoint: "https://evil.example/token" }],
])("TB-27: without an issuer in the file, a secret goes to %s", async (_, hostname, metadata) => {
  const auth = await oauthOf({ hostname, clients: { team: "canary-client-secret" } });
  auth.faults.metadata = metadata;
  const sea = await protectedBy(auth);
  const more = 'auth: client_credentials, credentials: { client_id: team, client_secret: "${SECRET}" }';
  const bench = await benchOf({ auth, sea, more, env: { SECRET: "canary-client-secret" } });
  await say(bench);
  const isOwn = hostname === "127.0.0.1" && !("token_endpoint" in metadata);
  if (isOwn) return expect(output(bench)).toBe("look done");
  expect(auth.tokenRequests).toEqual([]);
  return expect(lastEvent(bench, "mcp_status")).toMatchObject({
    state: "failed",
    error: expect.stringContaining(`the secret goes to ${auth.url} only if credentials.issuer names it`),
  });
});

test("TB-27: an authorization server that reads documents of clients is given ours, and no registration", async () => {
  const auth = await oauthOf({ documents: true });
  const sea = await protectedBy(auth);
  const bench = await benchOf({ auth, sea, env: { LIMPET_ORIGIN: "https://agents.example.com" } });
  await say(bench);
  expect(await signIn(bench, auth)).toBe("signed_in");
  expect(auth.tokenRequests[0]?.get("client_id")).toBe("https://agents.example.com/client-metadata.json");
  expect(auth.tokenRequests[0]?.get("redirect_uri")).toBe("https://agents.example.com/v1/oauth/callback");
});

test("TB-27: the power cut at every write around a login: the call is made once or its outcome is unknown, and the run ends", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  for (let cut = 1; cut <= 10; cut++) {
    const bench = await signedIn({ auth, sea });
    auth.revoke();
    sea.seen.length = 0;
    bench.cutAt(cut);
    insist(bench, "send", { content: "Again" }, "s1");
    await bench.idle();
    if (Object.keys(bench.state().asks).length > 0) await signIn(bench, auth);
    checkInvariants(bench, []);
    expect(lastEvent(bench, "tool_call_end")["outcome"]).toMatch(/^(ok|unknown)$/);
    expect(bench.types().at(-1)).toBe("run_end");
  }
});

test("TB-27: an authorization server may write what it does not set as null", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  auth.faults.metadata = { scopes_supported: null, revocation_endpoint: null };
  auth.faults.fields = {
    client_secret: null,
    client_uri: null,
    logo_uri: null,
    refresh_token: null,
    scope: null,
  };
  await signedIn({ auth, sea });
});
