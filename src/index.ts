import { createRouter } from "./api/index.ts";
import type { RouterContext, RouterEnv } from "./api/index.ts";
import type { Effect } from "./agent/definition/effect.ts";
import type { Guard, Middleware } from "./agent/definition/guard.ts";
import type { Team } from "./config/team.ts";
import type { Protocol } from "./protocols/protocol.ts";
import type { Profile } from "./providers/profile.ts";
import { createEngines, reportUnserved } from "./engine/engines.ts";
import type { OutputCheck } from "./engine/middleware.ts";
import type { Engines } from "./engine/engines.ts";
import { toolboxes } from "./toolboxes/index.ts";
import type { McpClient } from "./toolboxes/mcp/port.ts";
import { ProviderGate } from "../durable-objects/provider-gate.ts";
import { SessionShell } from "../durable-objects/session.ts";
import { TeamObject } from "../durable-objects/team.ts";
import { TenantShell } from "../durable-objects/tenant.ts";
import type { Toolbox } from "./tools/define-tool.ts";

/** What a team exports from `config/<team>/extensions.ts`. */
export interface Extensions {
  readonly toolboxes?: readonly Toolbox[];
  readonly providers?: readonly Profile[];
  readonly protocols?: readonly Protocol[];
  readonly guards?: readonly Guard[];
  readonly effects?: readonly Effect[];
  readonly middleware?: readonly Middleware[];
  readonly checks?: readonly OutputCheck[];
}

/** Creates the Worker of a compiled team: its router, and the classes that it must export. `mcp` speaks to its MCP servers. */
export const createLimpet = (team: Team, extensions: Extensions = {}, mcp: McpClient | null = null) => {
  let engines: Engines | null = null;
  const start = (env: unknown): Engines => {
    const started = createEngines({
      team,
      env: env as RouterEnv,
      toolboxes: [...toolboxes, ...(extensions.toolboxes ?? [])],
      profiles: extensions.providers ?? [],
      protocols: extensions.protocols ?? [],
      guards: extensions.guards ?? [],
      effects: extensions.effects ?? [],
      middleware: extensions.middleware ?? [],
      checks: extensions.checks ?? [],
      mcp,
    });
    reportUnserved(started.deployed());
    return started;
  };
  const enginesOf = (env: unknown): Engines => (engines ??= start(env));
  let router: ReturnType<typeof createRouter> | null = null;
  const routerOf = (env: RouterEnv): ReturnType<typeof createRouter> => {
    const engine = enginesOf(env).deployed();
    return (router ??= createRouter(engine));
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
    TenantObject: class TenantObject extends TenantShell {
      constructor(ctx: DurableObjectState, env: unknown) {
        super(ctx, env, () => enginesOf(env));
      }
    },
    ProviderGate,
  };
};
