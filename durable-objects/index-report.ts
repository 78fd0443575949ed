import { statusOf } from "../src/agent/runs.ts";
import type { SessionSummary, TeamRpc } from "../src/agent/rpc.ts";
import type { Session } from "../src/agent/state.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Clock } from "./clock.ts";

/** Keeps the team's index of sessions at most a few seconds behind (AP-5): one call for many commits. */
export interface IndexReport {
  /** Something was committed. */
  readonly touched: () => void;
  /** Reports if it is time; throws if the team's object could not be told, so that the alarm runs again. */
  readonly flush: (session: Session) => Promise<void>;
  readonly removed: (session: Session) => Promise<void>;
}

const delay = 2_000;

const summaryOf = (session: Session): SessionSummary => ({
  id: session.id,
  tenant: session.tenant,
  ref: session.ref,
  agent: session.agent,
  title: session.title,
  metadata: session.metadata,
  status: statusOf(session),
  revision: session.revision,
  head_seq: session.head,
  created_at: session.createdAt,
  updated_at: session.updatedAt,
});

/** `told` is what an earlier isolate may have said: unknown, so a waking session reports once. */
export const createIndexReport = (
  team: () => TeamRpc,
  engine: () => Engine,
  clock: Clock,
  now: () => number,
): IndexReport => {
  let due: number | null = null;
  let said: string | null = null;
  return {
    touched: () => {
      due ??= now() + delay;
      clock.also(due);
    },
    flush: async (session) => {
      if (due !== null && now() < due) return;
      const summary = summaryOf(session);
      const news = JSON.stringify({ ...summary, head_seq: 0, updated_at: 0 });
      due = null;
      clock.also(null);
      if (news === said) return;
      const { revision, definition } = engine();
      await team().index(
        summary,
        said === null && session.revision === revision ? { revision, json: definition } : undefined,
      );
      said = news;
    },
    removed: (session) => {
      due = null;
      said = null;
      return team().index({ ...summaryOf(session), status: "deleted" });
    },
  };
};
