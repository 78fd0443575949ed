import { createRouter } from "./api/index.ts";
import type { RouterContext, RouterEnv } from "./api/index.ts";
import type { Team } from "./config/team.ts";
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
}

/** The Worker of a compiled team: its router, and the classes that it must export. */
export const createLimpet = (team: Team, extensions: Extensions = {}) => {
  const boxes = [...toolboxes, ...(extensions.toolboxes ?? [])];
  let deployed: Engine | null = null;
  const pinned = new Map<string, Engine>();
  const engineOf = (env: unknown): Engine =>
    (deployed ??= createEngine({ team, env: env as RouterEnv, toolboxes: boxes }));
  /** A pinned definition runs with the connections of the deployed team (CF-32). */
  const pinnedEngine = (env: unknown, revision: string, definition: string): Engine => {
    const known = pinned.get(revision);
    if (known !== undefined) return known;
    const stored = JSON.parse(definition) as Team;
    const engine = createEngine({
      team: withConnections(stored, team),
      env: env as RouterEnv,
      toolboxes: boxes,
    });
    pinned.set(revision, engine);
    return engine;
  };
  const enginesOf = (env: unknown): Engines => ({
    deployed: () => engineOf(env),
    pinned: (revision, definition) => pinnedEngine(env, revision, definition),
  });
  let router: ReturnType<typeof createRouter> | null = null;
  return {
    router: {
      fetch: (request: Request, env: RouterEnv, ctx: RouterContext): Promise<Response> => {
        router ??= createRouter({
          team,
          toolsOf: (name) => engineOf(env).toolsOf(name),
          windowOf: (name, model) => engineOf(env).windowOf(name, model),
        });
        return router.fetch(request, env, ctx);
      },
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

const connections = ["base_url", "api_key", "headers", "rate_limit", "retry", "timeouts"] as const;

const withConnections = (stored: Team, deployed: Team): Team => ({
  ...deployed,
  ...stored,
  access: deployed.access,
  sessions: deployed.sessions,
  limits: deployed.limits,
  budgets: deployed.budgets,
  egress: deployed.egress,
  sandbox: deployed.sandbox,
  providers: stored.providers.map((provider) => {
    const now = deployed.providers.find(({ name }) => name === provider.name);
    return now === undefined
      ? provider
      : { ...provider, ...Object.fromEntries(connections.map((key) => [key, now[key]])) };
  }),
});
