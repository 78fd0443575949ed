/** Defines the exchange between a request to an MCP server and the holder of its tenant's credentials. */

/** Challenge with which a server refused an unauthorized request. */
export interface AuthorizationChallenge {
  /** Subject of the challenge: a missing or refused token, or a token with too narrow a scope. */
  readonly about: "token" | "scope";
  readonly scope: string | null;
  /** Address of the server's metadata about its authorization servers; null if it named none. */
  readonly metadata: string | null;
}

/** Request for a token: before the first request, or with the challenge to the sent one. */
export interface AuthorizationRequest {
  readonly challenge: AuthorizationChallenge | null;
  readonly refused: string | null;
}

export type AuthorizationAnswer =
  /** Token; null if there is none yet: the server's challenge then names where to get one. */
  | {
      readonly kind: "token";
      readonly token: string | null;
      /** Tokens before it, which the server may still repeat. */
      readonly earlier?: readonly string[];
    }
  /** A person has to open this address and sign in; null if there is no person to ask. */
  | { readonly kind: "login"; readonly url: string | null }
  | { readonly kind: "failure"; readonly reason: string };

/** Returns a token for a server, or what has to happen first; never rejects. */
export type AuthorizeServer = (request: AuthorizationRequest) => Promise<AuthorizationAnswer>;
