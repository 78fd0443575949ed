import { ProblemError, refuse, refuseIfProblem } from "../../session/problems.ts";
import type { Problem } from "../../session/problems.ts";
import type { Principal } from "../../session/rpc.ts";
import { secretCommand } from "../../config/document/references.ts";
import { findAdminKeyProblem } from "../../engine/access/authenticate.ts";
import { credentialDigest, isCredential } from "../../engine/access/keys.ts";
import { teamObjectName } from "../../engine/access/names.ts";
import type { RequestContext, RouterEnv } from "../context.ts";
import { callWithRetry } from "../platform.ts";

/** Identifies the caller of a request by API key or browser token. */

/** Returns a credential's principal. The team's answer, even a refusal, is cached for at most 30 s. */
export type Authenticate = (context: RequestContext, credential: string) => Promise<Principal>;

const maxRemembered = 1000;
const rememberedMs = 30_000;

/** Creates a cache of the newest answers of one kind by the digest of their credential. */
function createCredentialCache<T>(now: () => number): {
  readonly recall: (digest: string) => T | null;
  readonly remember: (digest: string, answer: T) => void;
} {
  const remembered = new Map<string, { readonly answer: T; readonly until: number }>();
  return {
    recall: (digest) => {
      const known = remembered.get(digest);
      if (known !== undefined && known.until > now()) return known.answer;
      remembered.delete(digest);
      return null;
    },
    remember: (digest, answer) => {
      const [oldest] = remembered.keys();
      if (remembered.size >= maxRemembered && oldest !== undefined) remembered.delete(oldest);
      remembered.set(digest, { answer, until: now() + rememberedMs });
    },
  };
}

export function createAuthenticator(now: () => number): Authenticate {
  // Two caches keep guessed credentials from evicting verified ones.
  const verified = createCredentialCache<Principal>(now);
  const refused = createCredentialCache<Problem>(now);
  return async (context, credential) => {
    const digest = await credentialDigest(credential);
    const known = verified.recall(digest);
    if (known !== null) return requireUnexpired(known, now());
    refuseIfProblem(refused.recall(digest));
    const team = () => context.objects.TeamObject.getByName(teamObjectName);
    const answer = await callWithRetry(() => team().authenticate(credential), true);
    if (answer.ok) {
      verified.remember(digest, answer.principal);
      return answer.principal;
    }
    refused.remember(digest, answer.problem);
    throw new ProblemError(answer.problem);
  };
}

const requireUnexpired = (principal: Principal, now: number): Principal =>
  principal.expires !== undefined && principal.expires <= now
    ? refuse("token_expired", "The credential has expired: get a new one.")
    : principal;

/** Reads the subprotocols that a client offers: `limpet.v1`, and at most one credential as `bearer.<token>`. */
function readOfferedCredential(request: Request): string | null {
  const offered = (request.headers.get("Sec-WebSocket-Protocol") ?? "").split(",").map((name) => name.trim());
  const [credential] = offered.filter((name) => name.startsWith("bearer."));
  return credential?.slice("bearer.".length) ?? null;
}

/** Reads a request's credential from its header or, on an upgrade, its subprotocol; returns null if there is none. */
export function readCredential(request: Request): string | null {
  const header = request.headers.get("Authorization");
  if (header !== null) {
    const [, credential = ""] = /^Bearer (.+)$/.exec(header) ?? [];
    if (isCredential(credential)) return credential;
    return refuse("unauthenticated", "Write the header as Authorization: Bearer <key>.");
  }
  return request.headers.get("Upgrade") === null ? null : readOfferedCredential(request);
}

const findConfigurationProblem = ({ LIMPET_DEV, LIMPET_ADMIN_KEY }: RouterEnv): string | null =>
  LIMPET_DEV === "1" ? null : findAdminKeyProblem(LIMPET_ADMIN_KEY);

/** Returns whether the deployment has a usable admin key, without which nobody can be authenticated. */
export const isConfigured = (env: RouterEnv): boolean => findConfigurationProblem(env) === null;

/** Refuses every request with 503 if there is no usable admin key. */
export function requireConfigured({ env, router }: RequestContext): void {
  const problem = findConfigurationProblem(env);
  if (problem === null) return;
  refuse("not_configured", `${problem}: npx ${secretCommand("LIMPET_ADMIN_KEY", router.team.name)}`);
}

/** Refuses a token outside the origin that it is bound to; requests of the page's own origin may lack the header. */
export function checkTokenOrigin(context: RequestContext, principal: Principal): void {
  const sent = context.request.headers.get("Origin") ?? context.url.origin;
  if (principal.origin !== undefined && principal.origin !== sent) {
    refuse("origin_not_allowed", "This token belongs to another origin.");
  }
}
