import { expect, test, vi } from "vitest";
import type { LoginParts } from "../../src/engine/tools/server-login.ts";
import { createServerLogins } from "../../src/engine/tools/server-login.ts";
import { redactorOf } from "../../src/engine/secrets/known-secrets.ts";
import type { Authorizer } from "../../src/toolboxes/mcp/port.ts";
import { compile, team } from "../config/support.ts";

/** What a token is asked for with, and where requests for it may go. */

interface Asked {
  readonly authorizer: Authorizer;
  readonly sent: Parameters<LoginParts["egress"]>[1][];
}

/** Asks once; the authorization server's first answer may take a while. */
const asking = async (
  server: string,
  env: Readonly<Record<string, string>> = {},
  answered: Promise<void> = Promise.resolve(),
): Promise<Asked> => {
  const yaml = team({
    top: `access: { hosts: [agents.example.com] }\nmcp_servers:\n  - { name: sea, ${server} }`,
  }).replace("toolboxes: [filesystem]", "toolboxes: [filesystem, sea]");
  const { team: compiled } = await compile(yaml, { isServed: true });
  if (compiled === null) throw new Error("the team's file is wrong");
  const sent: Asked["sent"] = [];
  let authorizer: Authorizer | null = null;
  const logins = createServerLogins({
    team: compiled,
    env,
    redactor: redactorOf(compiled, env),
    egress: async (_address, init) => {
      sent.push(init);
      await answered;
      return new Response("{}");
    },
    client: {
      authorize: async (given: Authorizer) => {
        authorizer = given;
        await given.send("https://login.example/token", { method: "POST", headers: new Headers() });
        return { outcome: { kind: "token", token: null }, stored: [] };
      },
    } as never,
  });
  const request = { challenge: null, refused: null };
  await logins.authorize("sea", [], { request, state: async () => "", now: () => 0 });
  return { authorizer: authorizer ?? expect.fail("nobody was asked"), sent };
};

const oauth = "url: https://sea.example/mcp, auth: oauth";

test("TB-27: requests of one attempt share one deadline, and a public server leads them to no private address (TB-18)", async () => {
  vi.useFakeTimers();
  const answer = Promise.withResolvers<void>();
  const asked = asking(oauth, {}, answer.promise);
  await vi.advanceTimersByTimeAsync(15_000);
  answer.resolve();
  const { authorizer, sent } = await asked;
  await authorizer.send("https://login.example/token", { method: "POST", headers: new Headers() });
  expect(sent).toHaveLength(2);
  for (const init of sent)
    expect(init).toMatchObject({
      from: "https://sea.example/mcp",
      signal: { aborted: true, reason: { name: "TimeoutError" } },
      redirects: "refuse",
    });
  expect(vi.getTimerCount(), "no timer outlives the attempt").toBe(0);
  vi.useRealTimers();
});

test("TB-27: a client's id is read from the environment and stays readable, its secret does not", async () => {
  const env = { CLIENT: "public-client-id", SECRET: "canary-client-secret" };
  const client =
    'credentials: { client_id: "${CLIENT}", client_secret: "${SECRET}", issuer: "https://login.example" }';
  const { authorizer, sent } = await asking(`${oauth}, ${client}`, env);
  expect(authorizer.grant.client).toMatchObject({ id: "public-client-id", secret: "canary-client-secret" });
  expect(sent[0]?.secrets).not.toContain("public-client-id");
  expect(sent[0]?.secrets).toContain("canary-client-secret");
});

test("TB-27: what is missing is told without the names of secrets", async () => {
  const client =
    'credentials: { client_id: "${CLIENT}", client_secret: "${SECRET_NAME}", issuer: "https://login.example" }';
  const failed = asking(`${oauth}, ${client}`, { CLIENT: "public-client-id" });
  await expect(failed).rejects.toThrow(
    /the secret of mcp_servers\[0\]\.credentials\.client_secret is not set/,
  );
  await expect(failed).rejects.not.toThrow(/SECRET_NAME/);
});

test("TB-27: no token is had for a server on plain http, but for one that the operator opened on this machine", async () => {
  const plain = "url: http://127.0.0.1:9/mcp, auth: oauth";
  await expect(asking(plain)).rejects.toThrow("mcp_servers[0].url: tokens are sent only to https addresses");
  await expect(asking(plain, { LIMPET_DEV: "1" })).rejects.toThrow("only to https addresses");
  const opened = { LIMPET_DEV: "1", LIMPET_PRIVATE_EGRESS: "127.0.0.1:9" };
  expect((await asking(plain, opened)).authorizer.url).toBe("http://127.0.0.1:9/mcp");
  await expect(asking(plain, { ...opened, LIMPET_DEV: "" })).rejects.toThrow("only to https addresses");
});
