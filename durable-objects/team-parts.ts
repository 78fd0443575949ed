import type { Session } from "../src/agent/state/session.ts";
import { createSharedMemory } from "../src/engine/access/tenant/memories.ts";
import { createSharedReflections } from "../src/engine/access/tenant/reflections.ts";
import { createSharedNotes } from "../src/engine/access/tenant/notes.ts";
import type { TeamDirectory, TenantDirectory } from "../src/engine/access/rpc.ts";
import type { TenantAddress } from "../src/sandbox/jurisdiction.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Engines } from "../src/engine/engines.ts";
import type { LiveSessionParts } from "./live-session.ts";
import { requireReply } from "../src/engine/access/replies.ts";

/** Creates what a session uses of its team's and its tenant's objects. */

export interface TeamParts {
  readonly engines: () => Engines;
  readonly team: () => TeamDirectory;
  readonly tenant: (address: TenantAddress) => TenantDirectory;
}

const readDefinition = (team: TeamDirectory, revision: string): Promise<string | null> =>
  requireReply(team.definition(revision), "the definition of this session's revision cannot be read");

const pinDefinition = (tenant: TenantDirectory, revision: string, definition: string): Promise<void> =>
  requireReply(
    tenant.keepDefinition(revision, definition),
    "the definition of the session's revision cannot be kept",
  );

/** Returns the engine that runs a session: the deployed one, or that of its pinned revision, which is loaded once. */
export const engineOf = async (
  { engines, team }: Omit<TeamParts, "tenant">,
  session: Pick<Session, "revision"> | null,
): Promise<Engine> => {
  if (session === null) return engines().deployed();
  const known = engines().findLoaded(session.revision);
  if (known !== null) return known;
  const definition = await readDefinition(team(), session.revision);
  return engines().loadPinned(session.revision, definition ?? "");
};

/** Ensures that the tenant pins the definition of new sessions before one of them exists. */
export const ensureDefinition = async (
  { engines, tenant }: TeamParts,
  address: TenantAddress,
): Promise<void> => {
  const { deployed, isKept, markKept } = engines();
  if (isKept(address, Date.now())) return;
  const { revision, definition } = deployed();
  await pinDefinition(tenant(address), revision, definition);
  markKept(address, Date.now());
};

/** Keeps a definition that the team has for one more session; false if the team has none. */
export const keepDefinition = async (
  { team, tenant }: TeamParts,
  address: TenantAddress,
  revision: string,
): Promise<boolean> => {
  const definition = await readDefinition(team(), revision);
  if (definition !== null) await pinDefinition(tenant(address), revision, definition);
  return definition !== null;
};

/** Creates the services of a running session from its team and its tenant. */
export const createTeamServices = (
  { engines, tenant: find }: TeamParts,
  address: TenantAddress,
): Pick<LiveSessionParts, "notes" | "serverStore" | "reflections" | "memory" | "lease" | "sessionDays"> => {
  const own = (): TenantDirectory => find(address);
  const { tenant, jurisdiction } = address;
  return {
    notes: (owner) => createSharedNotes(own, owner),
    memory: createSharedMemory(own),
    serverStore: {
      sawServer: (sighting) => own().sawServer(sighting),
      hasNewApprovals: (check) => own().hasNewApprovals(check),
      authorizeServer: (asked) => own().authorizeServer({ ...asked, address: { tenant, jurisdiction } }),
    },
    reflections: createSharedReflections(own),
    lease: (request) => own().lease(request),
    sessionDays: () => engines().deployed().team.retention.session_days,
  };
};
