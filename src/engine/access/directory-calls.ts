import { ProblemError, refuse, refuseScope } from "../../session/problems.ts";
import type { Scope } from "../../session/rpc.ts";
import type { Tables } from "./database.ts";
import { createOnce } from "./once.ts";
import type { Once } from "./once.ts";
import type { DirectoryCall, DirectoryReply } from "./rpc.ts";

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
}

export const createReply = (status: 200 | 201 | 204, value: unknown, replayed = false): DirectoryReply => ({
  ok: true,
  status,
  json: status === 204 ? "" : JSON.stringify(value),
  replayed,
});

/** Answers one call; refusals are values, and anything thrown is a fault. */
export const performDirectoryCall = async <Op extends string>(
  { scopes, handlers }: DirectoryOperations<Op>,
  tables: Tables,
  call: DirectoryCall<Op>,
  now: number,
): Promise<DirectoryReply> => {
  const allowed: readonly Scope[] = [scopes[call.op]].flat();
  const { principal } = call;
  try {
    if (!allowed.some((scope) => principal.scopes.includes(scope))) refuseScope(...allowed);
    if (principal.session !== undefined && call.op !== "mint_token") {
      refuse("scope_missing", "A browser token opens its own session only.");
    }
    return await handlers[call.op](tables, call, now, await createOnce(tables, call, now));
  } catch (fault) {
    if (fault instanceof ProblemError) return { ok: false, problem: fault.problem };
    throw fault;
  }
};
