import type { Compiled } from "../config/compile.ts";
import { compileTeam } from "../config/compile.ts";
import type { Diagnostic } from "../config/diagnostics.ts";
import { formatDiagnostics, maximumShown } from "../config/diagnostics.ts";
import { loadExtensions, readTeamFiles } from "../config/files.ts";
import type { Toolbox } from "../config/known.ts";
import { builtInToolboxDefinitions as builtIn } from "../config/known.ts";
import type { Terminal } from "./usage.ts";

/** Compiling a team folder of the disk, and printing what was found. */

export const compileFolder = async (root: string, name: string): Promise<Compiled> => {
  const extensions = await loadExtensions(root, name);
  return compileTeam(readTeamFiles(root, name), {
    name,
    ...(extensions === undefined ? {} : { extensions }),
  });
};

/** Prints diagnostics as text, or with `json` as one object a line. */
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

/** The built-in toolboxes and those of a team's extensions, which its compilation has checked. */
export const toolboxesOf = async (root: string, name: string): Promise<readonly Toolbox[]> => {
  const extensions = await loadExtensions(root, name);
  const own =
    extensions !== undefined && "exports" in extensions ? extensions.exports["toolboxes"] : undefined;
  return [...builtIn, ...(Array.isArray(own) ? (own as Toolbox[]) : [])];
};
