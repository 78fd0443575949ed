import { fieldsOf } from "../src/chat/json.ts";
import { estimateCost } from "../src/agent/budgets/bounds.ts";
import { beginWithLease, findRunLeaseRequest } from "../src/agent/budgets/lease.ts";
import type { LeaseRequest } from "../src/agent/budgets/lease.ts";
import { revokeGrants } from "../src/agent/calls/grants.ts";
import type { Session } from "../src/agent/state/session.ts";
import { hasRun } from "../src/agent/state/thread.ts";
import type { Draft } from "../src/agent/transaction/draft.ts";
import type { RunAnswer, TenantDirectory } from "../src/engine/access/rpc.ts";
import type { Engine } from "../src/engine/engine.ts";
import { needsSession } from "../src/session/define-operation.ts";
import { findOperation } from "../src/session/operations.ts";
import { accessProblem } from "../src/session/operations/session.ts";
import type { SessionCall } from "../src/session/rpc.ts";
import type { Grants } from "./grants.ts";
import { withReplyTimeout } from "../src/engine/access/replies.ts";

/** Asks the tenant's object, once, for all that a run needs before a command may begin it. */

export interface RunStart {
  /** Whether the tenant has as many runs under way as it may have. */
  readonly full: boolean;
  /** Makes a command's change, whose run spends from the lease that was granted for it. */
  readonly apply: <T>(draft: Draft, change: (draft: Draft) => T) => T;
  /** Gives back what was granted unless the session, as the command leaves it, has a run. */
  readonly giveBack: (session: Session | null) => void;
}

interface RunStartParts {
  readonly tenant: Pick<TenantDirectory, "begin" | "abandon">;
  readonly grants: Pick<Grants, "learn">;
  readonly engine: Engine;
  /** `limits.runs.per_tenant` as it is deployed. */
  readonly limit: number;
  /** Session as it is, or as it is created. */
  readonly session: Session;
}

/**
 * Returns whether a command could begin a run of a session at rest, and so asks the tenant's object. A session with a run,
 * of `main` or below, keeps its place and its lease.
 */
export const mayBeginRun = ({ op, params, principal }: SessionCall, state: Session | null): boolean => {
  const operation = findOperation(op);
  if (operation.kind === "read" || operation.mayStartRun?.(fieldsOf(params)) !== true) return false;
  if (!operation.scopes.some((scope) => principal.scopes.includes(scope))) return false;
  return needsSession(operation)
    ? accessProblem(state, principal) === null && state !== null && !hasRun(state)
    : state === null;
};

/** Start for which nothing was granted, since nothing is needed yet or the tenant's object does not answer: what is missing is asked for when it is needed. */
export const emptyRunStart: RunStart = {
  full: false,
  apply: (draft, change) => change(draft),
  giveBack: () => undefined,
};

/**
 * Returns the lease that the run's first call needs, at the price of its agent's first model; null if it
 * needs none.
 */
const leaseRequestOf = (
  { engine, session }: RunStartParts,
  { op, params }: SessionCall,
): LeaseRequest | null => {
  const main = session.threads["main"];
  const { agent: asked } = fieldsOf(params);
  const name = op === "create" && typeof asked === "string" ? asked : main?.agent;
  if (main === undefined || name === undefined || !engine.rules.agentNames.includes(name)) return null;
  const agent = engine.agent(name, session);
  const [target] = agent.targets;
  if (target === undefined || agent.missing !== null) return null;
  const tokens = agent.system({ depth: 0, light: false }).tokens + main.tokens;
  return findRunLeaseRequest(session, engine.budgets.tenant, Date.now(), estimateCost(target, tokens));
};

const startOf = (
  { tenant, session }: RunStartParts,
  request: LeaseRequest | null,
  { admission, lease, grants }: Extract<RunAnswer, { admitted: true }>,
): RunStart => {
  const begin = <T>(draft: Draft, change: () => T): T =>
    request === null || lease === null ? change() : beginWithLease(draft, request, lease, change);
  return {
    full: false,
    apply: (draft, change) => {
      revokeGrants(draft, grants.revoked);
      return begin(draft, () => change(draft));
    },
    giveBack: (after) => {
      if (after !== null && hasRun(after)) return;
      const { next } = (after ?? session).funds.tenant;
      const given = lease?.ok === true && request?.id === String(next) ? request.id : null;
      void withReplyTimeout(tenant.abandon({ session: session.id, admission, lease: given }));
    },
  };
};

/** Asks to begin a run; an object that does not answer within 2 s admits it. */
export const requestRunStart = async (parts: RunStartParts, call: SessionCall): Promise<RunStart> => {
  const { tenant, grants, limit, session } = parts;
  const lease = leaseRequestOf(parts, call);
  const { id, createdAt, grants: own } = session;
  const answer = await withReplyTimeout(tenant.begin({ session: id, createdAt, limit, lease, grants: own }));
  if (answer === null) return emptyRunStart;
  if (!answer.admitted) return { ...emptyRunStart, full: true };
  // A refused command drops no grant: the next refresh reports it again.
  if (answer.grants.revoked.length === 0) grants.learn(own, answer.grants);
  return startOf(parts, lease, answer);
};
