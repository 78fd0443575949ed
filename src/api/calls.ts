import { refuse } from "../session/problems.ts";
import type { Operation, Principal, SessionReply } from "../session/rpc.ts";
import { operatorTenant } from "../engine/access/key-store.ts";
import { objectName, teamObjectName } from "../engine/access/names.ts";
import type { TeamOperation, TeamReply } from "../engine/access/rpc.ts";
import { accepted } from "./answers.ts";
import type { Accepted } from "./answers.ts";
import type { Fields } from "./body.ts";
import type { Authorized, SessionRequest, SessionStub } from "./context.ts";
import { repeat } from "./platform.ts";

/** The way from a request into a session or the team: one RPC each. */

const printable = /^[\x20-\x7e]{1,128}$/;

/** `Idempotency-Key`, else the body's `id`. */
export function idempotencyKey(request: Request, body: Fields): string | undefined {
  const header = request.headers.get("Idempotency-Key");
  if (header !== null && !printable.test(header)) {
    refuse("invalid_request", "Idempotency-Key takes 1 to 128 printable ASCII characters.");
  }
  const id = body["id"];
  return header ?? (typeof id === "string" && printable.test(id) ? id : undefined);
}

/** The bare value of a PATCH's `If-Match`: `"12"` is 12; `*` asks only that the session is there. */
function ifMatch(request: Request): string | undefined {
  const sent = request.method === "PATCH" ? request.headers.get("If-Match")?.trim() : undefined;
  return sent === "*" ? undefined : sent?.replace(/^(?:W\/)?"(.*)"$/, "$1");
}

/** Path values beside a body: one that the body names too is refused, not overruled. */
export function merged(fields: Fields, path: Fields): Fields {
  const double = Object.keys(path).find((name) => Object.hasOwn(fields, name));
  if (double !== undefined) {
    refuse("invalid_request", `/${double}: stands in the address already.`, {
      errors: [{ pointer: `/${double}`, code: "unrecognized_keys", message: "Leave it out." }],
    });
  }
  return { ...fields, ...path };
}

/** Opens a new stub to a session's object. */
export async function sessionStub(context: Authorized, session: string): Promise<() => SessionStub> {
  const name = await objectName(context.principal.tenant, session);
  return () => context.objects.SessionObject.getByName(name);
}

/** Whether a request is of whoever runs the deployment, whose word for its own host is good. A browser's is not. */
const isOperator = ({ tenant, scopes, session }: Principal): boolean =>
  tenant === operatorTenant && scopes.includes("admin") && session === undefined;

const reads = new Set<Operation>([
  "get",
  "messages",
  "inputs",
  "input",
  "runs",
  "run",
  "threads",
  "asks",
  "events",
  "snapshot",
  "context",
  "usage",
  "state",
  "tasks",
  "notes",
]);

export interface SessionCommand {
  readonly op: Operation;
  readonly params: Fields;
  readonly key?: string | undefined;
}

/** Performs one operation on a session; reads and calls with a key may be repeated. */
export async function callSession(
  context: SessionRequest,
  { op, params, key }: SessionCommand,
): Promise<Accepted<SessionReply>> {
  const { principal, session, request, traceparent, url } = context;
  const stub = await sessionStub(context, session);
  const match = ifMatch(request);
  const call = {
    principal,
    session,
    op,
    params,
    trace: traceparent,
    ...(isOperator(principal) ? { host: url.hostname } : {}),
    ...(key === undefined ? {} : { key }),
    ...(match === undefined ? {} : { ifMatch: match }),
  };
  return accepted(await repeat(() => stub().perform(call), reads.has(op) || key !== undefined));
}

/** Performs one operation of the team. */
export async function callTeam(
  context: Authorized,
  op: TeamOperation,
  params: Fields,
  key?: string,
): Promise<Accepted<TeamReply>> {
  const team = () => context.objects.TeamObject.getByName(teamObjectName);
  const call = { principal: context.principal, op, params, ...(key === undefined ? {} : { key }) };
  return accepted(await repeat(() => team().perform(call), op !== "create_key" || key !== undefined));
}
