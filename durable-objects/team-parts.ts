import type { Session } from "../src/agent/state.ts";
import { reflectionsAt } from "../src/engine/access/reflections.ts";
import { notesAt } from "../src/engine/access/notes.ts";
import type { TeamDirectory } from "../src/engine/access/rpc.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Engines } from "../src/engine/engines.ts";
import { createGrants } from "./grants.ts";
import type { LiveParts } from "./live.ts";

/** What a session needs of its team's object. */

interface TeamParts {
  readonly engines: () => Engines;
  readonly team: () => TeamDirectory;
}

/** The engine that runs a session: the deployed one, or that of the revision it pins. */
export const engineOf = async ({ engines, team }: TeamParts, session: Session | null): Promise<Engine> => {
  const deployed = engines().deployed();
  if (session === null || session.revision === deployed.revision) return deployed;
  const definition = await team().definition(session.revision);
  return engines().pinned(session.revision, definition ?? "");
};

/** The definition that new sessions pin is with the team before one of them exists (CF-33). */
export const definitionKept = async ({ engines, team }: TeamParts): Promise<void> => {
  const { deployed, isKept, kept } = engines();
  if (isKept(Date.now())) return;
  const { revision, definition } = deployed();
  await team().keepDefinition(revision, definition);
  kept(Date.now());
};

/** What a session uses of its team while it runs. */
export const ofTeam = ({
  team,
}: TeamParts): Pick<LiveParts, "notes" | "reflections" | "lease" | "grants"> => ({
  notes: (owner) => notesAt(team(), owner),
  reflections: (tenant) => reflectionsAt(team, tenant),
  lease: (request) => team().lease(request),
  grants: createGrants(team, Date.now),
});
