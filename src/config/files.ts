import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { ExtensionModule } from "./extensions.ts";
import type { TeamFiles } from "./files-map.ts";

/** Team folders on disk. Everything else in this room is pure. */

export const teamNamePattern = /^[a-z][a-z0-9-]{0,30}$/;

export const teamFolder = (root: string, team: string): string => join(root, "config", team);

/** Names of the folders under `config/`, sorted. */
export const listTeams = (root: string): string[] => {
  const folder = join(root, "config");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && teamNamePattern.test(entry.name))
    .map(({ name }) => name)
    .toSorted();
};

/** All files of a team folder by their path in it, sorted; empty if there is no such folder. */
export const readTeamFiles = (root: string, team: string): TeamFiles => {
  const folder = teamFolder(root, team);
  if (!existsSync(folder)) return new Map();
  const paths = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .toSorted();
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path))]));
};

/** Loads `extensions.ts` if the team has one; Node strips its types. */
export const loadExtensions = async (root: string, team: string): Promise<ExtensionModule | undefined> => {
  const path = join(teamFolder(root, team), "extensions.ts");
  if (!existsSync(path)) return undefined;
  try {
    const exports = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
    return { exports: { ...exports } };
  } catch (error) {
    return { error: error instanceof Error ? (error.message.split("\n")[0] ?? "") : "it throws" };
  }
};

/**
 * Writes a build: all files are complete beside the old ones before the first is put in place, and a file that did
 * not change is left alone. A kill before that moment leaves the previous build as it was.
 */
export const writeBuild = (root: string, team: string, files: ReadonlyMap<string, string>): void => {
  const folder = join(root, ".limpet", team);
  mkdirSync(folder, { recursive: true });
  const staging = join(root, ".limpet", `.${team}-${process.pid}`);
  mkdirSync(staging, { recursive: true });
  try {
    const changed = [...files].filter(([name, content]) => {
      const path = join(folder, name);
      return !existsSync(path) || readFileSync(path, "utf8") !== content;
    });
    for (const [name, content] of changed) writeFileSync(join(staging, name), content);
    for (const [name] of changed) renameSync(join(staging, name), join(folder, name));
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
};
