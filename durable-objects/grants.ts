import { revokeGrants } from "../src/agent/calls/grants.ts";
import type { GrantsUpdate } from "../src/agent/calls/grants.ts";
import type { TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { TenantDirectory } from "../src/engine/access/rpc.ts";
import type { Grant, Session } from "../src/agent/state/session.ts";
import { hasRun } from "../src/agent/state/thread.ts";
import type { LiveSession } from "./live-session.ts";
import { withReplyTimeout } from "../src/engine/access/replies.ts";
import { isRecent } from "./waits.ts";

/** What a session knows of its tenant's grants; an answer that takes over 2 s counts as none. */
export interface Grants {
  readonly known: () => readonly Grant[];
  /** Reports the session's own grants and reads the others, at most every 30 s; returns the ids of revoked ones. */
  readonly refresh: (session: Session) => Promise<readonly string[]>;
  /** Takes what the tenant's object said of these grants, which were reported to it. */
  readonly learn: (reported: readonly Grant[], update: GrantsUpdate) => void;
}

const grantsMaxAgeMs = 30_000;

const idsOf = (grants: readonly Grant[]): string => grants.map(({ id }) => id).join(" ");

export const createGrants = (
  tenant: (address: TenantAddress) => Pick<TenantDirectory, "grants">,
  now: () => number,
): Grants => {
  let known: GrantsUpdate["agents"] = [];
  let last: { readonly at: number; readonly grants: string } | null = null;
  const learn: Grants["learn"] = (reported, { agents }) => {
    known = agents;
    last = { at: now(), grants: idsOf(reported) };
  };
  return {
    known: () => known,
    learn,
    refresh: async (session) => {
      const { id, createdAt, grants } = session;
      if (last !== null && last.grants === idsOf(grants) && isRecent(last.at, now(), grantsMaxAgeMs))
        return [];
      const answer = await withReplyTimeout(tenant(session).grants({ session: id, createdAt, grants }));
      if (answer === null) return [];
      learn(grants, answer);
      return answer.revoked;
    },
  };
};

/** Wraps a session's updates: reports a grant as soon as one is made or lost, and drops revoked ones. */
export const createGrantReporter = (
  grants: Pick<Grants, "refresh">,
  session: Pick<LiveSession, "read" | "update">,
  failed: (error: unknown) => void,
): Pick<LiveSession, "update"> & { readonly refresh: () => Promise<void> } => {
  const refresh = async (): Promise<void> => {
    const revoked = await grants.refresh(session.read());
    if (revoked.length > 0) session.update((draft) => revokeGrants(draft, revoked));
  };
  const state = session.read();
  if (state.grants.length > 0 && hasRun(state)) void refresh().catch(failed);
  return {
    refresh,
    update: (change) => {
      const before = session.read().grants;
      const result = session.update(change);
      if (session.read().grants !== before) void refresh().catch(failed);
      return result;
    },
  };
};
