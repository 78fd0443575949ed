import { resolve } from "node:path";
import { compileTeam } from "../../src/config/build/compile.ts";
import { formatDiagnostic } from "../../src/config/document/diagnostics.ts";
import { readTeamFiles } from "../../src/config/build/files.ts";
import type { Team } from "../../src/config/team.ts";

/** The teams under `config/`, as a reader of the repository has them. */

const root = resolve(import.meta.dirname, "../..");

/** The teams that come with the project; others are their owner's. */
export const shippedTeams: readonly string[] = ["assistant", "default", "dev-team"];

/** `team.yaml` of a shipped team as text. */
export const shippedYaml = (name: string): string =>
  new TextDecoder().decode(readTeamFiles(root, name).get("team.yaml") as Uint8Array);

/** Compiles a shipped team; any diagnostic fails the test, but that another `team.yaml` may name a server of the test. */
export const shippedTeam = async (name: string, yaml?: string): Promise<Team> => {
  const files = new Map(readTeamFiles(root, name));
  if (yaml !== undefined) files.set("team.yaml", yaml);
  const { team, diagnostics: all } = compileTeam(files, { name });
  const diagnostics = all.filter(({ code }) => yaml === undefined || code !== "private_address");
  if (team === null || diagnostics.length > 0) throw new Error(diagnostics.map(formatDiagnostic).join("\n"));
  return team;
};

/** The same team, its scripted models without the pauses that are made for readers. */
export const withoutPauses = (team: Team): Team => ({
  ...team,
  providers: team.providers.map((provider) => {
    const { script } = provider;
    if (script === undefined) return provider;
    const scenes = script.scenes.map((scene) => ({ ...scene, stall_ms: 0 }));
    return { ...provider, script: { ...script, pace: { ...script.pace, delay_ms: 0 }, scenes } };
  }),
});
