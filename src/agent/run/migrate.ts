import { ownEntry } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { Agent } from "../definition/agent.ts";
import type { NextMigration, Session } from "../state/session.ts";
import { hasRun } from "../state/thread.ts";
import type { Draft, DraftThread, ThreadDraft } from "../transaction/draft.ts";
import { assign, emit, recordEffects, selectThread } from "../transaction/draft.ts";

/** Migrates a session to another revision of its team's definition, in one commit. */

export interface MigrationTarget {
  readonly revision: string;
  readonly agentNames: readonly string[];
  readonly agent: (name: string) => Pick<Agent, "effects" | "guards" | "prefix">;
  /** Returns whether a session of an agent may choose a model. */
  readonly allowsModel: (model: string, agent: string) => boolean;
}

/** Names of agents in the new revision by those in the old one; others keep their names. */
type AgentNames = Readonly<Record<string, string>>;

const newNameOf = (agents: AgentNames, name: string): string => ownEntry(agents, name) ?? name;

/** Lists the agents of a session's threads that are not in the target. */
export const findMissingAgents = (
  { agent, threads }: Pick<Session, "agent" | "threads">,
  { agentNames }: MigrationTarget,
  agents: AgentNames,
): readonly string[] =>
  [...new Set([agent, ...Object.values(threads).map((thread) => thread.agent)])]
    .map((name) => newNameOf(agents, name))
    .filter((name) => !agentNames.includes(name));

type States = Readonly<Record<string, Json>>;

const keep = (states: States, keys: readonly string[]): States =>
  Object.fromEntries(Object.entries(states).filter(([key]) => keys.includes(key)));

const droppedOf = (before: States, after: States): readonly string[] =>
  Object.keys(before).filter((key) => !(key in after));

/** Gives the agents above a called one their names in the target. */
const renameCallers = (thread: DraftThread, agents: AgentNames): void => {
  const { child } = thread;
  if (child === null) return;
  const chain = child.callerConstraints.chain.map((name) => newNameOf(agents, name));
  thread.child = { ...child, callerConstraints: { ...child.callerConstraints, chain } };
};

/** Gives a thread its agent of the target; removes the state of effects and guards that this agent lacks. */
const migrateThread = (draft: ThreadDraft, target: MigrationTarget, agents: AgentNames): readonly Json[] => {
  const { thread } = draft;
  const agent = newNameOf(agents, thread.agent);
  const { effects: bound, guards: watching } = target.agent(agent);
  const effects = keep(
    thread.effects,
    [...bound.before, ...bound.after].map(({ key }) => key),
  );
  const guards = keep(
    thread.guards,
    watching.map(({ guard }) => guard.kind),
  );
  const droppedKeys = [...droppedOf(thread.effects, effects), ...droppedOf(thread.guards, guards)];
  const renamed = agent === thread.agent ? [] : [{ thread: thread.id, from: thread.agent, to: agent }];
  const forgotten = droppedKeys.length === 0 ? [] : [{ thread: thread.id, dropped_state: droppedKeys }];
  if (droppedKeys.length > 0) recordEffects(draft, effects);
  assign(thread, { agent, effects, guards });
  renameCallers(thread, agents);
  return [...renamed, ...forgotten];
};

/** Migrates the session to the target; returns what changed beside the revision. */
export const migrateSession = (
  draft: Draft,
  target: MigrationTarget,
  agents: AgentNames,
): readonly Json[] => {
  const { state } = draft;
  const { revision: from, model, modelScope } = state;
  const name = newNameOf(agents, state.agent);
  const isModelLost = model !== null && !target.allowsModel(model, name);
  const main = selectThread(draft, "main");
  if (isModelLost) emit(main, "model_changed", { from: model, to: null, scope: modelScope });
  // The event stands before those of the changes; it holds this list, which is filled below.
  const changes: Json[] = [];
  emit(main, "session_migrated", { from, to: target.revision, changes });
  for (const id of Object.keys(state.threads))
    changes.push(...migrateThread(selectThread(draft, id), target, agents));
  if (isModelLost) changes.push({ model: { from: model, to: null } });
  assign(state, {
    agent: name,
    prefix: target.agent(name).prefix,
    revision: target.revision,
    model: isModelLost ? null : model,
    migration: null,
    updatedAt: draft.context.now,
  });
  return changes;
};

/** Returns the revision to which a session at rest migrates before its next run; null if it stays. */
export const dueMigration = (session: Session, follows: string | null): NextMigration | null => {
  const { revision, migration, keepRevisionForRun, nextRun } = session;
  const wanted = migration ?? (follows === null ? null : { to: follows, agents: {} });
  if (wanted === null || hasRun(session) || keepRevisionForRun === nextRun) return null;
  return wanted.to === revision && Object.keys(wanted.agents).length === 0 ? null : wanted;
};

/** Returns whether no run may start yet: the session has to go over first, or just did and needs its new agents. */
export const mustMigrateFirst = ({ state, context }: Draft): boolean =>
  !hasRun(state) && (state.revision !== context.revision || dueMigration(state, context.follows) !== null);

/** Target of a migration; `gone` if it is not kept or cannot run here, `unknown` if that could not be found out. */
export type FoundTarget = MigrationTarget | "gone" | "unknown";

/** Starts the next run at the session's revision; an event says why. Only what may change is tried again. */
const stayForNextRun = (draft: Draft, code: string, why: string, retryable: boolean): void => {
  draft.state.keepRevisionForRun = draft.state.nextRun;
  if (!retryable) draft.state.migration = null;
  const message = `The session stays at its revision: ${why}.`;
  emit(selectThread(draft, "main"), "error", { code, message, retryable });
};

/** Migrates the session before its next run if it still has to; if it cannot, it stays and says why. */
export const migrateBeforeRun = (draft: Draft, to: string, found: FoundTarget): void => {
  const wanted = dueMigration(draft.state, draft.context.follows);
  if (wanted?.to !== to) return;
  if (found === "unknown")
    return stayForNextRun(draft, "overloaded", `the definition of ${to} cannot be read now`, true);
  if (found === "gone")
    return stayForNextRun(draft, "revision_conflict", `${to} is not kept or cannot run here`, false);
  const missing = findMissingAgents(draft.state, found, wanted.agents);
  if (missing.length === 0) return void migrateSession(draft, found, wanted.agents);
  stayForNextRun(draft, "revision_conflict", `${to} has no agent ${missing.join(", ")}`, false);
};
