import { missingAgent } from "../agent/definition/agent.ts";
import type { Json } from "../chat/message.ts";
import { ceilingOver, reportUnreadable, withDefinition } from "../config/revision.ts";
import type { Pinned } from "../config/revision.ts";
import type { Team } from "../config/team.ts";
import type { TenantAddress } from "../sandbox/jurisdiction.ts";
import { createWaitingAgent } from "./agents.ts";
import { definitionKeepMs } from "./access/tenant/pins.ts";
import { createEngine } from "./create.ts";
import type { EngineOptions } from "./create.ts";
import type { Engine } from "./engine.ts";
import type { OwnMiddleware } from "./middleware.ts";
import { createOwnHosts } from "./secrets/own-hosts.ts";

/** Engine of the deployed team, and those of the revisions that existing sessions pin. */
export interface Engines {
  readonly deployed: () => Engine;
  /** Returns the engine of a revision whose definition is already loaded, or null. */
  readonly findLoaded: (revision: string) => Engine | null;
  /** Loads the engine of a revision; `definition` is what the session's creation stored. */
  readonly loadPinned: (revision: string, definition: string) => Engine;
  /** Returns whether this isolate is certain that a tenant pins the deployed definition. */
  readonly isKept: (tenant: TenantAddress, now: number) => boolean;
  readonly markKept: (tenant: TenantAddress, now: number) => void;
  /** Records a host at which the operator called this deployment, so that its agents do not call it. */
  readonly learnHost: (host: string) => void;
}

/**
 * Creates the engine for sessions of a revision that this deployment cannot run: their agents are missing, so their
 * runs wait.
 */
const createUnavailableEngine = (
  engine: Engine,
  revision: string,
  { missing, waiting }: Extract<Pinned, { ok: false }>,
  own: OwnMiddleware,
): Engine => {
  const lacks = missing.join(", ");
  return {
    ...engine,
    revision,
    agent: (name, _, callerConstraints = null) => {
      const agent = waiting?.agents.find((each) => each.name === name);
      if (agent === undefined) return missingAgent(name, lacks);
      return createWaitingAgent({ ...engine.team, ...waiting }, own, { agent, callerConstraints }, lacks);
    },
  };
};

/** Returns a stored definition as a team with the deployed connections, or what is missing. */
const teamOf = (deployed: Team, revision: string, definition: string): Pinned => {
  try {
    return withDefinition(deployed, revision, JSON.parse(definition) as Json);
  } catch {
    return reportUnreadable(revision);
  }
};

/** Logs at the start what a deployment lacks; everything else works without it. */
export const reportUnserved = ({ unserved, logLine }: Engine): void => {
  const at = new Date().toISOString();
  for (const each of unserved)
    console.warn(logLine({ at, level: "warn", msg: "toolbox_unavailable", ...each }));
};

/** Number of tenants whose pins an isolate remembers. */
const mostTenants = 1_000;

const nameOf = ({ tenant, jurisdiction }: TenantAddress): string => `${jurisdiction ?? ""}/${tenant}`;

/** Builds each engine once: pinned definitions run with the deployed team's connections and code. */
export const createEngines = (given: EngineOptions): Engines => {
  const ownHosts = createOwnHosts(given.team.access.hosts);
  const options = { ...given, ownHosts };
  const deployed = createEngine(options);
  const keptAt = new Map<string, number>();
  const known = new Map<string, Engine>();
  const build = (revision: string, definition: string): Engine => {
    const found = teamOf(options.team, revision, definition);
    const { middleware = [], checks = [] } = options;
    if (!found.ok) return createUnavailableEngine(deployed, revision, found, { middleware, checks });
    const { team } = found;
    return createEngine({ ...options, team, ceiling: ceilingOver(options.team, team) });
  };
  return {
    deployed: () => deployed,
    findLoaded: (revision) => (revision === deployed.revision ? deployed : (known.get(revision) ?? null)),
    loadPinned: (revision, definition) => {
      const engine = known.get(revision) ?? build(revision, definition);
      known.set(revision, engine);
      return engine;
    },
    isKept: (tenant, now) => now - (keptAt.get(nameOf(tenant)) ?? -Infinity) < definitionKeepMs / 2,
    markKept: (tenant, now) => {
      const [oldest] = keptAt.keys();
      if (keptAt.size >= mostTenants && oldest !== undefined) keptAt.delete(oldest);
      keptAt.set(nameOf(tenant), now);
    },
    learnHost: ownHosts.learn,
  };
};
