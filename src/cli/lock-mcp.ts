import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { teamFolder } from "../config/build/files.ts";
import { lockFile, lockText } from "../config/build/mcp-lock.ts";
import type { Team } from "../config/team.ts";
import { createEngine } from "../engine/create.ts";
import { mcp } from "../toolboxes/mcp/index.ts";
import type { Terminal } from "./usage.ts";

/** Limits the wait for one server. */
const listMs = 30_000;

/** Passes on what the team's file refers to, and nothing else of this machine's environment. */
const environmentOf = ({ secrets }: Team): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...secrets, "LIMPET_PRIVATE_EGRESS"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );

const noTokens = async () =>
  ({
    kind: "failure",
    reason:
      "nobody can sign in here; leave this server out of the lock and approve its tools after the first login",
  }) as const;

const noSandbox = (): never => {
  throw new Error("there is no sandbox here");
};

/**
 * Writes the lock of a team: it asks each MCP server for its tools and takes them as approved. A server that does not
 * answer keeps what the lock says of it. Returns whether all answered.
 */
export const lockServers = async (terminal: Terminal, team: Team): Promise<boolean> => {
  const { servers } = createEngine({ team, env: environmentOf(team), toolboxes: [], mcp });
  const lock: Record<string, Readonly<Record<string, string>>> = {};
  let isWhole = true;
  for (const { name, url } of team.mcp_servers) {
    const before = team.mcp_lock[name];
    if (before !== undefined) lock[name] = before;
    if (url === undefined) continue;
    const signal = AbortSignal.timeout(listMs);
    const answer = await servers.list(name, null, {
      signal,
      sandbox: noSandbox,
      authorize: noTokens,
    });
    if (answer.ok) lock[name] = Object.fromEntries(answer.tools.map((tool) => [tool.name, tool.hash]));
    else terminal.print(`${team.name}: the MCP server ${name} cannot be locked: ${answer.reason}`);
    isWhole &&= answer.ok;
  }
  writeFileSync(join(teamFolder(terminal.root, team.name), lockFile), lockText(lock));
  return isWhole;
};
