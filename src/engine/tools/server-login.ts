import { referencesIn, resolveReferences, unsetSecretText } from "../../config/document/references.ts";
import type { McpServer, Team } from "../../config/team.ts";
import { fieldsOf } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type {
  Authorizer,
  IssuerCredentials,
  McpClient,
  McpGrant,
  SendRequest,
} from "../../toolboxes/mcp/port.ts";
import { limitTime } from "../../sandbox/time-limit.ts";
import { toConnectionError } from "../../tools/egress/egress.ts";
import type { Egress } from "../../tools/egress/egress.ts";
import type { Redactor } from "../../tools/redaction.ts";
import type { AuthorizationRequest } from "../../tools/egress/server-authorization.ts";
import { privateTargets } from "../secrets/egress.ts";
import type { Bindings } from "../secrets/secrets.ts";
import { bindingTextOf, readSecrets } from "../secrets/secrets.ts";

/** Obtains tokens for a team's MCP servers; the caller stores them and passes them in at each use. */

type LoginOutcome = Awaited<ReturnType<McpClient["authorize"]>>;

/** Obtains the tokens of servers. Both functions reject with a sentence if there is none. */
export interface ServerLogins {
  readonly authorize: (
    server: string,
    stored: readonly IssuerCredentials[],
    asked: {
      readonly request: AuthorizationRequest;
      readonly state: () => Promise<string>;
      readonly now: () => number;
    },
  ) => Promise<LoginOutcome>;
  readonly finish: (
    server: string,
    stored: readonly IssuerCredentials[],
    answered: { readonly login: Json; readonly query: string; readonly now: () => number },
  ) => Promise<readonly IssuerCredentials[] | null>;
}

export interface LoginParts {
  readonly team: Pick<Team, "name" | "mcp_servers" | "access">;
  readonly env: Bindings;
  readonly egress: Egress;
  readonly redactor: Pick<Redactor, "learn">;
  readonly client: McpClient | null;
}

/** Paths of the two addresses of a deployment that authorization servers know. */
export const callbackPath = "/v1/oauth/callback";
export const clientPath = "/client-metadata.json";

const isDevelopment = (env: Bindings): boolean => bindingTextOf(env, "LIMPET_DEV") === "1";

/** Returns the origin at which people reach this deployment; null if the team's file does not say it. */
const originOf = (env: Bindings, { access }: Pick<Team, "access">): string | null => {
  if (isDevelopment(env)) return bindingTextOf(env, "LIMPET_ORIGIN") ?? "http://localhost:8787";
  const [host] = access.hosts;
  return host === undefined ? null : `https://${host}`;
};

/** Returns the document by which authorization servers know this client; null if they could not read it. */
export const describeClient = (
  env: Bindings,
  team: Pick<Team, "access">,
): ({ readonly client_id: string } & Readonly<Record<string, Json>>) | null => {
  const origin = originOf(env, team);
  if (origin?.startsWith("https:") !== true) return null;
  return {
    client_id: `${origin}${clientPath}`,
    client_name: "Limpet",
    client_uri: origin,
    redirect_uris: [`${origin}${callbackPath}`],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    application_type: "web",
  };
};

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/**
 * Returns whether tokens and logins may be sent to an address: by https, or in development to a permitted port of
 * this machine.
 */
const isSafe = (env: Bindings, address: string): boolean => {
  const url = URL.parse(address);
  if (url === null || url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return true;
  const isOpened = privateTargets(env).includes(`${url.hostname}:${url.port || "80"}`);
  return url.protocol === "http:" && isDevelopment(env) && loopback.test(url.hostname) && isOpened;
};

const longestAnswer = 65_536;

/** Milliseconds for all requests of an attempt together. */
const attemptMs = 15_000;

const requireRedirect = ({ env, team }: LoginParts): string => {
  const origin = originOf(env, team);
  if (origin === null)
    throw new Error(
      "the team's file does not say where people return to: set access.hosts to this deployment's host",
    );
  return `${origin}${callbackPath}`;
};

interface OpenedServer {
  readonly url: string;
  readonly grant: McpGrant;
  readonly secrets: readonly string[];
}

const createAuthSend =
  ({ env, egress }: LoginParts, { url, secrets }: OpenedServer, signal: AbortSignal): SendRequest =>
  (address, init) => {
    if (!isSafe(env, address)) throw new Error("an address of the authorization server is not https");
    return egress(address, {
      ...init,
      signal,
      redirects: "refuse",
      maxBytes: longestAnswer,
      secrets,
      from: url,
    }).catch((error: unknown) => {
      throw toConnectionError(error, address, signal);
    });
  };

/** Resolves the references in a server's credentials, each time anew. */
const openGrant = async (parts: LoginParts, server: McpServer): Promise<OpenedServer> => {
  const { team, env, redactor } = parts;
  const { url = "", credentials, auth } = server;
  const { client_id: id, client_secret: secret, private_key: key, issuer, scope } = credentials ?? {};
  const namesIn = (...texts: readonly (string | undefined)[]): readonly string[] =>
    texts.flatMap((text = "") => referencesIn(text).names);
  const values = await readSecrets(env, namesIn(url, secret, key), redactor.learn);
  // A client's id is public: it is part of the addresses at which people sign in.
  const ids = await readSecrets(env, namesIn(id), () => undefined);
  const field = `mcp_servers[${team.mcp_servers.findIndex(({ name }) => name === server.name)}]`;
  const resolve = (name: string, text: string, known = values): string => {
    const found = resolveReferences(text, (each) => known.get(each));
    if (found.ok) return found.value;
    throw new Error(unsetSecretText(`${field}.${name}`));
  };
  const optional = (name: string, text: string | undefined): string | undefined =>
    text === undefined ? undefined : resolve(`credentials.${name}`, text);
  const address = new URL(resolve("url", url));
  address.search = "";
  if (!isSafe(env, address.href)) throw new Error(`${field}.url: tokens are sent only to https addresses`);
  const redirect = auth === "oauth" ? requireRedirect(parts) : null;
  const client =
    id === undefined
      ? null
      : {
          id: resolve("credentials.client_id", id, ids),
          secret: optional("client_secret", secret),
          privateKey: optional("private_key", key),
          issuer,
        };
  const described = describeClient(env, team);
  const clientUrl = client === null && described !== null ? described.client_id : null;
  return {
    url: address.href,
    grant: { redirect, clientUrl, client, scope },
    secrets: [...values.values(), client?.secret ?? "", client?.privateKey ?? ""],
  };
};

/** Returns the stored credentials of a server's address: they are not sent to another server of the same name. */
const selectForUrl = (url: string, stored: readonly IssuerCredentials[]): readonly IssuerCredentials[] =>
  stored.flatMap(({ issuer, value }) => {
    const { url: own, value: inner = null } = fieldsOf(value);
    return own === url ? [{ issuer, value: inner }] : [];
  });

const bindToUrl = (url: string, stored: readonly IssuerCredentials[]): readonly IssuerCredentials[] =>
  stored.map(({ issuer, value }) => ({ issuer, value: { url, value } }));

const noState = (): never => {
  throw new Error("the end of a login does not begin another");
};

/** Creates the access to tokens for the servers of a team. */
export const createServerLogins = (parts: LoginParts): ServerLogins => {
  /** Makes one attempt at a server, whose requests have 15 s together. */
  const attempt = async <T>(
    name: string,
    more: Pick<Authorizer, "state" | "now">,
    work: (client: McpClient, authorizer: Authorizer) => Promise<T>,
  ): Promise<T> => {
    const { client, team } = parts;
    const server = team.mcp_servers.find((each) => each.name === name);
    if (client === null || server === undefined || server.auth === "none")
      throw new Error("the deployed team has no such server to sign in at");
    const opened = await openGrant(parts, server);
    const { url, grant } = opened;
    return limitTime(attemptMs, undefined, (signal) =>
      work(client, { url, grant, send: createAuthSend(parts, opened, signal), ...more }),
    );
  };
  return {
    authorize: (name, stored, { request, state, now }) =>
      attempt(name, { state, now }, async (client, authorizer) => {
        const known = selectForUrl(authorizer.url, stored);
        const after = await client.authorize(authorizer, known, request);
        const { outcome } = after;
        if (outcome.kind === "login" && !isSafe(parts.env, outcome.login.url))
          throw new Error("the address at which people would sign in is not https");
        return {
          outcome,
          stored: after.stored === known ? stored : bindToUrl(authorizer.url, after.stored),
        };
      }),
    finish: (name, stored, { login, query, now }) =>
      attempt(name, { state: noState, now }, async (client, authorizer) => {
        const known = selectForUrl(authorizer.url, stored);
        const after = await client.finishLogin(authorizer, known, login, new URLSearchParams(query));
        return after === null ? null : bindToUrl(authorizer.url, after);
      }),
  };
};
