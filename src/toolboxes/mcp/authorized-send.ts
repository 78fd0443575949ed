import { extractWWWAuthenticateParams } from "@modelcontextprotocol/client";
import type { AuthorizationChallenge, AuthorizeServer } from "../../tools/egress/server-authorization.ts";
import type { SendRequest } from "./port.ts";

/** Adds tokens to the requests to a server, and answers the server's challenges. */

/** Error of a request that cannot be sent: a person must sign in first, or no token is available. */
export class AuthorizationError extends Error {
  /** Address at which a person signs in; null if that would not help. */
  readonly login: string | null;
  /** Whether a login is missing, even if no person can be asked for one. */
  readonly isLogin: boolean;
  constructor(reason: string, login?: string | null) {
    super(reason);
    this.name = "AuthorizationError";
    this.login = login ?? null;
    this.isLogin = login !== undefined;
  }
}

/** Number of repetitions of a request for wider scopes; one more would be an endless exchange. */
const mostStepUps = 3;

const readChallenge = (response: Response): AuthorizationChallenge | null => {
  if (response.status !== 401 && response.status !== 403) return null;
  const { resourceMetadataUrl, scope = null, error } = extractWWWAuthenticateParams(response);
  const isScope = response.status === 403 && error === "insufficient_scope";
  if (response.status === 403 && !isScope) return null;
  return { about: isScope ? "scope" : "token", scope, metadata: resourceMetadataUrl?.href ?? null };
};

interface AuthorizedSend {
  readonly send: SendRequest;
  /** Returns why no further request can be sent; null if it can. */
  readonly refusal: () => AuthorizationError | null;
}

/** Wraps the sender of requests; a request that was refused for its token or scope is sent again with a new one. */
export const createAuthorizedSend = (send: SendRequest, authorize: AuthorizeServer): AuthorizedSend => {
  let token: string | null = null;
  let isAsked = false;
  let refusal: AuthorizationError | null = null;
  const obtain = async (challenge: AuthorizationChallenge | null): Promise<void> => {
    const answer = await authorize({ challenge, refused: token });
    isAsked = true;
    if (answer.kind === "token") {
      ({ token } = answer);
      return;
    }
    refusal =
      answer.kind === "login"
        ? new AuthorizationError("a person must sign in first", answer.url)
        : new AuthorizationError(answer.reason);
    throw refusal;
  };
  const sendOnce: SendRequest = (address, { headers, ...init }) => {
    const own = new Headers(headers);
    if (token !== null) own.set("authorization", `Bearer ${token}`);
    return send(address, { ...init, headers: own });
  };
  return {
    send: async (address, init) => {
      if (refusal !== null) throw refusal;
      if (!isAsked) await obtain(null);
      let isRefused = false;
      for (let stepUps = 0; ;) {
        const response = await sendOnce(address, init);
        const challenge = readChallenge(response);
        if (challenge === null) return response;
        const isLast = challenge.about === "scope" ? ++stepUps > mostStepUps : isRefused;
        if (isLast) return response;
        isRefused ||= challenge.about === "token";
        await response.body?.cancel();
        await obtain(challenge);
      }
    },
    refusal: () => refusal,
  };
};
