import { Hono } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import { ProblemError, refuse, refuseMissingSession } from "../session/problems.ts";
import type { Principal } from "../session/rpc.ts";
import { sessionIdPattern } from "../engine/access/names.ts";
import type {
  AuthorizedContext,
  RequestContext,
  Router,
  RouterContext,
  RouterDependencies,
  RouterEnv,
  SessionRequestContext,
} from "./context.ts";
import {
  checkTokenOrigin,
  createAuthenticator,
  readCredential,
  requireConfigured,
} from "./access/credentials.ts";
import { findDevPrincipal } from "./access/development.ts";
import { checkHop, checkOrigin, answerPreflight } from "./access/origins.ts";
import { releaseBody } from "./body.ts";
import { problemOf, problemResponse } from "./problems.ts";
import { refuseUrlCredentials } from "./query.ts";
import { createRequestCounter } from "./access/rate-limit.ts";
import { logRequest, createRequestId, traceOf } from "./request-log.ts";
import { requireScope } from "./route.ts";
import type { Route } from "./route.ts";
import { routes } from "./routes.ts";
import { refuseUnknownAddress } from "./unknown-address.ts";

/** Assembles the HTTP API; `createRouter` is its only entry point. */

export type { RouterContext, RouterDependencies, RouterEnv, SessionStub } from "./context.ts";

/** Returns the caller of this request, or null if it holds no credential and is not admitted without one. */
async function principalOf(context: RequestContext): Promise<Principal | null> {
  const credential = readCredential(context.request);
  if (credential === null) return findDevPrincipal(context);
  const principal = await context.router.authenticate(context, credential);
  checkTokenOrigin(context, principal);
  return principal;
}

/** Counts a request against its key's rate; keyless ones of a development machine are not counted. */
function countRequest({ router, headers }: RequestContext, principal: Principal): void {
  if (principal.by === "dev") return;
  const limit = router.team.access.rate_limit.rpm;
  const taken = router.countRequest([principal.tenant, principal.by, principal.session ?? ""].join(" "));
  headers.set("RateLimit-Policy", `"key";q=${limit};w=60`);
  headers.set("RateLimit", `"key";r=${taken.remaining};t=${Math.ceil(taken.resetMs / 1000)}`);
  if (taken.allowed) return;
  refuse("rate_limited", `More than ${limit} requests in a minute.`, { retryAfterMs: taken.resetMs });
}

function authorize(
  context: RequestContext,
  principal: Principal,
  { scope }: Exclude<Route, { readonly scope: "open" }>,
): AuthorizedContext {
  const authorized: AuthorizedContext = { ...context, principal };
  context.notes.tenant = principal.tenant;
  countRequest(context, principal);
  requireScope(authorized, scope);
  return authorized;
}

/** Checks a session's id; an invalid one gets the same answer as an unknown one. */
function requireSessionId(context: AuthorizedContext): SessionRequestContext {
  const session = context.path["session"] ?? "";
  const { principal } = context;
  if (principal.session !== undefined && principal.session !== session) {
    refuse("unauthenticated", "This token opens another session.");
  }
  if (!sessionIdPattern.test(session)) refuseMissingSession();
  context.notes.session = session;
  return { ...context, session };
}

const isUpgrade = (request: Request): boolean => request.headers.has("Upgrade");

const refuseUnauthenticated = (): never =>
  refuse("unauthenticated", "Send a key as Authorization: Bearer <key>.");

async function dispatch(context: RequestContext, route: Route): Promise<Response> {
  if (route.scope === "open") return route.handle(context);
  requireConfigured(context);
  const principal = await principalOf(context);
  if (route.on === "session") {
    const admit = (who: Principal): SessionRequestContext => requireSessionId(authorize(context, who, route));
    if (principal !== null) return route.handle(admit(principal));
    if (route.late === undefined || !isUpgrade(context.request)) return refuseUnauthenticated();
    return route.late(context, admit);
  }
  if (principal === null) return refuseUnauthenticated();
  if (principal.session !== undefined && route.tokens === undefined) {
    refuse("scope_missing", "A browser token opens its own session only.");
  }
  return route.handle(authorize(context, principal, route));
}

/** Registers the routes with Hono, which decodes path parameters once. */
function createApp(): Hono<{ Bindings: RequestContext }> {
  // Hono's default router compiles one expression of all routes at a cold isolate's first request: 2.5 times the whole of this one.
  const app = new Hono<{ Bindings: RequestContext }>({ router: new TrieRouter() });
  for (const route of routes) {
    const paths = route.alias === undefined ? [route.path] : [route.path, route.path.replace(/^\/v1/, "")];
    app.on(route.method, paths, (c) => {
      c.env.notes.route = `${route.method} ${route.path}`;
      return dispatch({ ...c.env, path: c.req.param() }, route);
    });
  }
  app.notFound((c) => refuseUnknownAddress(c.env, routes));
  app.onError((thrown) => {
    throw thrown;
  });
  return app;
}

/** Runs the checks that apply to every address, then the route. */
async function answerRequest(app: ReturnType<typeof createApp>, context: RequestContext): Promise<Response> {
  checkOrigin(context);
  checkHop(context);
  refuseUrlCredentials(context.url.searchParams);
  if (context.request.method === "OPTIONS") return answerPreflight(context);
  return app.fetch(context.request, context);
}

/** Adds the headers of every answer. */
function finishResponse(context: RequestContext, response: Response): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of context.headers) headers.set(name, value);
  headers.set("Request-Id", context.requestId);
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("traceparent", context.traceparent);
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
  const { status, webSocket } = response;
  return status === 101 && webSocket
    ? new Response(null, { status, webSocket, headers })
    : new Response(response.body, { status, headers });
}

/** Answers one request and writes its log line. */
async function serve(app: ReturnType<typeof createApp>, context: RequestContext): Promise<Response> {
  const started = context.router.now();
  let response: Response;
  try {
    response = await answerRequest(app, context);
  } catch (thrown) {
    const problem = problemOf(thrown);
    context.notes.code = problem.code;
    if (!(thrown instanceof ProblemError)) context.notes.fault = thrown;
    response = problemResponse(problem, context.requestId);
  } finally {
    releaseBody(context.request);
  }
  logRequest(context, response.status, started);
  return finishResponse(context, response);
}

/** Creates the API of a compiled team with two small caches of its isolate: verified credentials and request counts. */
export function createRouter(dependencies: RouterDependencies): {
  fetch(request: Request, env: RouterEnv, ctx: RouterContext): Promise<Response>;
} {
  const now = dependencies.now ?? Date.now;
  const router: Router = {
    log: (line) => console.log(line),
    logLine: (fields) => JSON.stringify(fields),
    ...dependencies,
    now,
    authenticate: createAuthenticator(now),
    countRequest: createRequestCounter(dependencies.team.access.rate_limit.rpm, now),
  };
  const app = createApp();
  return {
    fetch: (request, env, ctx) =>
      serve(app, {
        router,
        request,
        env,
        objects: ctx.exports,
        url: new URL(request.url),
        requestId: createRequestId(),
        traceparent: traceOf(request),
        notes: { route: null, tenant: null, session: null, code: null, fault: null },
        path: {},
        headers: new Headers(),
      }),
  };
}
