import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownEntry } from "../chat/json.ts";
import { teamFolder } from "../config/build/files.ts";
import { lockFile, lockText } from "../config/build/mcp-lock.ts";
import { localSecretsFile, referencesIn } from "../config/document/references.ts";
import type { McpServer, Team } from "../config/team.ts";
import { createEngine } from "../engine/create.ts";
import type { ServerReach, Servers } from "../engine/tools/servers.ts";
import { mcp } from "../toolboxes/mcp/index.ts";
import type { IssuerCredentials } from "../toolboxes/mcp/port.ts";
import { readDevVars } from "./bindings.ts";
import type { Terminal } from "./usage.ts";

/** Milliseconds to wait for one server. */
const listMs = 30_000;

/** Passes on only the variables that the team's file refers to, and those that control requests. */
const environmentOf = (root: string, { name: team, secrets }: Team): Readonly<Record<string, string>> => {
  const variables = { ...readDevVars(root, team), ...process.env };
  return Object.fromEntries(
    [...secrets, "LIMPET_DEV", "LIMPET_PRIVATE_EGRESS"].flatMap((name) => {
      const value = variables[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
};

const nobodySignsIn = {
  kind: "failure",
  reason:
    "nobody can sign in here; omit this server from the lock and approve its tools after the first login",
} as const;

const noLogin = async (): Promise<string> => {
  throw new Error(nobodySignsIn.reason);
};

/** Obtains tokens with the client's own credentials, if the team has any; they are kept for one listing. */
const createAuthorizer = ({ logins }: Servers, { name, auth }: McpServer): ServerReach["authorize"] => {
  let stored: readonly IssuerCredentials[] = [];
  return async (request) => {
    if (auth !== "client_credentials") return nobodySignsIn;
    try {
      const after = await logins.authorize(name, stored, { request, state: noLogin, now: Date.now });
      ({ stored } = after);
      return after.outcome.kind === "token" ? after.outcome : nobodySignsIn;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { kind: "failure", reason: `no token is available: ${reason}` };
    }
  };
};

const noSandbox = (): never => {
  throw new Error("there is no sandbox here");
};

const unsetReason = (secret: string, team: string): string =>
  `${secret} is not set; write it into ${localSecretsFile(team)}, or set it in this command's environment`;

/** Writes the lock unless it is there already, and returns a sentence of what happened. */
const writeLock = (root: string, team: string, text: string): string => {
  const path = join(teamFolder(root, team), lockFile);
  const isSame = existsSync(path) && readFileSync(path, "utf8") === text;
  if (!isSame) writeFileSync(path, text);
  return `config/${team}/${lockFile} ${isSame ? "has not changed" : "was written"}`;
};

interface LockOutcome {
  /** Whether all servers answered. */
  readonly isWhole: boolean;
  /** What became of the lock, in a sentence; null if there is none to write. */
  readonly says: string | null;
}

/**
 * Writes the lock of a team: asks each MCP server for its tools and records them as approved. A server that does
 * not answer keeps its entry in the lock.
 */
export const lockServers = async (terminal: Terminal, team: Team): Promise<LockOutcome> => {
  const env = environmentOf(terminal.root, team);
  const { servers } = createEngine({ team, env, toolboxes: [], mcp });
  const lock: Record<string, Readonly<Record<string, string>>> = {};
  let isWhole = true;
  for (const server of team.mcp_servers) {
    const { name, url } = server;
    const before = ownEntry(team.mcp_lock, name);
    if (before !== undefined) lock[name] = before;
    if (url === undefined) continue;
    const signal = AbortSignal.timeout(listMs);
    const answer = await servers.list(name, [], {
      signal,
      sandbox: noSandbox,
      keep: null,
      authorize: createAuthorizer(servers, server),
    });
    if (answer.ok) lock[name] = Object.fromEntries(answer.tools.map((tool) => [tool.name, tool.hash]));
    else {
      const [unset] = referencesIn(JSON.stringify(server)).names.filter((each) => (env[each] ?? "") === "");
      const reason = unset === undefined ? answer.reason : unsetReason(unset, team.name);
      terminal.print(`${team.name}: the MCP server ${name} cannot be locked: ${reason}`);
    }
    isWhole &&= answer.ok;
  }
  // An empty lock, because no server answered, would only look as if the tools were approved.
  const isWritten = isWhole || Object.keys(lock).length > 0;
  return { isWhole, says: isWritten ? writeLock(terminal.root, team.name, lockText(lock)) : null };
};
