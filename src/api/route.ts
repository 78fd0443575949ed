import { refuse } from "../session/problems.ts";
import { operationScopes } from "../session/rpc.ts";
import type { Operation, Scope } from "../session/rpc.ts";
import { teamOperationScopes } from "../engine/access/rpc.ts";
import type { TeamOperation } from "../engine/access/rpc.ts";
import { answer } from "./answers.ts";
import { readBody } from "./body.ts";
import type { Fields } from "./body.ts";
import { callSession, callTeam, idempotencyKey, merged } from "./calls.ts";
import type { Authorized, RequestContext, SessionRequest } from "./context.ts";
import { limits } from "./limits.ts";
import { readQuery, refuseQuery } from "./query.ts";
import type { QueryKinds } from "./query.ts";

/** A route is data: it cannot be written down without saying who may use it. */

type Method = "GET" | "POST" | "PATCH" | "DELETE";
type Answer = Response | Promise<Response>;

interface Address {
  readonly method: Method;
  /** With `:name` for path parameters; `:session` is checked before the handler sees it. */
  readonly path: string;
  /** Answers without `/v1` too. */
  readonly alias?: true;
}

/** Anyone; the credential, if one was sent, is not looked at. */
interface OpenRoute extends Address {
  readonly on?: never;
  readonly scope: "open";
  readonly handle: (context: RequestContext) => Answer;
}
/** One of these scopes, or `any`: any valid credential of the deployment. */
interface TeamRoute extends Address {
  readonly on?: never;
  readonly scope: "any" | Scope;
  /** A browser token, though bound to one session, may use it. */
  readonly tokens?: true;
  readonly handle: (context: Authorized) => Answer;
}
interface SessionRoute extends Address {
  readonly on: "session";
  readonly scope: Scope | readonly [Scope, ...Scope[]];
  readonly handle: (context: SessionRequest) => Answer;
  /** An upgrade without credential, which must follow in the first frame. */
  readonly late?: (context: RequestContext, admit: Admit) => Answer;
}
type Admit = (principal: Authorized["principal"]) => SessionRequest;
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
export async function commandBody(context: RequestContext, options: BodyOptions = {}): Promise<Fields> {
  const { limit = limits.body_bytes, isOptional = false } = options;
  refuseQuery(context.url.searchParams);
  return readBody(context.request, limit, !isOptional && context.request.method !== "DELETE");
}

const isRead = ({ request }: RequestContext): boolean =>
  request.method === "GET" || request.method === "HEAD";

const parametersOf = (context: RequestContext, options: OperationOptions): Promise<Fields> | Fields =>
  isRead(context)
    ? readQuery(context.url.searchParams, options.query ?? {})
    : commandBody(context, options.body);

const tagged = new Set<Operation>(["create", "get", "patch"]);

/** A session's reply as an answer; on the session itself with its `ETag`. */
export async function performed(context: SessionRequest, op: Operation, fields: Fields): Promise<Response> {
  const { session: _session, ...path } = context.path;
  const key = isRead(context) ? undefined : idempotencyKey(context.request, fields);
  const reply = await callSession(context, { op, params: merged(fields, path), key });
  const response = answer(reply);
  if (tagged.has(op)) response.headers.set("ETag", `"${reply.seq}"`);
  return response;
}

/** A route that is one operation of a session. */
export const operation = (
  method: Method,
  path: string,
  op: Operation,
  options: OperationOptions = {},
): SessionRoute => ({
  on: "session",
  method,
  path,
  ...(options.alias === undefined ? {} : { alias: options.alias }),
  scope: options.scope ?? operationScopes[op],
  handle: async (context) => performed(context, op, await parametersOf(context, options)),
});

/** A route that is one operation of the team. */
export const teamOperation = (
  method: Method,
  path: string,
  op: TeamOperation,
  query: QueryKinds = {},
): TeamRoute => ({
  method,
  path,
  scope: teamOperationScopes[op],
  handle: async (context) => {
    const fields = await parametersOf(context, { query });
    const key = isRead(context) ? undefined : idempotencyKey(context.request, {});
    return answer(await callTeam(context, op, merged(fields, context.path), key));
  },
});

/** Refuses a principal without one of the scopes. */
export function requireScope(context: Authorized, scope: "any" | Scope | readonly Scope[]): void {
  const allowed = [scope].flat();
  if (allowed.some((one) => one === "any" || context.principal.scopes.some((own) => own === one))) return;
  refuse("scope_missing", `This needs the scope ${allowed.join(" or ")}.`, {
    meta: { scopes: [...allowed] },
  });
}
