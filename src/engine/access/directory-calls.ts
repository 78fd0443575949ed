import { fieldsOf } from "../../chat/json.ts";
import { ProblemError, refuse, refuseScope } from "../../session/problems.ts";
import type { Principal, Scope } from "../../session/rpc.ts";
import type { RunQuery, Tables } from "./database.ts";
import { createOnce } from "./once.ts";
import type { Once } from "./once.ts";
import type { DirectoryCall, DirectoryReply } from "./rpc.ts";
import type { AuditedAction } from "./tenant/audit.ts";

/** Performs the operations of the team's and the tenants' objects, after validation of their parameters. */

export type DirectoryHandler<Op extends string> = (
  tables: Tables,
  call: DirectoryCall<Op>,
  now: number,
  once: Once,
) => DirectoryReply | Promise<DirectoryReply>;

export interface DirectoryOperations<Op extends string> {
  readonly scopes: Readonly<Record<Op, Scope | readonly Scope[]>>;
  readonly handlers: Readonly<Record<Op, DirectoryHandler<Op>>>;
  /** Audited operations, each with the field of its parameters or its result that names the subject, if one does. */
  readonly subjects: Readonly<Partial<Record<Op, string | null>>>;
  /** Stores an audited action of a caller. */
  readonly audit: (all: RunQuery, caller: Principal, action: AuditedAction, at: number) => void;
}

export const createReply = (status: 200 | 201 | 204, value: unknown, replayed = false): DirectoryReply => ({
  ok: true,
  status,
  json: status === 204 ? "" : JSON.stringify(value),
  replayed,
});

/** Returns a guard that commits the audit of a call together with its work, which is done through the guard alone. */
const withAudit =
  <Op extends string>(
    once: Once,
    { subjects, audit }: DirectoryOperations<Op>,
    { principal, op, params }: DirectoryCall<Op>,
    now: number,
  ): Once =>
  (work) => {
    const field = subjects[op];
    if (field === undefined) return once(work);
    return once((all) => {
      const value = work(all);
      const subject = field === null ? null : { ...fieldsOf(value), ...fieldsOf(params) }[field];
      const action = { who: principal.by, action: op, subject: typeof subject === "string" ? subject : null };
      audit(all, principal, action, now);
      return value;
    });
  };

/** Answers one call; refusals are values, and anything thrown is a fault. */
export const performDirectoryCall = async <Op extends string>(
  operations: DirectoryOperations<Op>,
  tables: Tables,
  call: DirectoryCall<Op>,
  now: number,
): Promise<DirectoryReply> => {
  const allowed: readonly Scope[] = [operations.scopes[call.op]].flat();
  const { principal } = call;
  try {
    if (!allowed.some((scope) => principal.scopes.includes(scope))) refuseScope(...allowed);
    if (principal.session !== undefined && call.op !== "mint_token") {
      refuse("scope_missing", "A browser token opens its own session only.");
    }
    const once = withAudit(await createOnce(tables, call, now), operations, call, now);
    return await operations.handlers[call.op](tables, call, now, once);
  } catch (fault) {
    if (fault instanceof ProblemError) return { ok: false, problem: fault.problem };
    throw fault;
  }
};
