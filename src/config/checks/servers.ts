import type { Path } from "../document/diagnostics.ts";
import type { TeamDraft } from "../draft.ts";

/** Checks how a team reaches its MCP servers and signs in at them. */

type ServerShape = TeamDraft["servers"][number]["value"];

const isAuthorization = (name: string): boolean => name.toLowerCase() === "authorization";

const findAuthConflict = ({
  auth,
  url,
  headers,
  credentials,
}: ServerShape): readonly [Path, string] | null => {
  if (auth === "none")
    return credentials === undefined
      ? null
      : [["credentials"], "credentials need auth: oauth or auth: client_credentials"];
  if (url === undefined) return [["auth"], "a program has no login; pass its credentials in env"];
  const header = Object.keys(headers).find(isAuthorization);
  if (header !== undefined)
    return [["headers", header], `auth: ${auth} sets this header; remove one of the two`];
  const { client_secret: secret, private_key: key } = credentials ?? {};
  if (secret !== undefined && key !== undefined)
    return [["credentials", "private_key"], "a client has a client_secret or a private_key, not both"];
  return null;
};

/** Returns the keys of a server that exclude each other; null if none do. */
const findConflict = (server: ServerShape): readonly [Path, string] | null =>
  server.protocol === "2026" && server.transport === "sse"
    ? [["protocol"], 'protocol: "2026" has no transport: sse; remove one of the two']
    : findAuthConflict(server);

/** Checks that a server's tokens reach nobody else. */
const checkSecrecy = (draft: TeamDraft, { auth, url }: ServerShape, path: Path, isServed: boolean): void => {
  if (auth === "none") return;
  if (!isServed && URL.parse(url ?? "")?.protocol === "http:")
    draft.report("invalid_value", [...path, "url"], `auth: ${auth} sends tokens, which http would expose`, {
      hint: "write the https address of the server",
    });
};

const checkServer = (draft: TeamDraft, server: ServerShape, path: Path): void => {
  const conflict = findConflict(server);
  if (conflict !== null) {
    const [at, message] = conflict;
    draft.report("exclusive_keys", [...path, ...at], message, { which: "key" });
    return;
  }
  if (server.auth !== "client_credentials") return;
  const { credentials } = server;
  if (credentials === undefined)
    draft.report("missing_key", [...path, "credentials"], "auth: client_credentials needs credentials", {
      which: "missing",
    });
  else if (credentials.client_secret === undefined && credentials.private_key === undefined)
    draft.report(
      "missing_key",
      [...path, "credentials", "client_secret"],
      "auth: client_credentials needs a client_secret or a private_key",
      { which: "missing" },
    );
};

/** Checks the servers' keys; `isServed`: the team runs on this machine, where people return to the local address. */
export const checkServers = (draft: TeamDraft, isServed: boolean): void => {
  for (const { index, value } of draft.servers) {
    const path = ["mcp_servers", index];
    checkServer(draft, value, path);
    checkSecrecy(draft, value, path, isServed);
    if (isServed || value.auth !== "oauth" || draft.sections.access.hosts.length > 0) continue;
    draft.report(
      "missing_key",
      [...path, "auth"],
      "auth: oauth needs access.hosts, to whose first host people return after signing in",
      { hint: "write access: { hosts: [agents.example.com] } with this deployment's host" },
    );
  }
};
