import type { Draft, TeamRules, TransactionContext } from "../src/agent/transaction/draft.ts";
import type { Host } from "../src/driver/host.ts";
import { randomBits } from "../src/engine/access/names.ts";
import type { LiveSessionParts } from "./live-session.ts";
import { runProblemOf } from "../src/session/problems.ts";
import { childReaderOf } from "./rows/children.ts";
import { readStoredInput } from "./rows/encode.ts";
import type { Episodes } from "./rows/episodes.ts";

/** Returns what an engine says to transitions and to the work between them alike. */
export const teamRulesOf = ({ storeRules, briefing, budgets }: TeamRules): TeamRules => ({
  storeRules,
  briefing,
  budgets,
});

/** Returns stored bytes as base64. */
type MediaReader = (blob: string) => string;

/** Creates what transitions know of the world, from the draft that they work on. */
export const createTransactionContexts = (
  {
    engine,
    items,
    gates,
    grants,
    migration,
    now,
  }: Pick<LiveSessionParts, "engine" | "items" | "gates" | "grants" | "migration" | "now">,
  epoch: number,
  { media, entries, episodes }: Pick<Host, "media" | "entries"> & { readonly episodes: Episodes },
  sql: SqlStorage,
) => {
  const children = childReaderOf(sql);
  /** Reads the bytes of a blob, including one that this transition is about to store. */
  const mediaOf =
    (draft: Draft): MediaReader =>
    (id) =>
      draft.blobs.find((blob) => blob.id === id)?.text ?? media(id);
  return (draft: () => Draft): TransactionContext => ({
    now: now(),
    epoch,
    random: randomBits,
    fraction: Math.random,
    shown: items.find,
    estimate: (parts) => engine.estimate(parts, mediaOf(draft())),
    agents: ({ agent, child }, model) => {
      const { state } = draft();
      const session = model === undefined ? state : { ...state, model, modelScope: "tree" as const };
      return engine.agent(agent, session, child?.callerConstraints);
    },
    health: gates.health,
    maxRunningThreads: engine.team.sessions.max_running_threads,
    revision: engine.revision,
    follows: migration.follows,
    grants: grants.known(),
    children,
    input: (id) => readStoredInput(sql, id),
    episodes: episodes.newest,
    entries,
    ...teamRulesOf(engine),
    problemOf: runProblemOf,
  });
};
