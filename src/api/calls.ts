import { fieldsOf } from "../chat/json.ts";
import type { Json } from "../chat/message.ts";
import { findOperation } from "../session/operations.ts";
import type { OperationName } from "../session/operations.ts";
import { refuse } from "../session/problems.ts";
import type { Principal, SessionReply } from "../session/rpc.ts";
import { operatorTenant } from "../engine/access/key-store.ts";
import { getSessionObject, getTenantObject, teamObjectName } from "../engine/access/names.ts";
import { tenantOperationScopes } from "../engine/access/rpc.ts";
import type { AuditedAction } from "../engine/access/tenant/audit.ts";
import type { DirectoryReply, TeamOperation, TenantOperation } from "../engine/access/rpc.ts";
import { requireAccepted } from "./answers.ts";
import type { AcceptedReply } from "./answers.ts";
import type { RequestFields } from "./body.ts";
import type { AuthorizedContext, RequestContext, SessionRequestContext, SessionStub } from "./context.ts";
import { callWithRetry } from "./platform.ts";

/** Passes a request on to a session, its tenant or the team, each with one RPC. */

const keyPattern = /^[\x20-\x7e]{1,128}$/;

/** Reads the `Idempotency-Key`, or else the body's `id`. */
export function readIdempotencyKey(request: Request, body: RequestFields): string | undefined {
  const header = request.headers.get("Idempotency-Key");
  if (header !== null && !keyPattern.test(header)) {
    refuse("invalid_request", "Idempotency-Key takes 1 to 128 printable ASCII characters.");
  }
  const id = body["id"];
  return header ?? (typeof id === "string" && keyPattern.test(id) ? id : undefined);
}

/** Reads the bare value of `If-Match`: `"12"` is 12; `*` requires only that the session exists. */
function readIfMatch(request: Request): string | undefined {
  const sent = request.headers.get("If-Match")?.trim();
  return sent === "*" ? undefined : sent?.replace(/^(?:W\/)?"(.*)"$/, "$1");
}

/** Adds path values to the fields of a body; refuses a field that is in both. */
export function mergeFields(fields: RequestFields, path: RequestFields): RequestFields {
  const double = Object.keys(path).find((name) => Object.hasOwn(fields, name));
  if (double !== undefined) {
    refuse("invalid_request", `/${double}: is already in the address.`, {
      errors: [{ pointer: `/${double}`, code: "unrecognized_keys", message: "Leave it out." }],
    });
  }
  return { ...fields, ...path };
}

/** Refuses `If-Match` on a route that would ignore it. */
export function refuseIfMatch({ headers }: Request): void {
  if (headers.has("If-Match"))
    refuse("invalid_request", "This route does not accept If-Match: leave it out, and nothing is checked.");
}

/** Opens a new stub to a session's object. */
export const openSessionStub = ({ objects, principal }: AuthorizedContext, session: string): SessionStub =>
  getSessionObject(objects.SessionObject, principal, session);

/** Returns whether the operator sent a request, and so names the deployment's own host truly; other callers need not. */
const isOperator = ({ tenant, scopes, session }: Principal): boolean =>
  tenant === operatorTenant && scopes.includes("admin") && session === undefined;

export interface SessionCommand {
  readonly op: OperationName;
  readonly params: RequestFields;
  readonly key?: string | undefined;
}

/** Performs one operation on a session; reads and calls with a key may be repeated. */
export async function callSession(
  context: SessionRequestContext,
  { op, params, key }: SessionCommand,
): Promise<AcceptedReply<SessionReply>> {
  const { principal, session, request, url } = context;
  const match = isRead(context) ? undefined : readIfMatch(request);
  const call = {
    principal,
    session,
    op,
    params,
    ...(isOperator(principal) ? { host: url.hostname } : {}),
    ...(key === undefined ? {} : { key }),
    ...(match === undefined ? {} : { ifMatch: match }),
  };
  return requireAccepted(
    await callWithRetry(
      () => openSessionStub(context, session).perform(call),
      key !== undefined || findOperation(op).kind === "read",
    ),
  );
}

const isTenantOperation = (op: TeamOperation | TenantOperation): op is TenantOperation =>
  Object.hasOwn(tenantOperationScopes, op);

/**
 * Audited operations on keys and tokens, each with its parameter that names the subject; a new key's id is in the
 * answer.
 */
const auditedOperations: Readonly<Partial<Record<TeamOperation, "key" | "session" | "id">>> = {
  create_key: "id",
  edit_key: "key",
  revoke_key: "key",
  mint_token: "session",
};

/** Audits an action of the caller outside sessions, with the caller's tenant; under a key once for each call. */
export const auditAction = (
  { objects, principal }: AuthorizedContext,
  action: Omit<AuditedAction, "who">,
  key?: string,
): Promise<void> =>
  callWithRetry(
    () =>
      getTenantObject(objects.TenantObject, principal).recordAction(
        { principal, ...(key !== undefined && { key }) },
        action,
      ),
    key !== undefined,
  );

/** Audits an action on keys or tokens, with the tenant of its caller; a repeated call may be the first that gets here. */
const auditOperation = async (
  context: AuthorizedContext,
  op: TeamOperation,
  { params, key }: { readonly params: RequestFields; readonly key: string | undefined },
  { json }: AcceptedReply<DirectoryReply>,
): Promise<void> => {
  const field = auditedOperations[op];
  if (field === undefined) return;
  const fields = field === "id" ? fieldsOf(JSON.parse(json) as Json) : params;
  const subject = typeof fields[field] === "string" ? fields[field] : null;
  await auditAction(context, { action: op, subject }, key);
};

export const isRead = ({ request }: RequestContext): boolean =>
  request.method === "GET" || request.method === "HEAD";

/** Performs one operation of the caller's tenant or of the team; reads and calls with a key may be repeated. */
export async function callDirectory(
  context: AuthorizedContext,
  op: TeamOperation | TenantOperation,
  params: RequestFields,
  { key, sent }: { readonly key?: string | undefined; readonly sent?: RequestFields } = {},
): Promise<AcceptedReply<DirectoryReply>> {
  const { objects, principal } = context;
  if (!isRead(context)) refuseIfMatch(context.request);
  const call = { principal, params, ...(key !== undefined && { key }), ...(sent !== undefined && { sent }) };
  const perform = (): Promise<DirectoryReply> =>
    isTenantOperation(op)
      ? getTenantObject(objects.TenantObject, principal).perform({ ...call, op })
      : objects.TeamObject.getByName(teamObjectName).perform({ ...call, op });
  const reply = requireAccepted(await callWithRetry(perform, key !== undefined || isRead(context)));
  if (!isTenantOperation(op)) await auditOperation(context, op, { params, key }, reply);
  return reply;
}
