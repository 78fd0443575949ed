import { findOperation } from "../session/operations.ts";
import type { OperationName, SessionOperation } from "../session/operations.ts";
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

/** Reads `If-Match`; refuses the header on a command that would ignore it. */
function readIfMatch(request: Request, operation: SessionOperation): string | undefined {
  if (operation.kind === "read") return undefined;
  if (operation.matches === undefined) refuseIfMatch(request);
  return request.headers.get("If-Match") ?? undefined;
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
  const operation = findOperation(op);
  const match = readIfMatch(request, operation);
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
      key !== undefined || operation.kind === "read",
    ),
  );
}

const isTenantOperation = (op: TeamOperation | TenantOperation): op is TenantOperation =>
  Object.hasOwn(tenantOperationScopes, op);

/** Audits an action of the caller that neither the team's nor the tenant's object does. */
export const auditAction = (
  { objects, principal, router }: AuthorizedContext,
  { action, subject }: Omit<AuditedAction, "who">,
): Promise<void> => {
  const done = { id: crypto.randomUUID(), at: router.now(), who: principal.by, action, subject };
  const record = () => getTenantObject(objects.TenantObject, principal).recordActions([done]);
  return callWithRetry(record, true);
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
  const { objects, principal, path } = context;
  if (!isRead(context)) refuseIfMatch(context.request);
  // A key holds for one address: for its operation and the values in its path.
  const keyed = key === undefined ? {} : { key: [...Object.values(path), key].join(" ") };
  const call = { principal, params, ...keyed, ...(sent !== undefined && { sent }) };
  const perform = (): Promise<DirectoryReply> =>
    isTenantOperation(op)
      ? getTenantObject(objects.TenantObject, principal).perform({ ...call, op })
      : objects.TeamObject.getByName(teamObjectName).perform({ ...call, op });
  return requireAccepted(await callWithRetry(perform, key !== undefined || isRead(context)));
}
