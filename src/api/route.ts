import { isBodyOptional } from "../session/define-operation.ts";
import type { SessionOperation } from "../session/operations.ts";
import { refuseScope } from "../session/problems.ts";
import type { Scope } from "../session/rpc.ts";
import { teamOperationScopes, tenantOperationScopes } from "../engine/access/rpc.ts";
import type { TeamOperation, TenantOperation } from "../engine/access/rpc.ts";
import { toResponse } from "./answers.ts";
import { readBody, refuseEmptyBody } from "./body.ts";
import type { RequestFields } from "./body.ts";
import { callSession, callDirectory, isRead, readIdempotencyKey, mergeFields } from "./calls.ts";
import type { AuthorizedContext, RequestContext, SessionRequestContext } from "./context.ts";
import { limits } from "./limits.ts";
import { readQuery, refuseQuery } from "./query.ts";
import type { QueryKinds } from "./query.ts";

/** Defines routes as data: the types require each route to state who may use it. */

type RouteMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type RouteAnswer = Response | Promise<Response>;

interface RouteAddress {
  readonly method: RouteMethod;
  /** Path with `:name` for parameters; `:session` is checked before the handler runs. */
  readonly path: string;
  /** Whether the route is also served without `/v1`. */
  readonly alias?: true;
}

/** Route open to anyone; a credential that was sent is ignored. */
interface OpenRoute extends RouteAddress {
  readonly on?: never;
  readonly scope: "open";
  readonly handle: (context: RequestContext) => RouteAnswer;
}
/** Route for callers with one of these scopes, or with `any` for every valid credential of the deployment. */
interface TeamRoute extends RouteAddress {
  readonly on?: never;
  readonly scope: "any" | Scope | readonly [Scope, ...Scope[]];
  /** Whether browser tokens are admitted too, although each is bound to one session. */
  readonly tokens?: true;
  readonly handle: (context: AuthorizedContext) => RouteAnswer;
}
export interface SessionRoute extends RouteAddress {
  readonly on: "session";
  readonly scope: Scope | readonly [Scope, ...Scope[]];
  readonly handle: (context: SessionRequestContext) => RouteAnswer;
  /** Handles an upgrade without a credential, which must follow in the first frame. */
  readonly late?: (context: RequestContext, admit: AdmitPrincipal) => RouteAnswer;
}
type AdmitPrincipal = (principal: AuthorizedContext["principal"]) => SessionRequestContext;
export type Route = OpenRoute | TeamRoute | SessionRoute;

/** Returns a path with its parameters in braces, as documents show it. */
export const documentPath = (path: string): string =>
  path.replace(/:(\w+)(?:\{[^}]*\})?/g, (_, name: string) => `{${name}}`);

/** Reads the fields of a body; the query must be empty, and the body may be absent only if it is optional. */
export async function readCommandBody(
  { request, url }: RequestContext,
  isOptional: () => boolean,
  limit: number = limits.body_bytes,
): Promise<RequestFields> {
  refuseQuery(url.searchParams);
  return (await readBody(request, limit)) ?? (isOptional() ? {} : refuseEmptyBody());
}

/** Reads the parameters of an operation that are not in its path. */
export const readParameters = (
  context: RequestContext,
  operation: SessionOperation,
): Promise<RequestFields> | RequestFields =>
  operation.kind === "read"
    ? readQuery(context.url.searchParams, {})
    : readCommandBody(
        context,
        () => isBodyOptional(operation),
        operation.takesContent === true ? limits.message_body_bytes : limits.body_bytes,
      );

/** Answers with a session's reply, with an `ETag` if the reply is the session itself. */
export async function answerOperation(
  context: SessionRequestContext,
  operation: SessionOperation,
  fields: RequestFields,
): Promise<Response> {
  const { session: _session, ...path } = context.path;
  const { name: op, kind, isTagged } = operation;
  const key = kind === "read" ? undefined : readIdempotencyKey(context.request, fields);
  const reply = await callSession(context, { op, params: mergeFields(fields, path), key });
  const response = toResponse(reply);
  if (isTagged === true) response.headers.set("ETag", `"${reply.seq}"`);
  return response;
}

/** Returns the address and the scopes of an operation. */
export const operationAddress = ({ method, path, scopes, alias }: SessionOperation) => ({
  method,
  path,
  scope: scopes,
  ...(alias === undefined ? {} : { alias }),
});

/** Defines the route of an operation of a session. */
export const operationRoute = (
  operation: SessionOperation,
  handle: SessionRoute["handle"] = async (context) =>
    answerOperation(context, operation, await readParameters(context, operation)),
): SessionRoute => ({ on: "session", ...operationAddress(operation), handle });

const directoryScopes = { ...teamOperationScopes, ...tenantOperationScopes };

/** Defines a route that is one operation of the caller's tenant or of the team. */
export const directoryRoute = (
  method: RouteMethod,
  path: string,
  op: TeamOperation | TenantOperation,
  query: QueryKinds = {},
  hasOptionalBody = method === "DELETE",
): TeamRoute => ({
  method,
  path,
  scope: directoryScopes[op],
  handle: async (context) => {
    const fields = isRead(context)
      ? readQuery(context.url.searchParams, query)
      : await readCommandBody(context, () => hasOptionalBody);
    const key = isRead(context) ? undefined : readIdempotencyKey(context.request, {});
    return toResponse(await callDirectory(context, op, mergeFields(fields, context.path), { key }));
  },
});

/** Refuses a principal without one of the scopes. */
export function requireScope(context: AuthorizedContext, scope: "any" | Scope | readonly Scope[]): void {
  const allowed = [scope].flat();
  if (allowed.some((one) => one === "any" || context.principal.scopes.some((own) => own === one))) return;
  refuseScope(...allowed);
}
