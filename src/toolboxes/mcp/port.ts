import type { Json } from "../../chat/message.ts";
import type { ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import type { AuthorizationRequest, AuthorizeServer } from "../../tools/egress/server-authorization.ts";

/** This file says what the client of MCP servers does for the rest of the product, which knows nothing of its library. */

/** One HTTP request to the server: its secrets are added, and the egress sends it. */
export type SendRequest = (
  address: string,
  init: {
    readonly method: string;
    readonly headers: Headers;
    readonly body?: string;
    readonly signal?: AbortSignal;
  },
) => Promise<Response>;

export interface McpEndpoint {
  /** The address without the values of secrets. */
  readonly url: string;
  readonly transport: "auto" | "streamable_http" | "sse";
  readonly protocol: "auto" | "2025" | "2026";
  readonly send: SendRequest;
  /** Obtains tokens for requests; null if the server needs none. */
  readonly authorize: AuthorizeServer | null;
  /** Replaces secrets in a value; what is cut later would otherwise leave the beginning of one. */
  readonly redact: <T>(value: T) => T;
}

/** A tool as its server describes it, within our limits. */
export interface ListedTool {
  readonly remote: string;
  readonly description: string;
  readonly schema: Json;
  readonly hints: { readonly readOnly: boolean; readonly idempotent: boolean };
  /** The SHA-256 of what the server says of the tool. */
  readonly hash: string;
}

export interface McpListing {
  readonly tools: readonly ListedTool[];
  /** Says of each tool that cannot be offered why. */
  readonly omitted: readonly string[];
  /** What makes the next client without a handshake. */
  readonly connection: Json;
}

/** How a call ended. */
export type McpCallEnd =
  | { readonly kind: "output"; readonly output: ToolOutput }
  /** The server wants to know something first; `state` goes back to it with the answers. */
  | { readonly kind: "question"; readonly requests: Json; readonly state: string | null }
  /** A person has to open this address and sign in before the server takes the request. */
  | { readonly kind: "login"; readonly url: string }
  /** The server did not get the request. */
  | { readonly kind: "unreachable"; readonly reason: string }
  /** The request was sent, and no answer came: nobody knows whether it was carried out. */
  | { readonly kind: "lost"; readonly reason: string };

export interface McpCallReport {
  readonly end: McpCallEnd;
  readonly connection: Json;
  /** The server said that its list of tools has changed. */
  readonly listChanged: boolean;
}

export interface McpCall {
  readonly tool: string;
  readonly schema: Json;
  readonly args: unknown;
  /** The answers to what the server asked. */
  readonly answers?: { readonly responses: Json; readonly state: string | null };
  readonly context: Pick<ToolContext, "signal" | "show" | "keep" | "sees">;
}

/** Says how tokens for a server are obtained, by its entry in the team's file. */
export interface McpGrant {
  /** Where people come back to after they signed in; null: the client asks for tokens in its own name. */
  readonly redirect: string | null;
  /** The address of the document that describes this client; null if no authorization server could read it. */
  readonly clientUrl: string | null;
  /** The client that the team registered; null: this one registers itself. */
  readonly client: {
    readonly id: string;
    readonly secret?: string | undefined;
    readonly privateKey?: string | undefined;
    readonly issuer?: string | undefined;
  } | null;
  readonly scope?: string | undefined;
}

/** What obtains tokens for one server. */
export interface Authorizer {
  /** The address of the server without the values of secrets. */
  readonly url: string;
  readonly grant: McpGrant;
  /** Makes the state of a login that begins. */
  readonly state: () => Promise<string>;
  /** Sends requests to authorization servers; it follows no redirect. */
  readonly send: SendRequest;
  readonly now: () => number;
}

/** The client's registration and tokens at one authorization server, to be stored and given back unread. */
export interface IssuerCredentials {
  readonly issuer: string;
  readonly value: Json;
}

/** A login that a person has to carry out; `value` belongs to it until the answer with its state comes. */
export interface McpLogin {
  readonly url: string;
  readonly state: string;
  readonly value: Json;
}

export type AuthorizeOutcome =
  | { readonly kind: "token"; readonly token: string | null }
  | { readonly kind: "login"; readonly login: McpLogin };

/** Speaks to MCP servers; a client lives for one listing or one call. */
export interface McpClient {
  /** Lists the tools whose names at the server `isOffered` takes; rejects with an `McpFailure` if it cannot be listed. */
  readonly list: (
    endpoint: McpEndpoint,
    connection: Json,
    isOffered: (name: string) => boolean,
    signal: AbortSignal,
  ) => Promise<McpListing>;
  readonly call: (endpoint: McpEndpoint, connection: Json, call: McpCall) => Promise<McpCallReport>;
  /** Returns what of a connection ends the session that its server keeps; null if it keeps none. */
  readonly sessionOf: (connection: Json) => Json;
  /** Ends the server's session. */
  readonly end: (endpoint: McpEndpoint, connection: Json, signal: AbortSignal) => Promise<void>;
  /** Returns a token or a login, and what is to be stored; rejects if neither can be had. */
  readonly authorize: (
    authorizer: Authorizer,
    stored: readonly IssuerCredentials[],
    request: AuthorizationRequest,
  ) => Promise<{ readonly outcome: AuthorizeOutcome; readonly stored: readonly IssuerCredentials[] }>;
  /** Ends a login by the query that its authorization server sent; returns what is to be stored, or null if it refused. */
  readonly finishLogin: (
    authorizer: Authorizer,
    stored: readonly IssuerCredentials[],
    login: Json,
    answer: URLSearchParams,
  ) => Promise<readonly IssuerCredentials[] | null>;
}
