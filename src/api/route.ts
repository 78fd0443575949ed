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

/** A route is data: it cannot be written down without saying who may use it. */

type RouteMethod = "GET" | "POST" | "PATCH" | "DELETE";
type RouteAnswer = Response | Promise<Response>;

interface RouteAddress {
  readonly method: RouteMethod;
  /** With `:name` for path parameters; `:session` is checked before the handler sees it. */
  readonly path: string;
  /** Answers without `/v1` too. */
  readonly alias?: true;
}

/** Anyone; the credential, if one was sent, is not looked at. */
interface OpenRoute extends RouteAddress {
  readonly on?: never;
  readonly scope: "open";
  readonly handle: (context: RequestContext) => RouteAnswer;
}
/** One of these scopes, or `any`: any valid credential of the deployment. */
interface TeamRoute extends RouteAddress {
  readonly on?: never;
  readonly scope: "any" | Scope;
  /** A browser token, though bound to one session, may use it. */
  readonly tokens?: true;
  readonly handle: (context: AuthorizedContext) => RouteAnswer;
}
interface SessionRoute extends RouteAddress {
  readonly on: "session";
  readonly scope: Scope | readonly [Scope, ...Scope[]];
  readonly handle: (context: SessionRequestContext) => RouteAnswer;
  /** An upgrade without credential, which must follow in the first frame. */
  readonly late?: (context: RequestContext, admit: AdmitPrincipal) => RouteAnswer;
}
type AdmitPrincipal = (principal: AuthorizedContext["principal"]) => SessionRequestContext;
export type Route = OpenRoute | TeamRoute | SessionRoute;

interface OperationOptions {
  readonly alias?: true;
  /** Beside the operation's own scope: the session decides by the kind of ask. */
  readonly scope?: SessionRoute["scope"];
  readonly query?: QueryKinds;
  readonly body?: BodyOptions;
}

interface BodyOptions {
  /** Bytes; 1 MiB if absent. */
  readonly limit?: number;
  /** The command says enough without one. */
  readonly isOptional?: true;
}

/** Fields of the body of a command; its query must be empty. */
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

/** A session's reply as an answer; on the session itself with its `ETag`. */
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

/** A route that is one operation of a session. */
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

/** A route that is one operation of the team. */
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
