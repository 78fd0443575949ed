import { ProblemError, refuse } from "../agent/problem.ts";
import { allScopes } from "../agent/rpc.ts";
import type { Principal } from "../agent/rpc.ts";
import { secretCommand } from "../config/references.ts";
import { adminKeyMinLength, adminKeyUsable } from "../engine/access/authenticate.ts";
import { credentialDigest } from "../engine/access/keys.ts";
import { teamObjectName } from "../engine/access/names.ts";
import type { RequestContext, RouterEnv } from "./context.ts";
import { repeat } from "./platform.ts";

/** Who asks (AP-12 to AP-14): API key, browser token, or nobody on a development machine. */

/** The principal behind a credential; verified ones are remembered for at most 30 s. */
export type Authenticate = (context: RequestContext, credential: string) => Promise<Principal>;

const maxRemembered = 1000;
const rememberedMs = 30_000;

export function createAuthenticate(now: () => number): Authenticate {
  const remembered = new Map<string, { readonly principal: Principal; readonly until: number }>();
  const remember = (digest: string, principal: Principal): void => {
    const [oldest] = remembered.keys();
    if (remembered.size >= maxRemembered && oldest !== undefined) remembered.delete(oldest);
    remembered.set(digest, { principal, until: now() + rememberedMs });
  };
  return async (context, credential) => {
    const digest = await credentialDigest(credential);
    const known = remembered.get(digest);
    if (known !== undefined && known.until > now()) return unexpired(known.principal, now());
    remembered.delete(digest);
    const team = () => context.objects.TeamObject.getByName(teamObjectName);
    const answer = await repeat(() => team().authenticate(credential), true);
    if (!answer.ok) throw new ProblemError(answer.problem);
    remember(digest, answer.principal);
    return answer.principal;
  };
}

const unexpired = (principal: Principal, now: number): Principal =>
  principal.expires !== undefined && principal.expires <= now
    ? refuse("token_expired", "The credential has expired: get a new one.")
    : principal;

const bearer = /^Bearer ([A-Za-z0-9\-._~+/]{1,4096}=*)$/;

/** The subprotocols a client offers: `limpet.v1`, and at most one credential as `bearer.<token>`. */
function offeredCredential(request: Request): string | null {
  const offered = (request.headers.get("Sec-WebSocket-Protocol") ?? "").split(",").map((name) => name.trim());
  const [credential] = offered.filter((name) => name.startsWith("bearer."));
  return credential?.slice("bearer.".length) ?? null;
}

/** The credential of a request: header or, on an upgrade, subprotocol; null if there is none. */
export function presentedCredential(request: Request): string | null {
  const header = request.headers.get("Authorization");
  if (header !== null) {
    const [, credential] = bearer.exec(header) ?? [];
    return credential ?? refuse("unauthenticated", "Write the header as Authorization: Bearer <key>.");
  }
  return request.headers.get("Upgrade") === null ? null : offeredCredential(request);
}

const isLoopback = (host: string): boolean => /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/.test(host);

/** Keyless requests of a development machine act as tenant `dev` (AP-14): all three conditions together. */
export function devPrincipal(context: RequestContext): Principal | null {
  const { env, url, request } = context;
  const origin = request.headers.get("Origin");
  const local = isLoopback(url.host) && isLoopback(request.headers.get("Host") ?? url.host);
  const own = origin === null || origin === url.origin;
  return env.LIMPET_DEV === "1" && local && own ? { tenant: "dev", by: "dev", scopes: allScopes } : null;
}

/** Whether anybody can be let in. */
export const isConfigured = (env: RouterEnv): boolean =>
  env.LIMPET_DEV === "1" || adminKeyUsable(env.LIMPET_ADMIN_KEY);

/** Without an admin key every answer is 503 (AP-12). */
export function requireConfigured({ env, router }: RequestContext): void {
  if (isConfigured(env)) return;
  refuse(
    "not_configured",
    `Set the secret LIMPET_ADMIN_KEY to at least ${adminKeyMinLength} random characters: npx ${secretCommand("LIMPET_ADMIN_KEY", router.team.name)}`,
  );
}

/** A token bound to an origin is worth nothing elsewhere; requests of the page's own origin may lack the header. */
export function checkTokenOrigin(context: RequestContext, principal: Principal): void {
  const sent = context.request.headers.get("Origin") ?? context.url.origin;
  if (principal.origin !== undefined && principal.origin !== sent) {
    refuse("origin_not_allowed", "This token belongs to another origin.");
  }
}
