import type { Json } from "../../chat/message.ts";
import type { KeepConnection, ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import type {
  AuthorizationAnswer,
  AuthorizationRequest,
  AuthorizeServer,
} from "../../tools/egress/server-authorization.ts";

/** Defines the client of MCP servers for the rest of the product, which knows nothing of its library. */

/** Sends one HTTP request to the server by the egress, with the server's secrets added. */
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
  /** Address without the values of secrets. */
  readonly url: string;
  /** Stands for the whole address: a connection to another one is not used. */
  readonly place: string;
  readonly transport: "auto" | "streamable_http" | "sse";
  readonly protocol: "auto" | "2025" | "2026";
  readonly send: SendRequest;
  /** Stores the connection of each handshake, before anything else is sent; null if nobody makes further calls. */
  readonly keep: KeepConnection | null;
  /** Obtains tokens for requests; null if the server needs none. */
  readonly authorize: AuthorizeServer | null;
  /** Replaces secrets in a value before it is cut, since a cut could leave the beginning of one. */
  readonly redact: <T>(value: T) => T;
}

/** Tool as its server describes it, within our limits. */
export interface ListedTool {
  readonly remote: string;
  readonly description: string;
  readonly schema: Json;
  readonly hints: { readonly readOnly: boolean; readonly idempotent: boolean };
  /** SHA-256 of the server's description of the tool. */
  readonly hash: string;
}

export interface McpListing {
  readonly tools: readonly ListedTool[];
  /** Sentences about the tools that cannot be offered. */
  readonly omitted: readonly string[];
}

/** How a call ended. */
export type McpCallEnd =
  | { readonly kind: "output"; readonly output: ToolOutput }
  /** The server asks questions first; `state` is sent back with the answers. */
  | { readonly kind: "question"; readonly requests: Json; readonly state: string | null }
  /** A person has to open this address and sign in before the server accepts the request. */
  | { readonly kind: "login"; readonly url: string }
  /** The request did not reach the server. */
  | { readonly kind: "unreachable"; readonly reason: string }
  /** The request was sent, but there was no answer: whether it was carried out is unknown. */
  | { readonly kind: "lost"; readonly reason: string }
  /** Something else than an MCP server answered: whether the request was carried out is unknown. */
  | { readonly kind: "foreign"; readonly reason: string };

export interface McpCallReport {
  readonly end: McpCallEnd;
  /** Whether the server reported that its list of tools has changed. */
  readonly listChanged: boolean;
}

export interface McpCall {
  readonly tool: string;
  readonly schema: Json;
  readonly args: unknown;
  /** Answers to the server's questions. */
  readonly answers?: { readonly responses: Json; readonly state: string | null };
  readonly context: Pick<ToolContext, "signal" | "show" | "keep" | "sees">;
}

/** Terms on which tokens for a server are obtained, from its entry in the team's file. */
export interface McpGrant {
  /** Address to which people return after signing in; null: the client requests tokens in its own name. */
  readonly redirect: string | null;
  /** Address of the document that describes this client; null if no authorization server could read it. */
  readonly clientUrl: string | null;
  /** Client that the team registered; null: this one registers itself. */
  readonly client: {
    readonly id: string;
    readonly secret?: string | undefined;
    readonly privateKey?: string | undefined;
    readonly issuer?: string | undefined;
  } | null;
  readonly scope?: string | undefined;
}

/** Parts with which tokens for one server are obtained. */
export interface Authorizer {
  /** Address of the server without the values of secrets. */
  readonly url: string;
  readonly grant: McpGrant;
  /** Creates the state of a new login. */
  readonly state: () => Promise<string>;
  /** Sends requests to authorization servers; follows no redirect. */
  readonly send: SendRequest;
  readonly now: () => number;
}

/** The client's registration and tokens at one authorization server, to be stored and passed back unread. */
export interface IssuerCredentials {
  readonly issuer: string;
  readonly value: Json;
}

/** Login that a person has to carry out; `value` belongs to it until the answer with its state arrives. */
export interface McpLogin {
  readonly url: string;
  readonly state: string;
  readonly value: Json;
}

export type AuthorizeOutcome =
  | Extract<AuthorizationAnswer, { readonly kind: "token" }>
  | { readonly kind: "login"; readonly login: McpLogin };

/** Client of MCP servers, created anew for each listing or call. */
export interface McpClient {
  /**
   * Tools whose names at the server `isOffered` accepts; rejects with an `McpFailure` if it cannot. The sessions of
   * `over` are ended.
   */
  readonly list: (
    endpoint: McpEndpoint,
    over: readonly Json[],
    isOffered: (name: string) => boolean,
    signal: AbortSignal,
  ) => Promise<McpListing>;
  readonly call: (endpoint: McpEndpoint, connection: Json, call: McpCall) => Promise<McpCallReport>;
  /** Returns the part of a connection with which the server's session can be ended; null if the server keeps none. */
  readonly sessionOf: (connection: Json) => Json;
  /** Ends the server's session. */
  readonly end: (endpoint: McpEndpoint, connection: Json, signal: AbortSignal) => Promise<void>;
  /** Returns a token or a login, and the credentials to store; rejects if neither is available. */
  readonly authorize: (
    authorizer: Authorizer,
    stored: readonly IssuerCredentials[],
    request: AuthorizationRequest,
  ) => Promise<{ readonly outcome: AuthorizeOutcome; readonly stored: readonly IssuerCredentials[] }>;
  /**
   * Ends a login with the query from its authorization server; returns the credentials to store, or null for a
   * refusal.
   */
  readonly finishLogin: (
    authorizer: Authorizer,
    stored: readonly IssuerCredentials[],
    login: Json,
    answer: URLSearchParams,
  ) => Promise<readonly IssuerCredentials[] | null>;
}
