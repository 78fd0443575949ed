import { referencesIn, resolveReferences, unsetSecretText } from "../../config/document/references.ts";
import type { McpServer, Team } from "../../config/team.ts";
import { ownEntry } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { ServerAnswer } from "../../agent/hooks/servers.ts";
import type { ServerTool, ServerTools } from "../../agent/state/session.ts";
import type { Sandbox } from "../../sandbox/contract.ts";
import { sha256Hex } from "../../sandbox/sha256.ts";
import type { ListedTool, McpClient, McpEndpoint } from "../../toolboxes/mcp/port.ts";
import { serverToolName } from "../../toolboxes/mcp/names.ts";
import type { KeepConnection, Toolbox } from "../../tools/define-tool.ts";
import type { Egress } from "../../tools/egress/egress.ts";
import { toConnectionError } from "../../tools/egress/egress.ts";
import { errorMessageOf } from "../../tools/errors.ts";
import type { Redactor } from "../../tools/redaction.ts";
import { createRedactor } from "../../tools/redaction.ts";
import type { AuthorizeServer } from "../../tools/egress/server-authorization.ts";
import type { ToolboxEntry } from "../../tools/toolbox.ts";
import type { ServerSighting } from "../access/tenant/tool-pins.ts";
import { sealerOf } from "../secrets/seal.ts";
import type { Bindings } from "../secrets/secrets.ts";
import { readSecrets } from "../secrets/secrets.ts";
import type { ServerLogins } from "./server-login.ts";
import { createServerLogins } from "./server-login.ts";
import { createServerTool } from "./server-tool.ts";

/** Connects sessions with the MCP servers of their team. */

/** Caller's part of a request to a server. */
export interface ServerReach {
  readonly signal: AbortSignal;
  /** Stores the connections of handshakes; null if the caller makes no further requests. */
  readonly keep: KeepConnection | null;
  /** Obtains the tenant's tokens for the server. */
  readonly authorize: AuthorizeServer;
}

/** MCP servers as a session reaches them. */
export interface Servers {
  /** Returns the toolboxes of the lists that a session keeps. */
  readonly toolboxes: (tools: ServerTools | null) => readonly Toolbox[];
  /** Asks a server for its tools, and ends the sessions of the connections that are over; it never rejects. */
  readonly list: (
    name: string,
    over: readonly Json[],
    outside: ServerReach & { readonly sandbox: () => Sandbox },
  ) => Promise<ServerAnswer>;
  /** Returns the part of a connection with which the server's session can be ended; null if the server keeps none. */
  readonly sessionOf: (connection: Json) => Json;
  /** Ends a server's session of a deleted session; rejects if the server does not answer. */
  readonly end: (name: string, connection: Json, outside: Omit<ServerReach, "keep">) => Promise<void>;
  /** Returns the settings in the team's file about changes of a server's tools. */
  readonly pinning: (name: string) => Pick<ServerSighting, "lock" | "allowNew">;
  readonly logins: ServerLogins;
}

export interface ServerParts {
  readonly team: Team;
  readonly env: Bindings;
  readonly egress: Egress;
  readonly redactor: Redactor;
  /** Client of MCP servers; null if the Worker contains none. */
  readonly client: McpClient | null;
}

interface OpenedServer {
  readonly url: URL;
  readonly headers: readonly (readonly [string, string])[];
  readonly secrets: readonly string[];
}

/** Resolves the references in a server's address and headers, each time anew. */
const openServer = async ({ team, env, redactor }: ServerParts, server: McpServer): Promise<OpenedServer> => {
  const { url = "", headers } = server;
  const texts = [
    ["url", url] as const,
    ...Object.entries(headers).map(([key, text]) => [`headers.${key}`, text] as const),
  ];
  const names = texts.flatMap(([, text]) => referencesIn(text).names);
  const values = await readSecrets(env, names, redactor.learn);
  const field = `mcp_servers[${team.mcp_servers.indexOf(server)}]`;
  const [address, ...resolved] = texts.map(([key, text]) => {
    const found = resolveReferences(text, (name) => values.get(name));
    if (found.ok) return [key, found.value] as const;
    throw new Error(unsetSecretText(`${field}.${key}`));
  });
  const parsed = URL.parse(address?.[1] ?? "");
  if (parsed === null) throw new Error(`${field}.url is not an address`);
  return {
    url: parsed,
    headers: resolved.map(([key, value]) => [key.slice("headers.".length), value] as const),
    // Headers without a reference identify the team, too, and none of them may follow a redirect elsewhere.
    secrets: [...values.values(), ...resolved.map(([, value]) => value)],
  };
};

/** Adds the server's headers and the query of its address to requests to its own origin, and to no other. */
const createSender =
  (egress: Egress, { url, headers: own, secrets }: OpenedServer, open: string): McpEndpoint["send"] =>
  (address, { headers, ...init }) => {
    const isOwn = URL.parse(address)?.origin === url.origin;
    if (isOwn) for (const [name, value] of own) headers.set(name, value);
    const to = address === open ? url : address;
    const request = {
      ...init,
      headers,
      redirects: "follow",
      keepMethod: true,
      maxBytes: null,
      secrets,
    } as const;
    return egress(to, request).catch((error: unknown) => {
      throw toConnectionError(error, address, init.signal);
    });
  };

/** Wraps the authorization so that tokens are redacted from what the server returns. */
const createTokenKeeper = (
  { name, auth }: McpServer,
  authorize: AuthorizeServer,
): Pick<McpEndpoint, "authorize" | "redact"> => {
  const tokens = createRedactor();
  if (auth === "none") return { authorize: null, redact: tokens.value };
  return {
    redact: tokens.value,
    authorize: async (request) => {
      const answer = await authorize(request);
      if (answer.kind !== "token") return answer;
      const { token, earlier = [] } = answer;
      for (const each of token === null ? earlier : [token, ...earlier])
        tokens.learn(`token of ${name}`, each);
      return answer;
    },
  };
};

const endpointOf = async (
  parts: ServerParts,
  server: McpServer,
  { authorize: obtain, keep: given }: Pick<ServerReach, "authorize" | "keep">,
): Promise<McpEndpoint> => {
  const opened = await openServer(parts, server);
  const { transport, protocol } = server;
  const shown = new URL(opened.url);
  shown.search = "";
  const send = createSender(parts.egress, opened, shown.href);
  const { authorize, redact: withoutTokens } = createTokenKeeper(server, obtain);
  const redact = <T>(value: T): T => withoutTokens(parts.redactor.value(value));
  const keep = given && ((connection: Json, over: Json) => given(redact(connection), over));
  // A secret in the query may change without a move, and not even its hash is stored.
  const place = sha256Hex(`${shown.href} ${server.url}`).slice(0, 16);
  return { url: shown.href, place, transport, protocol, send, keep, authorize, redact };
};

/** Lists names in the team's file that are not among the offered tools. */
const findMissing = (
  { team }: ServerParts,
  { name, tools = [] }: McpServer,
  found: readonly string[],
): readonly string[] => {
  const entries = team.agents.flatMap(({ toolboxes }) => toolboxes.filter((entry) => entry.name === name));
  const wanted = new Set([...tools, ...entries.flatMap((entry) => entry.tools ?? [])]);
  return [...wanted]
    .filter((tool) => !found.includes(tool) && !found.includes(serverToolName(name, tool)))
    .map((tool) => `"${tool}" is named in the team's file, but the server does not offer it`);
};

interface NamedTools {
  readonly tools: readonly ServerTool[];
  readonly omitted: readonly string[];
}

/** Names the tools of a server; of two tools with the same name, the first is kept. */
const nameTools = (server: string, listed: readonly ListedTool[]): NamedTools => {
  const named = new Map<string, ServerTool>();
  const omitted: string[] = [];
  for (const tool of listed) {
    const name = serverToolName(server, tool.remote);
    if (named.has(name)) omitted.push(`${name}: another tool has this name`);
    else named.set(name, { name, ...tool });
  }
  return { tools: [...named.values()], omitted };
};

/** Returns a sentence about a driver that runs no programs. */
const describeProgram = async ({ name }: McpServer, sandbox: () => Sandbox): Promise<string> => {
  const driver = await Promise.try(() => sandbox().capabilities()).then(
    (found) => `the sandbox "${found.driver}"`,
    () => "this deployment's sandbox",
  );
  return `the server ${name} is a program, and ${driver} runs no MCP servers; give the server a url`;
};

/** Returns whether the team's whitelist, if there is one, includes a tool of this name. */
const isOffered = ({ name, tools }: McpServer, tool: string): boolean =>
  tools === undefined || tools.some((each) => each === tool || serverToolName(name, each) === tool);

/** Returns whitelists that may use a server's own names of its tools. */
export const withServerNames = (
  { mcp_servers }: Pick<Team, "mcp_servers">,
  entry: ToolboxEntry,
): ToolboxEntry => {
  const isServer = mcp_servers.some(({ name }) => name === entry.name);
  if (!isServer || entry.tools === undefined) return entry;
  return { ...entry, tools: entry.tools.flatMap((tool) => [tool, serverToolName(entry.name, tool)]) };
};

/** Returns a tool that no session has seen yet: until its server describes it, it may do anything. */
const unseenTool = (server: string, name: string): ServerTools[string][number] => {
  const hints = { readOnly: false, idempotent: false };
  return { name, remote: name.slice(server.length + 2), description: "", schema: {}, hints, hash: "" };
};

export const unseenServerTool = ({ mcp_servers }: Pick<Team, "mcp_servers">, name: string): ServerTools => {
  const server = mcp_servers.find((each) => name.startsWith(`${each.name}__`));
  return server === undefined ? {} : { [server.name]: [unseenTool(server.name, name)] };
};

/** Returns the tools of servers that a team's file names; `server__*` stands for those that a server will list. */
export const unseenServerTools = ({ mcp_servers, agents }: Team): ServerTools =>
  Object.fromEntries(
    mcp_servers.map(({ name: server, tools = [] }) => {
      const entries = agents.flatMap(({ toolboxes }) => toolboxes.filter(({ name }) => name === server));
      const own = [...tools, ...entries.flatMap((entry) => entry.tools ?? [])];
      const names = own.map((tool) => (tool.startsWith(`${server}__`) ? tool : serverToolName(server, tool)));
      return [server, [...new Set([`${server}__*`, ...names])].map((name) => unseenTool(server, name))];
    }),
  );

const listServer = async (
  parts: ServerParts,
  server: McpServer,
  over: readonly Json[],
  reach: ServerReach,
): Promise<NamedTools> => {
  if (parts.client === null) throw new Error("this deployment contains no MCP client; build it again");
  const endpoint = await endpointOf(parts, server, reach);
  const hasPlace = (remote: string): boolean => isOffered(server, serverToolName(server.name, remote));
  const listing = endpoint.redact(await parts.client.list(endpoint, over, hasPlace, reach.signal));
  const { tools, omitted } = nameTools(server.name, listing.tools);
  const missing = findMissing(
    parts,
    server,
    tools.map(({ name }) => name),
  );
  return {
    tools,
    omitted: [...listing.omitted, ...omitted, ...missing],
  };
};

/** Creates the access of sessions to their team's MCP servers. */
export const createServers = (parts: ServerParts): Servers => {
  const { team, client } = parts;
  const sealer = sealerOf(parts.env);
  const find = (name: string): McpServer | undefined => team.mcp_servers.find((each) => each.name === name);
  return {
    toolboxes: (lists) =>
      team.mcp_servers.map((server) => ({
        name: server.name,
        description: `The MCP server ${server.name}.`,
        tools: (lists?.[server.name] ?? [])
          .filter((tool) => isOffered(server, tool.name))
          .map((tool) =>
            createServerTool(server, tool, {
              client,
              sealer,
              endpointOf: (reach) => endpointOf(parts, server, reach),
            }),
          ),
      })),
    sessionOf: (connection) => client?.sessionOf(connection) ?? null,
    end: async (name, connection, { signal, authorize }) => {
      const server = find(name);
      if (client === null || server?.url === undefined) return;
      const endpoint = await endpointOf(parts, server, { authorize, keep: null });
      await client.end(endpoint, connection, signal);
    },
    pinning: (name) => ({
      lock: ownEntry(team.mcp_lock, name) ?? null,
      allowNew: find(name)?.new_tools === "allow",
    }),
    logins: createServerLogins(parts),
    list: async (name, over, { sandbox, ...reach }) => {
      const server = find(name);
      const failed = { server: name, ok: false, state: "failed" } as const;
      if (server?.command !== undefined) return { ...failed, reason: await describeProgram(server, sandbox) };
      if (server?.url === undefined) return { ...failed, reason: "the deployed team has no such server" };
      try {
        const listed = await listServer(parts, server, over, reach);
        return { server: name, ok: true, ...listed, changes: [] };
      } catch (error) {
        const { isAuth, login } = error as { readonly isAuth?: unknown; readonly login?: unknown };
        const reason = parts.redactor.text(errorMessageOf(error));
        return {
          ...failed,
          state: isAuth === true ? "auth_needed" : "failed",
          reason,
          ...(typeof login === "string" ? { login } : {}),
        };
      }
    },
  };
};
