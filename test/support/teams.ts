import { compileTeam } from "../../src/config/compile.ts";
import type { Team } from "../../src/config/team.ts";
import { createEngine } from "../../src/engine/create.ts";
import type { Bindings } from "../../src/engine/create.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { toolboxes } from "../../src/toolboxes/index.ts";
import type { Toolbox } from "../../src/tools/define-tool.ts";

/** Compiles a team from YAML; a diagnostic fails the test. */
export const teamOf = async (yaml: string, extra: readonly Toolbox[] = []): Promise<Team> => {
  const { team, diagnostics } = await compileTeam(new Map([["team.yaml", yaml]]), { name: "test", extensions: { exports: { toolboxes: extra } } });
  if (team === null) throw new Error(JSON.stringify(diagnostics, null, 1));
  return team;
};

export interface EngineExtras {
  readonly toolboxes?: readonly Toolbox[];
  readonly env?: Bindings;
  readonly now?: () => number;
}

/** An engine from YAML, with the built-in toolboxes and a test's own. */
export const engineOf = async (yaml: string, extras: EngineExtras = {}): Promise<Engine> =>
  createEngine({
    team: await teamOf(yaml, extras.toolboxes),
    env: extras.env ?? {},
    toolboxes: [...toolboxes, ...(extras.toolboxes ?? [])],
    ...(extras.now === undefined ? {} : { now: extras.now }),
  });
