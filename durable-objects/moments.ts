import type { Draft, Moment } from "../src/agent/transaction/draft.ts";
import type { Host } from "../src/driver/host.ts";
import { randomBits } from "../src/engine/access/names.ts";
import { childrenOf } from "./rows/children.ts";
import type { LiveParts } from "./live.ts";
import { inputOf } from "./rows/encode.ts";

/** Base64 of stored bytes. */
type Media = (blob: string) => string;

/** What transitions know of the world, from the draft that they work on. */
export const momentsOf = (
  { engine, items, gates, grants, now }: Pick<LiveParts, "engine" | "items" | "gates" | "grants" | "now">,
  epoch: number,
  { media, entries }: Pick<Host, "media" | "entries">,
  sql: SqlStorage,
) => {
  const children = childrenOf(sql);
  /** Bytes of a blob, also one that this transition is about to store. */
  const mediaOf =
    (draft: Draft): Media =>
    (id) =>
      draft.blobs.find((blob) => blob.id === id)?.text ?? media(id);
  return (draft: () => Draft): Moment => ({
    now: now(),
    epoch,
    random: randomBits,
    fraction: Math.random,
    shown: items.shown,
    estimate: (parts) => engine.estimate(parts, mediaOf(draft())),
    agents: ({ agent, child }, model) => {
      const { state } = draft();
      const session = model === undefined ? state : { ...state, model, modelScope: "tree" as const };
      return engine.agent(agent, session, child?.standing);
    },
    health: gates.health,
    maxRunningThreads: engine.team.sessions.max_running_threads,
    grants: grants.known(),
    children,
    input: (id) => inputOf(sql, id),
    entries,
    storeRules: engine.storeRules,
    briefing: engine.briefing,
    budgets: engine.budgets,
  });
};
