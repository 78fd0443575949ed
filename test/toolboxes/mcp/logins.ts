import { expect, onTestFinished } from "vitest";
import type { Tables } from "../../../src/engine/access/database.ts";
import { lastEvent, say } from "../../engine/harness.ts";
import type { Bench } from "../../support/bench.ts";
import type { McpServerOptions, TestMcpServer } from "../../support/mcp-server.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import type { OAuthServer } from "../../support/oauth-server.ts";
import { protect, startOAuthServer } from "../../support/oauth-server.ts";
import { servedBench, serverOf } from "./support.ts";

/** Sessions on the bench whose MCP server is behind OAuth, and the person who signs in. */

export const adminKey = "canary-admin-key-0123456789";

export const oauthOf = async (options: Parameters<typeof startOAuthServer>[0] = {}): Promise<OAuthServer> => {
  const server = await startOAuthServer(options);
  onTestFinished(server.close);
  return server;
};

export const protectedBy = (
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
  readonly tables?: Tables;
  readonly env?: Readonly<Record<string, unknown>>;
}

export const benchOf = ({
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
    turns: turns ?? Array.from({ length: 4 }, () => [[["sea__look", {}]], ["Done."]] as const).flat(),
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

export const askOf = (bench: Bench): LoginAsk => lastEvent(bench, "ask_user")["ask"] as LoginAsk;

/** Signs in at the address of the newest ask; returns what became of the login. */
export const signIn = async (bench: Bench, auth: OAuthServer): Promise<string> => {
  const location = await auth.signIn(askOf(bench).authorization.url);
  const end = await bench.finishLogin(new URL(location).search);
  await bench.idle();
  return end;
};

export const output = (bench: Bench): unknown => lastEvent(bench, "tool_call_end")["output"];

/** A session that is signed in and has called once. */
export const signedIn = async (given: Signed): Promise<Bench> => {
  const bench = await benchOf(given);
  await say(bench);
  expect(await signIn(bench, given.auth)).toBe("signed_in");
  expect(output(bench)).toBe("look done");
  return bench;
};
