import { onTestFinished } from "vitest";
import { expect, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import type { memoryTables } from "../../engine/access/tables.ts";
import type { Bench } from "../../support/bench.ts";
import type { McpServerOptions, TestMcpServer } from "../../support/mcp-server.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import type { OAuthServer } from "../../support/oauth-server.ts";
import { protect, startOAuthServer } from "../../support/oauth-server.ts";
import { servedBench, serverOf } from "./support.ts";

/** A server behind OAuth: a person signs in for the tenant once, and every call goes on by itself. */

const adminKey = "canary-admin-key-0123456789";

const oauthOf = async (options: Parameters<typeof startOAuthServer>[0] = {}): Promise<OAuthServer> => {
  const server = await startOAuthServer(options);
  onTestFinished(server.close);
  return server;
};

const protectedBy = (
  auth: OAuthServer,
  more: Partial<McpServerOptions> & Partial<Parameters<typeof protect>[0]> = {},
): Promise<TestMcpServer> =>
  serverOf({
    tools: () => [textTool("look")],
    call: (name) => textResult(`${name} done`),
    before: protect({ by: () => auth, ...more }),
    ...more,
  });

interface Signed {
  readonly auth: OAuthServer;
  readonly sea: TestMcpServer;
  readonly more?: string;
  readonly turns?: Parameters<typeof servedBench>[0]["turns"];
  readonly create?: object;
  readonly tables?: ReturnType<typeof memoryTables>["tables"];
  readonly env?: Readonly<Record<string, unknown>>;
}

const benchOf = ({
  auth,
  sea,
  more = "auth: oauth",
  turns,
  create,
  tables,
  env = {},
}: Signed): Promise<Bench> =>
  servedBench({
    servers: [`{ name: sea, url: "${sea.url}", ${more} }`],
    toolboxes: "[sea]",
    turns: turns ?? [[["sea__look", {}]], ["Done."], [["sea__look", {}]], ["Done."]],
    hosts: [sea.host, auth.host],
    env: { LIMPET_DEV: "1", LIMPET_ADMIN_KEY: adminKey, ...env },
    ...(create === undefined ? {} : { create }),
    ...(tables === undefined ? {} : { tables }),
  });

interface LoginAsk {
  readonly id: string;
  readonly kind: string;
  readonly call: string;
  readonly authorization: { readonly server: string; readonly url: string; readonly login?: true };
}

const askOf = (bench: Bench): LoginAsk => lastEvent(bench, "ask_user")["ask"] as LoginAsk;

/** Signs in at the address of the newest ask; returns what became of the login. */
const signIn = async (bench: Bench, auth: OAuthServer): Promise<string> => {
  const location = await auth.signIn(askOf(bench).authorization.url);
  const end = await bench.finishLogin(new URL(location).search);
  await bench.idle();
  return end;
};

const output = (bench: Bench): unknown => lastEvent(bench, "tool_call_end")["output"];

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
