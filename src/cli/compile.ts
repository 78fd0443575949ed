import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CompiledTeam } from "../config/build/compile.ts";
import { compileTeam } from "../config/build/compile.ts";
import type { Diagnostic } from "../config/document/diagnostics.ts";
import { childOf, itemsOf } from "../config/document/located.ts";
import { extensionOffset } from "../config/extension-agents.ts";
import { formatDiagnostics, hasErrors, maximumShown } from "../config/document/diagnostics.ts";
import type { DeclaredNames } from "../config/checks/declared-secrets.ts";
import type { ExtensionModule } from "../config/extensions.ts";
import { findDeadLinks, listTeams, readTeamFiles, teamFolder } from "../config/build/files.ts";
import { privateTargets } from "../engine/secrets/egress.ts";
import {
  findEnvironment,
  readDeclaredNames,
  readDevVars,
  readVariables,
  readWranglerFile,
} from "./bindings.ts";
import type { WranglerFile } from "./bindings.ts";
import { placeInExtensions } from "./extensions/places.ts";
import { loadExtensions } from "./extensions/load.ts";
import { checkTypes } from "./extensions/types.ts";
import type { Terminal } from "./usage.ts";

/** Compiles a team folder of the disk and prints the diagnostics. */

export interface CompiledFolder extends CompiledTeam {
  /** Loaded extensions; undefined if the team has none. */
  readonly extensions: ExtensionModule | undefined;
}

/** Counts the agents of the team file; those of the extensions follow them. */
const countOwnAgents = ({ draft }: CompiledTeam): number =>
  itemsOf(childOf(draft?.root, "agents")).filter(({ at }) => at !== extensionOffset).length;

/** Reads the names that the team's environment declares; undefined if it lets wrangler read any name. */
const readDeclared = (toml: WranglerFile, team: string): DeclaredNames | undefined => {
  const { secrets, variables } = readDeclaredNames(toml, team);
  if (secrets === null) return undefined;
  const line = findEnvironment(toml, team) ?? 1;
  return { place: { file: "wrangler.toml", line, column: 1 }, names: new Set([...secrets, ...variables]) };
};

export const compileFolder = async (
  root: string,
  name: string,
  isServed = false,
): Promise<CompiledFolder> => {
  const extensions = await loadExtensions(root, name);
  const toml = readWranglerFile(root);
  // What stands in the file for this machine holds only here.
  const variables = { ...readVariables(toml, name), ...(isServed ? readDevVars(root, name) : {}) };
  const compiled = compileTeam(readTeamFiles(root, name), {
    name,
    extensions,
    declared: readDeclared(toml, name),
    openPlaces: privateTargets(variables),
    deadLinks: findDeadLinks(root, name),
    teams: existsSync(teamFolder(root, name)) ? undefined : listTeams(root),
    isServed,
    now: Date.now(),
  });
  const file = join(teamFolder(root, name), "extensions.ts");
  const diagnostics = await placeInExtensions(compiled.diagnostics, file, countOwnAgents(compiled));
  return { ...compiled, diagnostics, extensions };
};

/** Compiles a team folder and, if nothing else is wrong, checks the types of its extensions, too. */
export const compileTypedFolder = async (root: string, name: string): Promise<CompiledFolder> => {
  const compiled = await compileFolder(root, name);
  if (hasErrors(compiled.diagnostics)) return compiled;
  return { ...compiled, diagnostics: [...compiled.diagnostics, ...(await checkTypes(root, name))] };
};

/** Prints diagnostics as text, or with `json` as one object per line. */
export const printDiagnostics = (
  terminal: Terminal,
  diagnostics: readonly Diagnostic[],
  json: boolean,
): void => {
  if (!json) {
    for (const line of formatDiagnostics(diagnostics)) terminal.print(line);
    return;
  }
  for (const diagnostic of diagnostics.slice(0, maximumShown)) terminal.print(JSON.stringify(diagnostic));
  const more = diagnostics.length - maximumShown;
  if (more > 0) terminal.print(JSON.stringify({ more }));
};
