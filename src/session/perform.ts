import { headAfter } from "../agent/transaction/draft.ts";
import type { Session } from "../agent/state/session.ts";
import { keepAnswer } from "../agent/transaction/entries.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { fieldsOf } from "../chat/json.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import { canonicalJson } from "../tools/canonical.ts";
import type { Redactor } from "../tools/redaction.ts";
import type {
  Archive,
  ReadContext,
  WriteContext,
  Operation,
  ReadOperation,
  WriteOperation,
} from "./define-operation.ts";
import {
  findKeptAnswer,
  requireSameBody,
  requireUnchanged,
  needsSession,
  pathParametersOf,
} from "./define-operation.ts";
import { findOperation } from "./operations.ts";
import { accessProblem } from "./operations/session.ts";
import { ProblemError, refuse, refuseIfProblem, refuseMissingSession, refuseScope } from "./problems.ts";
import type { PerformedReply, Principal, SessionCall, SessionReply } from "./rpc.ts";

/** Defines what an operation may use of its session, over HTTP and sockets alike. */

export interface OperationContext
  extends
    Pick<WriteContext, "rules" | "full" | "forkSource" | "migrationTarget" | "stored">,
    Pick<ReadContext, "agentOf" | "items"> {
  /** Returns the session; null until it is created. */
  readonly read: () => Session | null;
  readonly archive: () => Archive;
  readonly now: () => number;
  readonly update: <T>(change: (draft: Draft) => T) => T;
  /** Removes known secrets from what a caller sends. */
  readonly redactor: Redactor;
  /** Whether the session that this call's key deleted, or made, is gone; null if the tenant's object did not answer. */
  readonly deleted: boolean | null;
  /** Removes everything except the key of the delete, and what was spent up to the end of this draft. */
  readonly remove: (key: string | null, last: Pick<Draft, "state" | "ledger">) => void;
}

/**
 * Returns the key of a command with its scope: the operation and the ids in its path, which hold no spaces. Where
 * one of several scopes is enough, what the caller may do and see depends on those that they have.
 */
const commandKeyOf = (operation: Operation, key: string, params: unknown, { scopes }: Principal): string => {
  const fields = fieldsOf(params);
  const ids = pathParametersOf(operation).map((name) => {
    const id = fields[name];
    return typeof id === "string" ? id : "";
  });
  const held = operation.scopes.length === 1 ? [] : operation.scopes.filter((each) => scopes.includes(each));
  return ids.length === 0 ? `${operation.name}:${key}` : [operation.name, ...held, ...ids, key].join(" ");
};

interface KeyedCall {
  readonly key: string;
  readonly fingerprint: string;
}

const keyedCallOf = (operation: Operation, { key, params, principal }: SessionCall): KeyedCall | null =>
  key === undefined
    ? null
    : { key: commandKeyOf(operation, key, params, principal), fingerprint: sha256Hex(canonicalJson(params)) };

/** Returns the stored answer to a repeated command; the same key with another body is refused. */
const replayAnswer = (context: OperationContext, given: KeyedCall | null): PerformedReply | null => {
  const state = context.read();
  if (given === null || state === null) return null;
  const known = findKeptAnswer(context.archive(), given.key, context.now());
  if (known === null) return null;
  requireSameBody(known, given.fingerprint);
  return { ok: true, status: known.status, json: known.json, seq: state.head, replayed: true };
};

const performWrite = (
  context: OperationContext,
  operation: WriteOperation,
  call: SessionCall,
): PerformedReply => {
  const given = keyedCallOf(operation, call);
  const replayed = replayAnswer(context, given);
  if (replayed !== null) return replayed;
  const { rules, full, forkSource, migrationTarget, stored } = context;
  const { principal, ifMatch = null } = call;
  const archive = context.archive();
  return context.update((draft): PerformedReply => {
    const remove = (): void => context.remove(call.key ?? null, draft);
    if (operation.matches === "session") requireUnchanged(ifMatch, "session", draft.state.head);
    const { status, json } = operation.run(
      { draft, archive, principal, rules, ifMatch, full, forkSource, migrationTarget, stored, remove },
      call.params,
    );
    if (given !== null) keepAnswer(draft, { ...given, status, json, at: draft.context.now });
    return { ok: true, status, json, seq: headAfter(draft), replayed: false };
  });
};

const performRead = (
  context: OperationContext,
  operation: ReadOperation,
  { principal, params }: SessionCall,
): PerformedReply => {
  const state = context.read() ?? refuseMissingSession();
  const { rules, agentOf, items } = context;
  const reads = { state, archive: context.archive(), rules, principal, now: context.now(), agentOf, items };
  return { ok: true, ...operation.run(reads, params), seq: state.head, replayed: false };
};

const requireScope = ({ scopes }: Operation, principal: Principal): void => {
  if (!scopes.some((scope) => principal.scopes.includes(scope))) refuseScope(...scopes);
};

/** Returns the answer to a repeated delete, whose key was stored with the team; a deleted session is not made again. */
const replayDelete = ({ deleted }: OperationContext, { op }: SessionCall): PerformedReply | null => {
  if (deleted === null)
    return refuse("overloaded", "this Idempotency-Key cannot be checked right now; send it again", {
      retryAfterMs: 2_000,
    });
  if (!deleted) return null;
  if (op === "delete") return { ok: true, status: 204, json: "", seq: 0, replayed: true };
  return refuse(
    "idempotency_key_reused",
    "The session that was made under this Idempotency-Key has been deleted; use a new key.",
  );
};

const performOperation = (context: OperationContext, call: SessionCall): PerformedReply => {
  const operation = findOperation(call.op);
  const { principal } = call;
  requireScope(operation, principal);
  const replayed = replayDelete(context, call);
  if (replayed !== null) return replayed;
  const state = context.read();
  if (state !== null || needsSession(operation)) refuseIfProblem(accessProblem(state, principal));
  return operation.kind === "read"
    ? performRead(context, operation, call)
    : performWrite(context, operation, call);
};

/** Turns a problem into the answer of an operation; rethrows anything else. */
export const problemReply = (
  error: unknown,
  { scopes }: Pick<Principal, "scopes">,
): Extract<SessionReply, { ok: false }> => {
  if (!(error instanceof ProblemError)) throw error;
  const { adminDetail, ...problem } = error.problem;
  const isAdmin = adminDetail !== undefined && scopes.includes("admin");
  return { ok: false, problem: isAdmin ? { ...problem, detail: adminDetail } : problem };
};

/** Performs one operation; a caller's mistake comes back as a problem, and everything else throws. */
export const perform = (context: OperationContext, given: SessionCall): SessionReply => {
  try {
    return performOperation(context, { ...given, params: context.redactor.value(given.params) });
  } catch (error) {
    return problemReply(error, given.principal);
  }
};
