import { lineageOf } from "../budgets/bounds.ts";
import type { Agent, CallPlace } from "../definition/agent.ts";
import type { CallPlan } from "../state/call.ts";
import type { Grant, Session } from "../state/session.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, runOf, selectCaller } from "../transaction/draft.ts";

/** Returns where a thread's calls run. Foreign content that reached a run also reaches the agents that it calls. */
const placeOf = (session: Session, threadId: string): CallPlace => ({
  depth: session.threads[threadId]?.depth ?? 0,
  untrusted: lineageOf(session, threadId).some(({ run }) => run?.counters.untrusted === true),
  page: session.page?.url ?? null,
});

/** Passes the foreign content that a called agent's run read to its caller. */
export const passForeignContent = (draft: ThreadDraft): void => {
  if (!runOf(draft).counters.untrusted) return;
  const caller = selectCaller(draft)?.thread.run ?? null;
  if (caller !== null) caller.counters.untrusted = true;
};

/**
 * Grants are permissions that answers left behind. A session holds its own. Those of its tenant's agents,
 * which hold in all sessions, belong to the tenant and are looked up where they decide.
 */

/** Milliseconds that a grant of an agent holds. */
export const grantLifeMs = 30 * 86_400_000;

/** Report of a session's grants to its tenant's object. */
export interface GrantsReport {
  readonly session: string;
  /** When that session was created, which tells it from an earlier one of its name. */
  readonly createdAt: number;
  readonly grants: readonly Grant[];
}

/** Grants of the tenant's agents, and ids of the session's own grants that were revoked. */
export interface GrantsUpdate {
  readonly agents: readonly Grant[];
  readonly revoked: readonly string[];
}

/** Returns a session's own grants and those it knows of its tenant, without expired ones. */
const validGrants = (own: readonly Grant[], known: readonly Grant[], now: number): readonly Grant[] => {
  if (own.length === 0 && known.length === 0) return own;
  const ids = new Set(own.map(({ id }) => id));
  return [...own, ...known.filter(({ id }) => !ids.has(id))].filter(
    ({ scope, at }) => scope === "session" || now < at + grantLifeMs,
  );
};

/** Decides what an agent's rules and the grants that are valid now say of a call; `page` replaces the open page. */
type CallJudge = (call: Parameters<Agent["judge"]>[0], page?: string | null) => CallPlan;

/** Creates the judge of the calls of a thread; `grants` are those that the session knows of its tenant. */
export const createThreadJudge = (
  session: Session,
  threadId: string,
  { judge }: Pick<Agent, "judge">,
  { grants, now }: { readonly grants: readonly Grant[]; readonly now: number },
): CallJudge => {
  const valid = validGrants(session.grants, grants, now);
  const place = placeOf(session, threadId);
  return (call, page = place.page) => judge(call, valid, { ...place, page });
};

/** Creates the judge of the calls of a thread as the draft leaves it. */
export const createDraftJudge = (draft: ThreadDraft): CallJudge =>
  createThreadJudge(draft.state, draft.thread.id, agentOf(draft), draft.context);

export const revokeGrants = (draft: Draft, ids: readonly string[]): void => {
  const grants = draft.state.grants.filter(({ id }) => !ids.includes(id));
  if (grants.length < draft.state.grants.length) draft.state.grants = grants;
};
