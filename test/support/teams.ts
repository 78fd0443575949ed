import type { Effect } from "../../src/agent/definition/effect.ts";
import type { Guard, Middleware } from "../../src/agent/definition/guard.ts";
import { compileTeam } from "../../src/config/build/compile.ts";
import type { Team } from "../../src/config/team.ts";
import { createEngine } from "../../src/engine/create.ts";
import type { EngineOptions } from "../../src/engine/create.ts";
import type { Bindings } from "../../src/engine/secrets/secrets.ts";
import type { OutputCheck } from "../../src/engine/middleware.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { Protocol } from "../../src/protocols/protocol.ts";
import type { Profile } from "../../src/providers/profile.ts";
import { toolboxes } from "../../src/toolboxes/index.ts";
import { mcp } from "../../src/toolboxes/mcp/index.ts";
import type { Toolbox } from "../../src/tools/define-tool.ts";

export interface TeamExtras {
  readonly toolboxes?: readonly Toolbox[];
  /** Provider kinds of the extensions. */
  readonly profiles?: readonly Profile[];
  /** Protocols of the extensions. */
  readonly protocols?: readonly Protocol[];
  /** Effects of the extensions. */
  readonly effects?: readonly Effect[];
  /** Guards of the extensions. */
  readonly guards?: readonly Guard[];
  /** Checks of the extensions. */
  readonly checks?: readonly OutputCheck[];
  readonly middleware?: readonly Middleware[];
  /** Further files of the team's folder, like `skills/x/SKILL.md`. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Teams that were compiled before: cuts at every write begin with the same team a hundred times. */
const compiled = new Map<string, Team>();

const numbers = new WeakMap<object, number>();
let count = 0;

/** Numbers a definition that brings parameters of its own. */
const numberOf = (definition: object): number => {
  const number = numbers.get(definition) ?? (count += 1);
  numbers.set(definition, number);
  return number;
};

/** What a team's data follow from; the schema of a tool stands for its parameters. */
const keyOf = (yaml: string, { files, toolboxes: extra = [], ...others }: TeamExtras): string => {
  const { profiles, protocols, effects, guards, checks, middleware } = others;
  const boxes = extra.map((box) => ({ ...box, tools: box.tools.map((tool) => ({ ...tool, params: null })) }));
  const more = [profiles, protocols, effects, guards, checks, middleware].map((each) => each?.map(numberOf));
  return JSON.stringify([yaml, files, boxes, more]);
};

/** Compiles a team from YAML; a diagnostic that is an error fails the test. */
export const teamOf = async (yaml: string, extras: TeamExtras = {}): Promise<Team> => {
  const key = keyOf(yaml, extras);
  const team = compiled.get(key) ?? compile(yaml, extras);
  compiled.set(key, team);
  return team;
};

const compile = (
  yaml: string,
  {
    toolboxes: extra = [],
    profiles = [],
    protocols = [],
    effects = [],
    guards = [],
    checks = [],
    middleware = [],
    files = {},
  }: TeamExtras,
): Team => {
  const { team, diagnostics } = compileTeam(new Map([["team.yaml", yaml], ...Object.entries(files)]), {
    name: "test",
    isServed: true,
    extensions: {
      exports: { toolboxes: extra, providers: profiles, protocols, effects, guards, checks, middleware },
    },
  });
  if (team === null) throw new Error(JSON.stringify(diagnostics, null, 1));
  return team;
};

/** The bench has no workspace: who really works in one brings a binding. */
const unreachable = {
  fetch: async () =>
    Response.json({ error: "there is no sandbox here", code: "unsupported" }, { status: 501 }),
};

export interface EngineExtras extends TeamExtras {
  readonly env?: Bindings;
  readonly now?: () => number;
  readonly fetch?: typeof globalThis.fetch;
}

/** What an engine of this team is built from, with the built-in toolboxes and a test's own. */
export const engineOptions = (team: Team, extras: EngineExtras = {}): EngineOptions => ({
  team,
  env: extras.env ?? { SANDBOX: unreachable },
  toolboxes: [...toolboxes, ...(extras.toolboxes ?? [])],
  profiles: extras.profiles ?? [],
  protocols: extras.protocols ?? [],
  effects: extras.effects ?? [],
  guards: extras.guards ?? [],
  checks: extras.checks ?? [],
  middleware: extras.middleware ?? [],
  mcp,
  ...(extras.now === undefined ? {} : { now: extras.now }),
  ...(extras.fetch === undefined ? {} : { fetch: extras.fetch }),
});

/** An engine from YAML. */
export const engineOf = async (yaml: string, extras: EngineExtras = {}): Promise<Engine> =>
  createEngine(engineOptions(await teamOf(yaml, extras), extras));
