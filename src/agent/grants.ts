import type { Part } from "../chat/message.ts";
import type { Agent } from "./agent.ts";
import type { Draft } from "./draft.ts";
import type { Host } from "./host.ts";
import type { Grant, Thread } from "./state.ts";

/**
 * Permissions that answers left behind (TB-8). A session holds its own; those of its tenant's agents, which hold in all
 * sessions, are the team's, and are looked up where they decide.
 */

/** How long a grant of an agent holds. */
export const grantLifeMs = 30 * 86_400_000;

/** What a session tells its team of its grants. */
export interface GrantsTold {
  readonly tenant: string;
  readonly session: string;
  readonly grants: readonly Grant[];
}

/** What it learns: grants of the tenant's agents, and ids of its own that were revoked. */
export interface GrantsKnown {
  readonly agents: readonly Grant[];
  readonly revoked: readonly string[];
}

/** What holds of a session's own grants and those it knows of its team. */
const holding = (own: readonly Grant[], known: readonly Grant[], now: number): readonly Grant[] => {
  if (own.length === 0 && known.length === 0) return own;
  const ids = new Set(own.map(({ id }) => id));
  return [...own, ...known.filter(({ id }) => !ids.has(id))].filter(
    ({ scope, at }) => scope === "session" || now < at + grantLifeMs,
  );
};

/** Every grant that holds in a session now. */
export const grantsOf = ({ state, moment }: Draft): readonly Grant[] =>
  holding(state.grants, moment.grants, moment.now);

export const grantsRevoked = (draft: Draft, ids: readonly string[]): void => {
  const grants = draft.state.grants.filter(({ id }) => !ids.includes(id));
  if (grants.length < draft.state.grants.length) draft.state = { ...draft.state, grants };
};

/** Looks at the team's grants before a person is asked for a call, or a grant is used for it: they come and go elsewhere. */
export const grantsLooked = async (
  host: Host,
  agent: Agent,
  { depth }: Thread,
  parts: readonly Part[],
): Promise<void> => {
  const calls = parts.filter((part) => part.type === "tool_call");
  if (calls.length === 0) return;
  const grants = holding(host.read().grants, host.grants.known(), host.now());
  const matters = calls.some((call) => {
    const { verdict, by } = agent.judge(call, grants, depth);
    return verdict === "ask" || by.startsWith("grant ");
  });
  if (matters) await host.grants.look();
};
