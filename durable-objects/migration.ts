import { dueMigration, migrateBeforeRun } from "../src/agent/run/migrate.ts";
import type { FoundTarget, MigrationTarget } from "../src/agent/run/migrate.ts";
import type { Session } from "../src/agent/state/session.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { LiveSession } from "./live-session.ts";
import { engineOf, ensureDefinition, keepDefinition } from "./team-parts.ts";
import type { TeamParts } from "./team-parts.ts";
import { withReplyTimeout } from "../src/engine/access/replies.ts";

/** Finds the revision to which a session migrates, and has its definition kept before a session pins it. */

/** Returns what a session would have at an engine's revision: its agents, and the models that it may choose. */
export const migrationTargetOf = ({ rules, agent }: Engine, session: Session): MigrationTarget => ({
  revision: rules.revision,
  agentNames: rules.agentNames,
  agent: (name) => agent(name, { ...session, model: null }),
  allowsModel: (model, name) => rules.modelProblem(model, name) === null,
});

/** Returns the target of a migration; null if no such revision is kept, or if this deployment cannot run it. */
export const findMigrationTarget = async (
  parts: TeamParts,
  address: TenantAddress,
  session: Session,
  to: string | undefined,
): Promise<MigrationTarget | null> => {
  const deployed = parts.engines().deployed();
  const revision = to ?? deployed.revision;
  if (revision === deployed.revision) await ensureDefinition(parts, address);
  else if (!(await keepDefinition(parts, address, revision))) return null;
  const engine = await engineOf(parts, { revision });
  return engine.rules.revision === revision ? migrationTargetOf(engine, session) : null;
};

/** Returns the revision to which the sessions of a team migrate before their next run; null if each keeps its own. */
export const findFollowedRevision = ({ team, revision }: Engine): string | null =>
  team.sessions.revision === "follow" ? revision : null;

/** Finds the target for a session that is about to start a run and waits at most 2 s for it. */
export const findTargetInTime = async (
  parts: TeamParts,
  session: Session,
  to: string,
): Promise<FoundTarget> => {
  const found = findMigrationTarget(parts, session, session, to).then((target) => target ?? "gone");
  return (await withReplyTimeout<FoundTarget>(found)) ?? "unknown";
};

/** Migrates a session at rest to the revision that its next run is to have, or lets it stay and say why. */
export const migrateAtRest = async (
  { read, update }: Pick<LiveSession, "read" | "update">,
  follows: string | null,
  find: (session: Session, to: string) => Promise<FoundTarget>,
): Promise<void> => {
  const due = dueMigration(read(), follows);
  if (due === null) return;
  const found = await find(read(), due.to);
  update((draft) => migrateBeforeRun(draft, due.to, found));
};
