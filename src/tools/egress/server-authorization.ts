/** This file says what a request to an MCP server and whoever keeps its tenant's credentials ask of each other. */

/** What a server said when it refused a request for want of authorization. */
export interface AuthorizationChallenge {
  /** A token is missing or refused, or the token's scope is too narrow. */
  readonly about: "token" | "scope";
  readonly scope: string | null;
  /** The address where the server says who authorizes; null if it did not name one. */
  readonly metadata: string | null;
}

/** Asks for a token: before the first request, or with the challenge to the one that was sent. */
export interface AuthorizationRequest {
  readonly challenge: AuthorizationChallenge | null;
  readonly refused: string | null;
}

export type AuthorizationAnswer =
  /** Null: there is none yet; the server's challenge says where one is given. */
  | { readonly kind: "token"; readonly token: string | null }
  /** A person has to open this address and sign in; null: there is nobody to ask. */
  | { readonly kind: "login"; readonly url: string | null }
  | { readonly kind: "failure"; readonly reason: string };

/** Returns a token for a server, or what has to happen first; it never rejects. */
export type AuthorizeServer = (request: AuthorizationRequest) => Promise<AuthorizationAnswer>;
