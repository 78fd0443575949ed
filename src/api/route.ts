import { refuse } from "../session/problems.ts";
import { operationScopes } from "../session/rpc.ts";
import type { Operation, Scope } from "../session/rpc.ts";
import { teamOperationScopes } from "../engine/access/rpc.ts";
import type { TeamOperation } from "../engine/access/rpc.ts";
import { toResponse } from "./answers.ts";
import { readBody } from "./body.ts";
import type { RequestFields } from "./body.ts";
import { callSession, callTeam, readIdempotencyKey, mergeFields } from "./calls.ts";
import type { AuthorizedContext, RequestContext, SessionRequestContext } from "./context.ts";
import { limits } from "./limits.ts";
import { readQuery, refuseQuery } from "./query.ts";
import type { QueryKinds } from "./query.ts";

/** This file defines routes as data: the types require each to say who may use it. */

type RouteMethod = "GET" | "POST" | "PATCH" | "DELETE";
type RouteAnswer = Response | Promise<Response>;

interface RouteAddress {
  readonly method: RouteMethod;
  /** Holds the path with `:name` for parameters; `:session` is checked before the handler runs. */
  readonly path: string;
  /** Serves the route without `/v1` too. */
  readonly alias?: true;
}

/** Admits anyone; a credential that was sent is ignored. */
interface OpenRoute extends RouteAddress {
  readonly on?: never;
  readonly scope: "open";
  readonly handle: (context: RequestContext) => RouteAnswer;
}
/** Admits one of these scopes, or with `any` every valid credential of the deployment. */
interface TeamRoute extends RouteAddress {
  readonly on?: never;
  readonly scope: "any" | Scope;
  /** Admits browser tokens too, although each is bound to one session. */
  readonly tokens?: true;
  readonly handle: (context: AuthorizedContext) => RouteAnswer;
}
interface SessionRoute extends RouteAddress {
  readonly on: "session";
  readonly scope: Scope | readonly [Scope, ...Scope[]];
  readonly handle: (context: SessionRequestContext) => RouteAnswer;
  /** Handles an upgrade without a credential, which must follow in the first frame. */
  readonly late?: (context: RequestContext, admit: AdmitPrincipal) => RouteAnswer;
}
type AdmitPrincipal = (principal: AuthorizedContext["principal"]) => SessionRequestContext;
export type Route = OpenRoute | TeamRoute | SessionRoute;

interface OperationOptions {
  readonly alias?: true;
  /** Is required beside the operation's own scope; the session decides by the kind of ask. */
  readonly scope?: SessionRoute["scope"];
  readonly query?: QueryKinds;
  readonly body?: BodyOptions;
}

interface BodyOptions {
  /** Limits the body's bytes; the default is 1 MiB. */
  readonly limit?: number;
  /** Allows a command without a body. */
  readonly isOptional?: true;
}

/** Reads the fields of a command's body; its query must be empty. */
export async function readCommandBody(
  context: RequestContext,
  options: BodyOptions = {},
): Promise<RequestFields> {
  const { limit = limits.body_bytes, isOptional = false } = options;
  refuseQuery(context.url.searchParams);
  return readBody(context.request, limit, !isOptional && context.request.method !== "DELETE");
}

const isRead = ({ request }: RequestContext): boolean =>
  request.method === "GET" || request.method === "HEAD";

const readParameters = (
  context: RequestContext,
  options: OperationOptions,
): Promise<RequestFields> | RequestFields =>
  isRead(context)
    ? readQuery(context.url.searchParams, options.query ?? {})
    : readCommandBody(context, options.body);

const taggedOperations = new Set<Operation>(["create", "get", "patch"]);

/** Answers with a session's reply, with an `ETag` if the reply is the session itself. */
export async function answerOperation(
  context: SessionRequestContext,
  op: Operation,
  fields: RequestFields,
): Promise<Response> {
  const { session: _session, ...path } = context.path;
  const key = isRead(context) ? undefined : readIdempotencyKey(context.request, fields);
  const reply = await callSession(context, { op, params: mergeFields(fields, path), key });
  const response = toResponse(reply);
  if (taggedOperations.has(op)) response.headers.set("ETag", `"${reply.seq}"`);
  return response;
}

/** Defines a route that is one operation of a session. */
export const operationRoute = (
  method: RouteMethod,
  path: string,
  op: Operation,
  options: OperationOptions = {},
): SessionRoute => ({
  on: "session",
  method,
  path,
  ...(options.alias === undefined ? {} : { alias: options.alias }),
  scope: options.scope ?? operationScopes[op],
  handle: async (context) => answerOperation(context, op, await readParameters(context, options)),
});

/** Defines a route that is one operation of the team. */
export const teamOperationRoute = (
  method: RouteMethod,
  path: string,
  op: TeamOperation,
  query: QueryKinds = {},
): TeamRoute => ({
  method,
  path,
  scope: teamOperationScopes[op],
  handle: async (context) => {
    const fields = await readParameters(context, { query });
    const key = isRead(context) ? undefined : readIdempotencyKey(context.request, {});
    return toResponse(await callTeam(context, op, mergeFields(fields, context.path), key));
  },
});

/** Refuses a principal without one of the scopes. */
export function requireScope(context: AuthorizedContext, scope: "any" | Scope | readonly Scope[]): void {
  const allowed = [scope].flat();
  if (allowed.some((one) => one === "any" || context.principal.scopes.some((own) => own === one))) return;
  refuse("scope_missing", `This needs the scope ${allowed.join(" or ")}.`, {
    meta: { scopes: [...allowed] },
  });
}
