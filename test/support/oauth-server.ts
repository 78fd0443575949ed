import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { McpServerOptions, SeenRequest } from "./mcp-server.ts";

/** An authorization server on loopback that keeps the rules of OAuth 2.1, and what an MCP server behind it answers. */

/** What a test has the server do wrong. */
export interface OAuthFaults {
  /** The `iss` of the answers; null: none. */
  iss?: string | null;
  /** The issuer that the metadata name. */
  issuer?: string;
  /** Where the authorization endpoint is said to be. */
  authorize?: string;
  /** Answers the next token requests with this status. */
  token?: number;
  /** Answers so in place of JSON. */
  text?: string;
  /** The scope of a token's answer; null: none. */
  scope?: null;
  /** Further fields of the metadata. */
  metadata?: object;
  /** Further fields of registrations and tokens. */
  fields?: object;
}

interface Grant {
  readonly client: string;
  readonly scope: string;
  readonly resource: string;
}

interface Code extends Grant {
  readonly challenge: string;
  readonly redirect: string;
}

export interface OAuthServer {
  readonly url: string;
  readonly host: string;
  readonly faults: OAuthFaults;
  /** Paths of the requests so far, with the grant type of those for tokens. */
  readonly seen: string[];
  /** Bodies of the token requests. */
  readonly tokenRequests: URLSearchParams[];
  /** Bodies of the registrations. */
  readonly registrations: Readonly<Record<string, unknown>>[];
  /** The tokens that are valid now, with their scopes. */
  readonly tokens: Map<string, Grant>;
  /** The clients that it knows, with their secrets. */
  readonly clients: Map<string, string | null>;
  /** Takes back all tokens and what would renew them. */
  readonly revoke: () => void;
  /** Opens an address as a person's browser would, agrees, and returns where it is sent. */
  readonly signIn: (address: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

interface OAuthOptions {
  /** Seconds that a token is valid. */
  readonly lifetime?: number;
  /** Clients that are registered already, with their secrets; null: a public one. */
  readonly clients?: Readonly<Record<string, string | null>>;
  /** Name of its host, which is this machine. */
  readonly hostname?: string;
  /** It reads documents of clients instead of registering them. */
  readonly documents?: boolean;
  /** Checks the assertion of a client with a private key. */
  readonly verify?: (assertion: string) => boolean;
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

const secretOf = (bytes = 18): string => randomBytes(bytes).toString("base64url");

const s256 = (verifier: string): string => createHash("sha256").update(verifier).digest("base64url");

const sendJson = (response: ServerResponse, status: number, value: object): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
};

const basicOf = ({ headers }: IncomingMessage): readonly [string, string] | null => {
  const [, encoded] = /^Basic (.+)$/.exec(headers.authorization ?? "") ?? [];
  if (encoded === undefined) return null;
  const [id = "", secret = ""] = Buffer.from(encoded, "base64").toString().split(":");
  return [decodeURIComponent(id), decodeURIComponent(secret)];
};

export const startOAuthServer = async ({
  hostname = "127.0.0.1",
  lifetime = 3_600,
  clients: known = {},
  documents = false,
  verify = () => false,
}: OAuthOptions = {}): Promise<OAuthServer> => {
  const faults: OAuthFaults = {};
  const seen: string[] = [];
  const tokenRequests: URLSearchParams[] = [];
  const registrations: Readonly<Record<string, unknown>>[] = [];
  const clients = new Map<string, string | null>(Object.entries(known));
  const redirects = new Map<string, readonly string[]>();
  const codes = new Map<string, Code>();
  const tokens = new Map<string, Grant>();
  const refreshes = new Map<string, Grant>();
  let url = "";

  const metadata = (): object => ({
    issuer: faults.issuer ?? url,
    authorization_endpoint: faults.authorize ?? `${url}/authorize`,
    token_endpoint: `${url}/token`,
    ...(documents
      ? { client_id_metadata_document_supported: true }
      : { registration_endpoint: `${url}/register` }),
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "private_key_jwt"],
    authorization_response_iss_parameter_supported: true,
    ...faults.metadata,
  });

  const register = (body: string, response: ServerResponse): void => {
    const asked = JSON.parse(body) as { readonly redirect_uris: readonly string[] };
    registrations.push(asked);
    const client = `client-${secretOf(6)}`;
    clients.set(client, null);
    redirects.set(client, asked.redirect_uris);
    sendJson(response, 201, { ...asked, client_id: client, ...faults.fields });
  };

  const grantCode = (query: URLSearchParams, response: ServerResponse): void => {
    const text = (name: string): string => query.get(name) ?? "";
    const [client, redirect] = [text("client_id"), text("redirect_uri")];
    const allowed = redirects.get(client);
    const isKnown = clients.has(client) || (documents && client.startsWith("https://"));
    const isRegistered = allowed === undefined || allowed.includes(redirect);
    const isWhole =
      text("response_type") === "code" && text("code_challenge_method") === "S256" && text("state") !== "";
    if (!isKnown || !isRegistered || !isWhole) return sendJson(response, 400, { error: "invalid_request" });
    const code = secretOf();
    const [scope, resource, challenge] = [text("scope"), text("resource"), text("code_challenge")];
    codes.set(code, { client, redirect, scope, resource, challenge });
    const target = new URL(redirect);
    target.searchParams.set("code", code);
    target.searchParams.set("state", text("state"));
    const iss = faults.iss === undefined ? url : faults.iss;
    if (iss !== null) target.searchParams.set("iss", iss);
    response.writeHead(302, { location: target.href }).end();
  };

  const issue = (response: ServerResponse, grant: Grant, canRefresh: boolean): void => {
    const token = `at_${secretOf()}`;
    tokens.set(token, grant);
    const refresh = `rt_${secretOf()}`;
    if (canRefresh) refreshes.set(refresh, grant);
    sendJson(response, 200, {
      access_token: token,
      token_type: "Bearer",
      expires_in: lifetime,
      ...(faults.scope === null ? {} : { scope: grant.scope }),
      ...(canRefresh ? { refresh_token: refresh } : {}),
      ...faults.fields,
    });
  };

  const isClient = (request: IncomingMessage, body: URLSearchParams, client: string): boolean => {
    const assertion = body.get("client_assertion");
    if (assertion !== null) return verify(assertion);
    const basic = basicOf(request);
    const secret = clients.get(client) ?? null;
    return secret === null ? basic === null : basic?.[1] === secret;
  };

  const exchange = (request: IncomingMessage, body: URLSearchParams, response: ServerResponse): void => {
    const refuse = (error: string): void => sendJson(response, 400, { error });
    const client = basicOf(request)?.[0] ?? body.get("client_id") ?? "";
    if (!isClient(request, body, client)) return sendJson(response, 401, { error: "invalid_client" });
    const resource = body.get("resource") ?? "";
    const type = body.get("grant_type");
    if (type === "client_credentials")
      return issue(response, { client, resource, scope: body.get("scope") ?? "" }, false);
    if (type === "refresh_token") {
      const given = body.get("refresh_token") ?? "";
      const grant = refreshes.get(given);
      refreshes.delete(given);
      return grant?.client === client ? issue(response, grant, true) : refuse("invalid_grant");
    }
    const code = codes.get(body.get("code") ?? "");
    codes.delete(body.get("code") ?? "");
    const isOwn = code?.client === client && code.redirect === body.get("redirect_uri");
    const isProven = code?.challenge === s256(body.get("code_verifier") ?? "");
    return isOwn && isProven && code.resource === resource
      ? issue(response, code, true)
      : refuse("invalid_grant");
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    const address = new URL(request.url ?? "/", url);
    const { pathname: path } = address;
    const form = new URLSearchParams(path === "/token" ? body : "");
    seen.push(path === "/token" ? `${path} ${form.get("grant_type")}` : path);
    if (path === "/.well-known/oauth-authorization-server") return sendJson(response, 200, metadata());
    if (path === "/register" && !documents) return register(body, response);
    if (path === "/authorize") return grantCode(address.searchParams, response);
    if (path !== "/token") return sendJson(response, 404, { error: "not_found" });
    tokenRequests.push(form);
    if (faults.token !== undefined && faults.text !== undefined)
      return void response.writeHead(faults.token).end(faults.text);
    if (faults.token !== undefined)
      return sendJson(response, faults.token, { error: "temporarily_unavailable" });
    return exchange(request, form, response);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  url = `http://${hostname}:${port}`;
  return {
    url,
    host: `${hostname}:${port}`,
    faults,
    seen,
    tokenRequests,
    registrations,
    tokens,
    clients,
    revoke: () => {
      tokens.clear();
      refreshes.clear();
    },
    signIn: async (address) => {
      const response = await fetch(address, { redirect: "manual" });
      const location = response.headers.get("location");
      if (location === null)
        throw new Error(`the login was refused: ${response.status} ${await response.text()}`);
      return location;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
};

interface Protection {
  /** Who gives tokens; a function, since a server may change it. */
  readonly by: () => Pick<OAuthServer, "url" | "tokens">;
  /** The scope that a message needs; absent: any token will do. */
  readonly scopeOf?: (seen: SeenRequest) => string | null;
  /** The resource that the server says it is; absent: its own address. */
  readonly resource?: string;
}

/** Lets an MCP server answer only requests with a token of the authorization server. */
export const protect =
  ({ by, scopeOf = () => null, resource }: Protection): NonNullable<McpServerOptions["before"]> =>
  (seen, response) => {
    const origin = `http://${seen.headers.host}`;
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    if (seen.path.startsWith("/.well-known/oauth-protected-resource")) {
      sendJson(response, 200, { resource: resource ?? `${origin}/mcp`, authorization_servers: [by().url] });
      return true;
    }
    const [, token = ""] = /^Bearer (.+)$/.exec(seen.headers.authorization ?? "") ?? [];
    const grant = by().tokens.get(token);
    const needed = grant === undefined ? null : scopeOf(seen);
    const isNarrow = needed !== null && grant?.scope.split(" ").includes(needed) !== true;
    if (grant !== undefined && !isNarrow) return false;
    const error = isNarrow ? `error="insufficient_scope", scope="${needed}", ` : "";
    response
      .writeHead(isNarrow ? 403 : 401, {
        "www-authenticate": `Bearer ${error}resource_metadata="${metadata}"`,
      })
      .end();
    return true;
  };
