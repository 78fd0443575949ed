import { refuse } from "../../session/problems.ts";
import type { RequestContext } from "../context.ts";
import { isLoopbackHost } from "./development.ts";

/** Checks the origin of requests. A browser's Origin is ours or configured; the latter gets CORS headers. */

const exposedHeaders =
  "Content-Range, ETag, Idempotent-Replayed, Location, RateLimit, RateLimit-Policy, Request-Id, Retry-After";

/**
 * Returns advice on how a page of another local origin reaches the API without a key, on a development machine
 * only.
 */
const adviseInDevelopment = ({ env, url }: RequestContext): string =>
  env.LIMPET_DEV === "1"
    ? ` In development let the page's own server pass the API on; with Vite: server: { proxy: { "/v1": { target: "${url.origin}", ws: true } } }.`
    : "";

/**
 * Returns whether pages of an origin can call this deployment, as far as it knows: under another of its hosts they
 * are its own, and on a development machine their server may pass the API on.
 */
export const mayCall = ({ env, url, router }: RequestContext, origin: string): boolean => {
  const { origins, hosts } = router.team.access;
  const page = URL.parse(origin);
  return (
    page === null ||
    [url.origin, ...origins].includes(origin) ||
    hosts.includes(page.hostname) ||
    (env.LIMPET_DEV === "1" && isLoopbackHost(page.host))
  );
};

/** Refuses a foreign Origin and prepares the CORS headers of a configured one. */
export function checkOrigin(context: RequestContext): void {
  const { request, url, router, headers } = context;
  const origin = request.headers.get("Origin");
  headers.append("Vary", "Origin");
  if (origin === null || origin === url.origin) return;
  if (!router.team.access.origins.includes(origin)) {
    refuse(
      "origin_not_allowed",
      `This origin is not in the team's access.origins.${adviseInDevelopment(context)}`,
    );
  }
  headers.set("Access-Control-Allow-Origin", origin);
  headers.set("Access-Control-Expose-Headers", exposedHeaders);
}

/** Refuses requests from agents of any deployment, which could otherwise call each other over the API for ever. */
export function checkHop({ request }: RequestContext): void {
  if (!request.headers.has("X-Limpet-Hop")) return;
  refuse(
    "origin_not_allowed",
    "Requests from an agent are not accepted here (X-Limpet-Hop); let its client call.",
  );
}

/** Answers a browser's preflight, which carries no credential. */
export function answerPreflight(context: RequestContext): Response {
  const { headers } = context;
  headers.set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
  headers.set(
    "Access-Control-Allow-Headers",
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, Last-Event-ID, Range, traceparent",
  );
  headers.set("Access-Control-Max-Age", "600");
  return new Response(null, { status: 204 });
}
