import { createRouter } from "./api/index.ts";
import type { RouterContext, RouterEnv } from "./api/index.ts";
import { missingAgent } from "./agent/agent.ts";
import type { Json } from "./chat/message.ts";
import { withDefinition } from "./config/revision.ts";
import type { Team } from "./config/team.ts";
import type { Profile } from "./providers/profile.ts";
import { createEngine } from "./engine/create.ts";
import type { Engine } from "./engine/engine.ts";
import { toolboxes } from "./toolboxes/index.ts";
import { ProviderGate } from "../durable-objects/provider-gate.ts";
import { SessionShell } from "../durable-objects/session.ts";
import type { Engines } from "../durable-objects/session.ts";
import { TeamObject } from "../durable-objects/team.ts";
import type { Toolbox } from "./tools/define-tool.ts";

/** What a team adds in `config/<team>/extensions.ts`. */
export interface Extensions {
  readonly toolboxes?: readonly Toolbox[];
  readonly providers?: readonly Profile[];
}

/** Sessions of a revision that this deployment can no longer run: their agents are missing, so their runs wait (CF-34). */
const withoutAgents = (engine: Engine, revision: string): Engine => ({
  ...engine,
  revision,
  agent: missingAgent,
});

const createEngines = (team: Team, env: unknown, extensions: Extensions): Engines => {
  const common = {
    env: env as RouterEnv,
    toolboxes: [...toolboxes, ...(extensions.toolboxes ?? [])],
    profiles: extensions.providers ?? [],
  };
  const deployed = createEngine({ ...common, team });
  const pinned = new Map<string, Engine>();
  const build = (revision: string, definition: string): Engine => {
    const found = withDefinition(team, revision, JSON.parse(definition) as Json);
    return found.ok ? createEngine({ ...common, team: found.team }) : withoutAgents(deployed, revision);
  };
  return {
    deployed: () => deployed,
    pinned: (revision, definition) => {
      const engine = pinned.get(revision) ?? build(revision, definition);
      pinned.set(revision, engine);
      return engine;
    },
  };
};

/** The Worker of a compiled team: its router, and the classes that it must export. */
export const createLimpet = (team: Team, extensions: Extensions = {}) => {
  let engines: Engines | null = null;
  const enginesOf = (env: unknown): Engines => (engines ??= createEngines(team, env, extensions));
  let router: ReturnType<typeof createRouter> | null = null;
  const routerOf = (env: RouterEnv): ReturnType<typeof createRouter> => {
    const { toolsOf, windowOf } = enginesOf(env).deployed();
    return (router ??= createRouter({ team, toolsOf, windowOf }));
  };
  return {
    router: {
      fetch: (request: Request, env: RouterEnv, ctx: RouterContext): Promise<Response> =>
        routerOf(env).fetch(request, env, ctx),
    },
    SessionObject: class SessionObject extends SessionShell {
      constructor(ctx: DurableObjectState, env: unknown) {
        super(ctx, env, enginesOf(env));
      }
    },
    TeamObject,
    ProviderGate,
  };
};
