import { workspaceRoot } from "../../paths.ts";
import { fail, throwNotFound } from "../errors.ts";
import type { Disk, Entry } from "./files.ts";
import { checkClosed, findChild, joinPath, root } from "./files.ts";

const maxLinks = 40;

/** Location of a path: the last existing folder, the entry in it, and the missing segments. `path` is physical. */
export interface Place {
  readonly path: string;
  readonly folder: number;
  readonly entry: Entry | null;
  readonly missing: readonly string[];
}

/** Result of `locate` for which an entry exists. */
export type Existing = Place & { readonly entry: Entry };

function linkSegments(path: string, target: string): { fromRoot: boolean; segments: string[] } {
  const mounted = target === workspaceRoot || target.startsWith(`${workspaceRoot}/`);
  if (target.startsWith("/") && !mounted) {
    return fail("path_outside", `${path} is a link that leads out of the workspace`);
  }
  const segments = (mounted ? target.slice(workspaceRoot.length) : target).split("/");
  return { fromRoot: mounted, segments: segments.filter((segment) => segment !== "" && segment !== ".") };
}

/** State of a walk through the tree: its current folders, the segments so far, and the followed links. */
interface Walk {
  readonly path: string;
  readonly follow: boolean;
  trail: Entry[];
  pending: string[];
  links: number;
}

const currentEntry = (walk: Walk): Entry => walk.trail.at(-1) ?? root;

const physical = (walk: Walk): string => joinPath(...walk.trail.map((entry) => entry.name));

function goUp(walk: Walk): void {
  if (walk.trail.length === 1) fail("path_outside", `${walk.path} leads out of the workspace`);
  walk.trail.pop();
}

function goThrough(disk: Disk, walk: Walk, link: Entry): void {
  if (disk.isClosed !== undefined) {
    const at = joinPath(physical(walk), link.name);
    const why = `${walk.path} goes through the link ${at} to ${link.target}`;
    fail(
      "path_outside",
      `${why}, and permission rules apply to paths as written; name the path that it leads to`,
    );
  }
  walk.links += 1;
  if (walk.links > maxLinks) fail("conflict", `${walk.path} goes through too many links`);
  const { fromRoot, segments } = linkSegments(joinPath(physical(walk), link.name), link.target ?? "");
  if (fromRoot) walk.trail = [root];
  walk.pending = [...segments, ...walk.pending];
}

/** Follows one segment; returns a result if something is missing there. */
function step(disk: Disk, walk: Walk, segment: string): Place | null {
  const folder = currentEntry(walk);
  if (folder.type !== "directory") fail("conflict", `${physical(walk)} is a file, not a folder`);
  const entry = findChild(disk, folder.id, segment);
  if (entry === null) {
    const missing = [segment, ...walk.pending];
    if (missing.includes("..")) throwNotFound(walk.path);
    return { path: joinPath(physical(walk), ...missing), folder: folder.id, entry: null, missing };
  }
  if (entry.type === "symlink" && (walk.follow || walk.pending.length > 0)) goThrough(disk, walk, entry);
  else walk.trail.push(entry);
  return null;
}

/**
 * Walks a normalised path from the root and through links, never leaving it. `follow` also resolves a link at the
 * end. Missing parts at the end are not an error but part of the result; using a file as a folder is an error.
 */
export function locate(disk: Disk, path: string, follow = true): Place {
  const walk: Walk = { path, follow, trail: [root], pending: path === "." ? [] : path.split("/"), links: 0 };
  for (let segment = walk.pending.shift(); segment !== undefined; segment = walk.pending.shift()) {
    if (segment === "..") goUp(walk);
    else {
      const place = step(disk, walk, segment);
      if (place !== null) return place;
    }
  }
  const entry = currentEntry(walk);
  return { path: physical(walk), folder: entry.parent, entry, missing: [] };
}

/** Finds the entry at a path, or throws `workspace_read_not_found`. */
export function requireEntry(disk: Disk, path: string, follow = true): Existing {
  const place = locate(disk, path, follow);
  return place.entry === null ? throwNotFound(path) : { ...place, entry: place.entry };
}

/** Finds the entry at a path, if the request may read it. */
export function requireOpen(disk: Disk, path: string): Existing {
  const place = requireEntry(disk, path);
  checkClosed(disk, place.path, "read");
  return place;
}

const refuseFolder = (path: string): never => fail("conflict", `${path} is a folder, not a file`);

/** Finds the file at a path; a folder is a `conflict`. */
export function requireFile(disk: Disk, path: string): Existing {
  const place = requireEntry(disk, path);
  return place.entry.type === "file" ? place : refuseFolder(path);
}

/** Finds the file at a path, if the request may read it. */
export function requireReadable(disk: Disk, path: string): Existing {
  const place = requireOpen(disk, path);
  return place.entry.type === "file" ? place : refuseFolder(path);
}
