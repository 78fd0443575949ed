import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { compileFolder } from "../../../src/cli/compile.ts";
import { lockServers } from "../../../src/cli/lock-mcp.ts";
import { replies, said, scripted } from "../../support/scripts.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { oauthOf, protectedBy } from "./logins.ts";
import { serverOf } from "./support.ts";

/** What `limpet build --lock-mcp` locks of servers that want a token. */

interface Locked {
  readonly isWhole: boolean;
  readonly says: string | null;
  readonly lines: readonly string[];
  /** Null: no lock was written. */
  readonly servers: Readonly<Record<string, Readonly<Record<string, string>>>> | null;
}

/** Locks the servers of a team file, with these variables in the environment and those in a file of variables. */
const lock = async (
  servers: string,
  env: Readonly<Record<string, string>>,
  vars: Readonly<Record<string, string>> = {},
  name = "sea",
): Promise<Locked> => {
  const root = mkdtempSync(join(tmpdir(), "limpet-lock-"));
  onTestFinished(() => {
    rmSync(root, { recursive: true, force: true });
    vi.unstubAllEnvs();
  });
  const folder = join(root, "config", "acme");
  mkdirSync(folder, { recursive: true });
  const more = `egress: { allow_http: true }\nmcp_servers: [${servers}]`;
  const yaml = scripted(replies(said("Done.")), "", more);
  writeFileSync(join(folder, "team.yaml"), yaml.replace("toolboxes: [probe]", `toolboxes: [${name}]`));
  vi.unstubAllEnvs();
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  for (const [path, text] of Object.entries(vars)) writeFileSync(join(root, path), text);
  const { team, diagnostics } = await compileFolder(root, "acme", true);
  if (team === null) throw new Error(JSON.stringify(diagnostics));
  const lines: string[] = [];
  const { isWhole, says } = await lockServers({ root, print: (line) => lines.push(line) }, team);
  const path = join(folder, "mcp.lock.json");
  if (!existsSync(path)) return { isWhole, says, lines, servers: null };
  const { servers: found } = JSON.parse(readFileSync(path, "utf8")) as Pick<Locked, "servers">;
  return { isWhole, says, lines, servers: found };
};

test("TB-23 TB-27: a server is locked with a token that the team's own client obtains; nobody signs in, and nothing is kept", async () => {
  const auth = await oauthOf({ clients: { team: "canary-client-secret" } });
  const sea = await protectedBy(auth);
  const server = `{ name: sea, url: "${sea.url}", auth: client_credentials, credentials: { client_id: team, client_secret: "\${SECRET}", issuer: "${auth.url}" } }`;
  const env = { LIMPET_DEV: "1", LIMPET_PRIVATE_EGRESS: `${sea.host},${auth.host}` };
  const locked = await lock(server, { ...env, SECRET: "canary-client-secret" });
  expect(locked.lines).toEqual([]);
  expect(locked).toMatchObject({ isWhole: true, says: "config/acme/mcp.lock.json was written" });
  expect(locked).toMatchObject({ servers: { sea: { sea__look: expect.any(String) } } });
  expect(auth.seen.filter((path) => path === "/token client_credentials")).toHaveLength(1);
  const shared = { ".dev.vars": "SECRET=canary-other-secret\n" };
  const own = { ...shared, ".dev.vars.acme": 'SECRET="canary-client-secret"\n' };
  expect(await lock(server, env, own)).toMatchObject({ isWhole: true, lines: [] });
  const refused = await lock(server, env, shared);
  expect(refused).toMatchObject({ isWhole: false, says: null, servers: null });
  expect(refused.lines.join()).toMatch(/^acme: the MCP server sea cannot be locked: no token is available: /);
  expect(refused.lines.join()).not.toContain("canary");
});

test("TB-23 TB-27: a server at which people sign in cannot be locked, and the reason says what to do", async () => {
  const auth = await oauthOf();
  const sea = await protectedBy(auth);
  const env = { LIMPET_DEV: "1", LIMPET_PRIVATE_EGRESS: `${sea.host},${auth.host}` };
  const locked = await lock(`{ name: sea, url: "${sea.url}", auth: oauth }`, env);
  expect(locked).toMatchObject({ isWhole: false, servers: null });
  expect(locked.lines.join()).toContain("nobody can sign in here; omit this server from the lock");
  expect(auth.seen).toEqual([]);
});

test("TB-27: a secret of a server that is not set is named, with the places where the command reads it", async () => {
  const locked = await lock(
    '{ name: sea, url: "https://sea.example.com/mcp", headers: { X-Key: "${SEA_KEY}" } }',
    {},
  );
  expect(locked).toMatchObject({ isWhole: false, servers: null });
  expect(locked.lines).toEqual([
    "acme: the MCP server sea cannot be locked: SEA_KEY is not set; write it into .dev.vars.acme, or set it in this command's environment",
  ]);
});

test("★ TB-23 TB-25: the session in which a server is locked is ended, whether it lists its tools or not", async () => {
  for (const isListed of [true, false]) {
    const sea = await serverOf({
      session: "one",
      tools: () => [textTool("look")],
      call: () => textResult("never asked"),
      before: ({ http, rpc }, response) => {
        const isRefused = rpc === "tools/list" && !isListed;
        if (isRefused || http === "DELETE") response.writeHead(isRefused ? 500 : 204).end();
        return isRefused || http === "DELETE";
      },
    });
    const locked = await lock(`{ name: sea, url: "${sea.url}", protocol: "2025" }`, {
      LIMPET_DEV: "1",
      LIMPET_PRIVATE_EGRESS: sea.host,
    });
    const ended = sea.seen.filter(({ http }) => http === "DELETE");
    expect([locked.isWhole, ended.map(({ headers }) => headers["mcp-session-id"])]).toEqual([
      isListed,
      ["one"],
    ]);
  }
});

test("TB-23: a server with the name of an inherited property that does not answer is not locked", async () => {
  const locked = await lock('{ name: constructor, url: "http://127.0.0.1:9/mcp" }', {}, {}, "constructor");
  expect(locked).toMatchObject({ isWhole: false, says: null, servers: null });
});
