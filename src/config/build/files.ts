import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import type { Stats } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import type { Diagnostic } from "../document/diagnostics.ts";
import type { TeamFiles } from "./files-map.ts";
import { isForeign } from "./files-map.ts";

/** Reads and writes team folders on disk. Everything else in the loader is pure. */

/** Returns why a folder of this name cannot be a team; null if it can. */
export const teamNameProblem = (name: string): string | null =>
  /^[a-z][a-z0-9-]{0,30}$/.test(name)
    ? null
    : `"${name}" is not a team name: up to 31 lower-case letters, digits and -, beginning with a letter`;

export const teamFolder = (root: string, team: string): string => join(root, "config", team);

type PathKind = "file" | "folder" | "dead link" | "other";

/** Returns what a path leads to; undefined if that is nothing, or only the path itself. */
const targetOf = (path: string): Stats | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (fault) {
    if (fault instanceof Error && "code" in fault && fault.code === "ELOOP") return undefined;
    throw fault;
  }
};

/** Returns what a path is, with links followed. */
const kindOf = (path: string): PathKind => {
  const found = targetOf(path);
  if (found === undefined)
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? "dead link" : "other";
  if (found.isDirectory()) return "folder";
  return found.isFile() ? "file" : "other";
};

/** Path in a team's folder. A folder of other programs stands for what may be many files in it. */
interface FolderEntry {
  readonly path: string;
  readonly kind: PathKind;
}

/** Lists what is below a folder, with links followed except one that leads back up. */
const entriesBelow = (folder: string, above: readonly string[] = []): FolderEntry[] => {
  const own = realpathSync(folder);
  if (above.includes(own)) return [];
  return readdirSync(folder).flatMap((name): FolderEntry[] => {
    const path = join(folder, name);
    const kind = kindOf(path);
    const isWalked = kind === "folder" && !isForeign(`${name}/`);
    return isWalked ? entriesBelow(path, [...above, own]) : [{ path, kind }];
  });
};

/** Lists what is in a team's folder by its path in it, sorted, a folder's with a slash at its end; none if there is no such folder. */
const listTeamEntries = (root: string, team: string): FolderEntry[] => {
  const folder = teamFolder(root, team);
  if (!existsSync(folder)) return [];
  const pathOf = ({ path, kind }: FolderEntry): string =>
    relative(folder, path).split(sep).join("/") + (kind === "folder" ? "/" : "");
  return entriesBelow(folder)
    .map((entry) => ({ kind: entry.kind, path: pathOf(entry) }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
};

const foldersOf = (root: string): string[] => {
  const folder = join(root, "config");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => kindOf(join(folder, name)) === "folder" && !name.startsWith("."))
    .toSorted();
};

/** Lists the names of the teams under `config/`, sorted. */
export const listTeams = (root: string): string[] =>
  foldersOf(root).filter((name) => teamNameProblem(name) === null);

/** Returns diagnostics for folders under `config/` whose names teams cannot have. */
export const findMisnamedTeams = (root: string): Diagnostic[] =>
  foldersOf(root).flatMap((name): Diagnostic[] => {
    const message = teamNameProblem(name);
    if (message === null) return [];
    const hint = "rename the folder, or move it out of config/";
    const place = { file: `config/${name}`, line: 1, column: 1 };
    return [{ ...place, severity: "error", code: "invalid_value", path: "", message, hint }];
  });

/** Bytes that are read of a file: more than any file of a team may have, and fewer than would fill the memory. */
const mostBytes = 4 * 1024 * 1024;

/** Reads a file, of a larger one only its beginning. */
const readStart = (path: string): Uint8Array => {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(Math.min(fstatSync(file).size, mostBytes));
    return bytes.subarray(0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
};

/** Reads all files of a team folder by their path in it, sorted; returns none if there is no such folder. */
export const readTeamFiles = (root: string, team: string): TeamFiles => {
  const found = listTeamEntries(root, team).filter(({ kind }) => kind === "file" || kind === "folder");
  const folder = teamFolder(root, team);
  return new Map(
    found.map(({ path, kind }) => [path, kind === "folder" ? "" : readStart(join(folder, path))]),
  );
};

/** Lists the links of a team folder that lead to nothing, by their path in it. */
export const findDeadLinks = (root: string, team: string): readonly string[] =>
  listTeamEntries(root, team).flatMap(({ path, kind }) =>
    kind === "dead link" && !isForeign(path) ? [path] : [],
  );

const isSame = (folder: string, files: ReadonlyMap<string, string>): boolean =>
  [...files].every(([name, content]) => {
    const path = join(folder, name);
    return existsSync(path) && readFileSync(path, "utf8") === content;
  });

/** Returns whether another process with this id runs. */
const isAlive = (id: number): boolean => {
  if (id === process.pid) return false;
  try {
    return process.kill(id, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
};

/** Removes the folders of a team's earlier builds, including killed ones, but not of builds that still run. */
const removeOldBuilds = (builds: string, team: string, current: string): void => {
  const pattern = new RegExp(String.raw`^\.${team}-(\d+)-\w{6}$`);
  for (const name of readdirSync(builds)) {
    const [, owner] = pattern.exec(name) ?? [];
    if (owner === undefined || name === current || isAlive(Number(owner))) continue;
    rmSync(join(builds, name), { recursive: true, force: true });
  }
};

/** Points `link` to a sibling folder, in one step except on Windows, which cannot replace a link. */
const replaceLink = (link: string, folder: string): void => {
  const next = join(folder, ".link");
  const windows = process.platform === "win32";
  symlinkSync(windows ? folder : basename(folder), next, "junction");
  const isFolder = lstatSync(link, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder || windows) rmSync(link, { recursive: true, force: true });
  renameSync(next, link);
};

/**
 * Writes a build. `.limpet/<team>` is a link to a folder that is written completely before one rename switches to
 * it: a kill at any time leaves the previous build or the new one. Returns whether the build differs from the
 * previous one; if not, nothing is written.
 */
export const writeBuild = (root: string, team: string, files: ReadonlyMap<string, string>): boolean => {
  const builds = join(root, ".limpet");
  const link = join(builds, team);
  mkdirSync(builds, { recursive: true });
  const isNew = !isSame(link, files);
  if (isNew) {
    const folder = mkdtempSync(join(builds, `.${team}-${process.pid}-`));
    for (const [name, content] of files) writeFileSync(join(folder, name), content);
    replaceLink(link, folder);
  }
  const current = lstatSync(link).isSymbolicLink() ? basename(readlinkSync(link)) : "";
  removeOldBuilds(builds, team, current);
  return isNew;
};
