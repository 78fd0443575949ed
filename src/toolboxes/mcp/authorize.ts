import {
  auth,
  computeScopeUnion,
  isStrictScopeSuperset,
  validateAuthorizationResponseIssuer,
} from "@modelcontextprotocol/client";
import type {
  FetchLike,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
} from "@modelcontextprotocol/client";
import { isJsonObject, parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { AuthorizationRequest } from "../../tools/egress/server-authorization.ts";
import { signAssertion } from "./key-assertion.ts";
import { earlierAfter, newestOf, readStored, writeStored } from "./stored-credentials.ts";
import type { Credentials } from "./stored-credentials.ts";
import { tidyAnswer, tidyRefusal } from "./tidy.ts";
import type { Authorizer, AuthorizeOutcome, IssuerCredentials, McpGrant, McpLogin } from "./port.ts";

/** Obtains tokens for a server: stored ones, by a refresh, with the client's own secret, or by a login. */

/** Milliseconds before its expiry at which a token is renewed. */
const aheadMs = 60_000;

/** State of an attempt to obtain a token. */
interface Attempt {
  readonly byIssuer: Map<string, Credentials>;
  /** Authorization server that was named last. */
  issuer: string;
  /** Known metadata of the issuer; undefined: to be discovered. */
  discovery: OAuthDiscoveryState | undefined;
  /** Requested scope, which a server need not repeat. */
  readonly scope: string | undefined;
  verifier: string;
  /** Whether the last answer to a request for a token or a registration was an outage. */
  isDown: boolean;
  /** Login that is required first; null if none is. */
  login: McpLogin | null;
}

const metadataOf = ({ redirect, client, scope }: McpGrant): OAuthClientMetadata => ({
  client_name: "Limpet",
  redirect_uris: redirect === null ? [] : [redirect],
  grant_types: redirect === null ? ["client_credentials"] : ["authorization_code", "refresh_token"],
  ...(redirect === null ? {} : { response_types: ["code"] }),
  token_endpoint_auth_method: client?.secret === undefined ? "none" : "client_secret_basic",
  ...(scope === undefined ? {} : { scope }),
});

/** Returns the client that the team's file names. */
const configuredClient = ({ client }: McpGrant): StoredOAuthClientInformation | undefined =>
  client === null
    ? undefined
    : {
        client_id: client.id,
        ...(client.secret === undefined ? {} : { client_secret: client.secret }),
        ...(client.issuer === undefined ? {} : { issuer: client.issuer }),
      };

/** Refuses to send a secret to an issuer that neither the team's file names nor stands at the server's own host. */
const checkReceiver = ({ grant: { client }, url }: Authorizer, { discovery }: Attempt, issuer = ""): void => {
  if (client?.secret === undefined || client.issuer !== undefined) return;
  const token = discovery?.authorizationServerMetadata?.token_endpoint ?? issuer;
  const { hostname } = new URL(url);
  if ([issuer, token].some((address) => URL.parse(address)?.hostname !== hostname))
    throw new Error(`the secret goes to ${issuer} only if credentials.issuer names it`);
};

const credentialsOf = (attempt: Attempt, issuer = ""): Credentials => {
  const known = attempt.byIssuer.get(issuer) ?? { expiresAt: null, savedAt: 0 };
  attempt.byIssuer.set(issuer, known);
  attempt.issuer = issuer;
  return known;
};

type Identity = Pick<
  OAuthClientProvider,
  "clientInformation" | "saveClientInformation" | "addClientAuthentication"
>;

/** Returns the client's identity: the one that the team registered, or the one that registered itself. */
const identify = (authorizer: Authorizer, attempt: Attempt): Identity => {
  const { grant, now } = authorizer;
  const fixed = configuredClient(grant);
  if (fixed === undefined)
    return {
      clientInformation: (context) => credentialsOf(attempt, context?.issuer).client,
      saveClientInformation: (information, context) => {
        credentialsOf(attempt, context?.issuer).client = information;
      },
    };
  const key = grant.client?.privateKey;
  if (key === undefined)
    return {
      clientInformation: (context) => {
        checkReceiver(authorizer, attempt, context?.issuer);
        return fixed;
      },
    };
  const client = fixed.client_id;
  return {
    clientInformation: () => fixed,
    addClientAuthentication: async (_headers, params, url, metadata) => {
      const audience = metadata?.issuer ?? String(url);
      params.set("client_assertion", await signAssertion(key, { client, audience, now: now() }));
      params.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    },
  };
};

type TokenStore = Pick<OAuthClientProvider, "tokens" | "saveTokens" | "invalidateCredentials">;

const storeTokens = ({ now }: Authorizer, attempt: Attempt): TokenStore => ({
  tokens: (context) =>
    (context === undefined ? newestOf(attempt.byIssuer) : credentialsOf(attempt, context.issuer))?.tokens,
  saveTokens: (tokens, context) => {
    const { expires_in: seconds, scope = attempt.scope } = tokens;
    const known = credentialsOf(attempt, context?.issuer);
    Object.assign(known, {
      earlier: earlierAfter(known),
      tokens: { ...tokens, ...(scope === undefined ? {} : { scope }) },
      expiresAt: seconds === undefined ? null : now() + seconds * 1_000,
      // The last save counts, also within one millisecond.
      savedAt: Math.max(now(), 1 + (newestOf(attempt.byIssuer)?.savedAt ?? 0)),
      discovery: attempt.discovery,
    });
  },
  invalidateCredentials: (what) => {
    const known = credentialsOf(attempt, attempt.issuer);
    if (what === "tokens" || what === "all")
      Object.assign(known, { earlier: earlierAfter(known), tokens: undefined });
    if (what === "client" || what === "all") known.client = undefined;
  },
});

const askInOwnName = (scope?: string): URLSearchParams =>
  new URLSearchParams({ grant_type: "client_credentials", ...(scope === undefined ? {} : { scope }) });

const nameByAddress = async (address: string | URL): Promise<URL> => new URL(address);

const usedFields: ReadonlySet<string> = new Set([
  "resource",
  "authorization_servers",
  "scopes_supported",
  "issuer",
  "authorization_endpoint",
  "token_endpoint",
  "registration_endpoint",
  "response_types_supported",
  "grant_types_supported",
  "code_challenge_methods_supported",
  "token_endpoint_auth_methods_supported",
  "client_id_metadata_document_supported",
  "authorization_response_iss_parameter_supported",
]);

const usedOf = <T extends object>(metadata: T): T =>
  Object.fromEntries(Object.entries(metadata).filter(([name]) => usedFields.has(name))) as T;

const longestDiscovery = 16_384;

const longestLogin = 8_192;

/** Returns the used part of a server's metadata; rejects more than can be stored with each login. */
const boundDiscovery = ({
  resourceMetadata: resource,
  authorizationServerMetadata: server,
  ...found
}: OAuthDiscoveryState): OAuthDiscoveryState => {
  const bound = {
    ...found,
    ...(resource === undefined ? {} : { resourceMetadata: usedOf(resource) }),
    ...(server === undefined ? {} : { authorizationServerMetadata: usedOf(server) }),
  };
  if (JSON.stringify(bound).length > longestDiscovery)
    throw new Error("the metadata of the authorization server is too long");
  return bound;
};

/** Creates the host functions that the library needs, for one attempt. */
const createProvider = (authorizer: Authorizer, attempt: Attempt): OAuthClientProvider => {
  const { grant, state } = authorizer;
  const provider: OAuthClientProvider = {
    redirectUrl: grant.redirect ?? undefined,
    clientMetadata: metadataOf(grant),
    ...(grant.clientUrl === null ? {} : { clientMetadataUrl: grant.clientUrl }),
    ...identify(authorizer, attempt),
    ...storeTokens(authorizer, attempt),
    state,
    codeVerifier: () => attempt.verifier,
    saveCodeVerifier: (verifier) => {
      attempt.verifier = verifier;
    },
    discoveryState: () => attempt.discovery,
    saveDiscoveryState: (found) => {
      attempt.discovery = boundDiscovery(found);
    },
    redirectToAuthorization: ({ href, searchParams }) => {
      if (href.length > longestLogin)
        throw new Error("the address at which people would sign in is too long");
      const { verifier, discovery } = attempt;
      const value = { verifier, discovery, scope: searchParams.get("scope") } as unknown as Json;
      attempt.login = { url: href, state: searchParams.get("state") ?? "", value };
    },
    ...(grant.redirect === null ? { prepareTokenRequest: askInOwnName } : {}),
  };
  // A server that does not name its resource is identified by its address, so that its token is valid nowhere else.
  const validateResourceURL = {
    get: () => (attempt.discovery?.resourceMetadata === undefined ? nameByAddress : undefined),
  };
  return Object.defineProperties(provider, { validateResourceURL });
};

const isOutage = ({ status }: Response): boolean => status >= 500 || status === 429;

/** Returns whether an answer is one of an authorization server, and not a page of a proxy before it. */
const holdsObject = async (answer: Response): Promise<boolean> =>
  isJsonObject(parseJson(await answer.text()) ?? null);

const fetchWith =
  ({ send }: Authorizer, attempt: Attempt): FetchLike =>
  async (url, { method = "GET", headers, body } = {}) => {
    const text = typeof body === "string" || body instanceof URLSearchParams ? String(body) : undefined;
    const request = { method, headers: new Headers(headers), ...(text === undefined ? {} : { body: text }) };
    if (method === "POST") attempt.isDown = true;
    const response = await send(String(url), request);
    if (method !== "POST") return tidyAnswer(response);
    const answer = await (response.status >= 400 ? tidyRefusal(response) : tidyAnswer(response));
    attempt.isDown = isOutage(response) || !(await holdsObject(answer.clone()));
    return answer;
  };

/** Returns the outcome with a token, by default the newest, and those before it. */
const tokenOutcomeOf = (
  byIssuer: ReadonlyMap<string, Credentials>,
  token = newestOf(byIssuer)?.tokens?.access_token ?? null,
): AuthorizeOutcome => ({
  kind: "token",
  token,
  earlier: [...byIssuer.values()].flatMap(({ earlier = [] }) => earlier),
});

/** Returns whether a token can be used; one that cannot be renewed is used until the server refuses it. */
const isUsable = ({ expiresAt, tokens }: Credentials, { grant, now }: Authorizer): boolean =>
  expiresAt === null ||
  expiresAt - aheadMs > now() ||
  (grant.redirect !== null && tokens?.refresh_token === undefined);

const outcomeOf = ({ byIssuer, login }: Attempt): AuthorizeOutcome =>
  login === null ? tokenOutcomeOf(byIssuer) : { kind: "login", login };

type AttemptStart = { readonly stored: readonly IssuerCredentials[] } & {
  readonly [Key in "discovery" | "scope"]?: Attempt[Key];
} & { readonly verifier?: string };

/** Replaces the words of the library and of parsers by one sentence. */
const faultOf = (error: unknown): unknown =>
  error instanceof SyntaxError || (error instanceof Error && error.name.endsWith("ZodError"))
    ? new Error("the metadata of the authorization server cannot be used")
    : error;

/** Lets the library obtain a token, or begin a login. */
const runAttempt = async (
  authorizer: Authorizer,
  { stored, discovery, scope, verifier = "" }: AttemptStart,
  options: Omit<Parameters<typeof auth>[1], "serverUrl" | "fetchFn">,
): Promise<Attempt> => {
  const attempt: Attempt = {
    byIssuer: readStored(stored),
    issuer: "",
    discovery,
    scope,
    verifier,
    isDown: false,
    login: null,
  };
  const fetchFn = fetchWith(authorizer, attempt);
  try {
    await auth(createProvider(authorizer, attempt), { ...options, serverUrl: authorizer.url, fetchFn });
  } catch (error) {
    throw faultOf(error);
  }
  // The library turns every failed refresh into a login, but a person cannot end an outage.
  if (attempt.login !== null && attempt.isDown) throw new Error("the authorization server did not answer");
  return attempt;
};

interface Authorization {
  readonly outcome: AuthorizeOutcome;
  readonly stored: readonly IssuerCredentials[];
}

const authorizationOf = (attempt: Attempt): Authorization => ({
  outcome: outcomeOf(attempt),
  stored: writeStored(attempt),
});

/** Renews a token before it expires; if that fails, the token is used until then. */
const renew = async (
  authorizer: Authorizer,
  stored: readonly IssuerCredentials[],
  { discovery, tokens, expiresAt }: Credentials,
): Promise<Authorization> => {
  const token = (expiresAt ?? 0) > authorizer.now() ? (tokens?.access_token ?? null) : null;
  let attempt: Attempt | null = null;
  try {
    attempt = await runAttempt(authorizer, { stored, discovery, scope: tokens?.scope }, {});
  } catch (error) {
    if (token === null) throw error;
  }
  if (attempt === null || (attempt.login !== null && token !== null))
    return { outcome: tokenOutcomeOf(readStored(stored), token), stored };
  return authorizationOf(attempt);
};

/** Answers a server's challenge by a refresh or a login, at the authorization server that it names now. */
const answerChallenge = (
  authorizer: Authorizer,
  stored: readonly IssuerCredentials[],
  { about, scope, metadata }: NonNullable<AuthorizationRequest["challenge"]>,
): Promise<Attempt> => {
  const held = newestOf(readStored(stored))?.tokens?.scope;
  const wanted = about === "scope" ? computeScopeUnion(held, scope ?? undefined) : (scope ?? undefined);
  return runAttempt(
    authorizer,
    // A refresh renews the scope held; only a client without a person gets the wanted scope here.
    { stored, scope: authorizer.grant.redirect === null ? wanted : held },
    {
      ...(wanted === undefined ? {} : { scope: wanted }),
      ...(metadata === null ? {} : { resourceMetadataUrl: new URL(metadata) }),
      forceReauthorization: about === "scope" && isStrictScopeSuperset(wanted, held),
    },
  );
};

/** Returns a token for the server, or the login that is required first, and the credentials to store. */
export const authorize = async (
  authorizer: Authorizer,
  stored: readonly IssuerCredentials[],
  { challenge, refused }: AuthorizationRequest,
): Promise<Authorization> => {
  const byIssuer = readStored(stored);
  const newest = newestOf(byIssuer);
  const token = newest?.tokens?.access_token ?? null;
  const asIs: Authorization = { outcome: tokenOutcomeOf(byIssuer), stored };
  if (challenge === null) {
    if (newest === undefined || isUsable(newest, authorizer)) return asIs;
    return renew(authorizer, stored, newest);
  }
  // Another request may have obtained a token meanwhile.
  const isOther = newest !== undefined && token !== refused && isUsable(newest, authorizer);
  return isOther ? asIs : authorizationOf(await answerChallenge(authorizer, stored, challenge));
};

interface OpenLogin {
  readonly verifier: string;
  readonly discovery: OAuthDiscoveryState;
  readonly scope: string | null;
}

/** Errors with which an authorization server says that it could not ask the person (RFC 6749, section 4.1.2.1). */
const outages: readonly (string | null)[] = ["server_error", "temporarily_unavailable"];

/** Converts an authorization server's answer, after a check of its issuer, to tokens; null for a refusal. */
export const finishLogin = async (
  authorizer: Authorizer,
  stored: readonly IssuerCredentials[],
  login: Json,
  answer: URLSearchParams,
): Promise<readonly IssuerCredentials[] | null> => {
  const { verifier, discovery, scope } = login as unknown as OpenLogin;
  const { authorizationServerMetadata: metadata } = discovery;
  const iss = answer.get("iss") ?? undefined;
  validateAuthorizationResponseIssuer({
    iss,
    expectedIssuer: metadata?.issuer,
    issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
  });
  if (outages.includes(answer.get("error"))) throw new Error("the authorization server cannot answer now");
  const code = answer.get("code");
  if (code === null || code === "") return null;
  const attempt = await runAttempt(
    authorizer,
    { stored, discovery, verifier, scope: scope ?? undefined },
    { authorizationCode: code, ...(iss === undefined ? {} : { iss }) },
  );
  return writeStored(attempt);
};
