import { nameOf } from "../../paths.ts";
import { isOfSkills, isProtected, mayWrite } from "../../writable.ts";
import { fail } from "../errors.ts";
import type { Disk, Entry } from "./files.ts";
import {
  addEntry,
  checkClosed,
  listChildren,
  contentOf,
  createId,
  dropEntry,
  grow,
  joinPath,
  makeParents,
  putEntry,
  putFile,
  root,
} from "./files.ts";
import type { Existing, Place } from "./locate.ts";
import { requireEntry, locate } from "./locate.ts";
import { checkUnseen, recordSeen } from "./seen.ts";

/** Author of a change of the tree, with the places where it may write. */
export interface Writer {
  /** Name shown to others who meet the change, as in "thread main". */
  readonly name: string;
  /** Thread whose view of the files counts for `conflict`; undefined for commands. */
  readonly actor?: string | undefined;
  readonly writablePaths: readonly string[] | undefined;
  /** Whether the protected paths, which no file tool may touch, are closed to this writer. */
  readonly guarded: boolean;
  /** Whether the writer places the team's skills in their folder, which is closed to all others. */
  readonly placesSkills?: boolean;
}

/** Refuses a physical path that this writer may not change. */
export function checkWritable(writer: Writer, path: string): void {
  const closed = writer.guarded ? isProtected(path) : isOfSkills(path) && writer.placesSkills !== true;
  if (closed) fail("path_not_writable", `${path} is protected and cannot be written`);
  if (!mayWrite(writer.writablePaths, path)) {
    fail(
      "path_not_writable",
      `${path} is not writable here; writable: ${writer.writablePaths?.join(", ") || "nothing"}`,
    );
  }
}

export interface Found {
  readonly path: string;
  readonly entry: Entry;
}

/** Walks an entry and everything below it, parents before children; links are not followed. */
export function* walk(disk: Disk, path: string, entry: Entry): Generator<Found> {
  const open: Found[] = [{ path, entry }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    yield next;
    if (next.entry.type !== "directory") continue;
    const inside = listChildren(disk, next.entry.id).reverse();
    for (const entry of inside) open.push({ path: joinPath(next.path, entry.name), entry });
  }
}

/** Refuses to remove paths that this writer may not remove, or that others changed unseen. */
function checkRemoval(disk: Disk, writer: Writer, { path, entry }: Found): void {
  checkClosed(disk, path, "delete");
  checkWritable(writer, path);
  checkUnseen(disk, writer.actor, path, entry);
}

/** Removes an entry and everything below it, after checking each path. */
export function removeTree(disk: Disk, writer: Writer, path: string, entry: Entry): void {
  if (entry.id === root.id) fail("invalid_request", "the workspace itself cannot be removed or replaced");
  const found = [...walk(disk, path, entry)];
  for (const item of found) checkRemoval(disk, writer, item);
  for (const item of found) {
    dropEntry(disk, item.entry);
    if (item.entry.type !== "file") continue;
    disk.database.all("DELETE FROM chunks WHERE id = ?", item.entry.id);
    grow(disk, -item.entry.size);
  }
}

/** Creates a folder with its parents; accepts an existing folder, but not a file. */
export function makeFolder(disk: Disk, writer: Writer, path: string): void {
  const place = locate(disk, path);
  if (place.entry !== null) {
    if (place.entry.type !== "directory") fail("exists", `${path} exists already and is a file`);
    return;
  }
  checkClosed(disk, place.path, "write");
  checkWritable(writer, place.path);
  const folder = makeParents(disk, place, writer.name);
  addEntry(disk, folder, nameOf(place.path), { type: "directory", mode: 0o755, writer: writer.name });
}

/** Prepares the target of a copy or move: it is missing or may be replaced, but never a folder by a file. */
function clearTarget(
  disk: Disk,
  writer: Writer,
  from: Existing,
  { destination, overwrite }: Transfer,
): Place {
  const path = destination;
  const place = locate(disk, path, false);
  if (place.entry === null) return place;
  if (place.entry.type === "directory" && from.entry.type !== "directory")
    fail("conflict", `${path} is a folder; to put it in there, add its name to that of the folder`);
  if (!overwrite) fail("exists", `${path} exists already; pass overwrite: true to replace it`);
  removeTree(disk, writer, place.path, place.entry);
  return locate(disk, path, false);
}

interface Transfer {
  readonly source: string;
  readonly destination: string;
  readonly overwrite: boolean;
}

function checkedTransfer(disk: Disk, { source, destination }: Transfer): Existing {
  const from = requireEntry(disk, source, false);
  if (from.entry.id === root.id) fail("invalid_request", "the workspace itself cannot be moved or copied");
  const to = locate(disk, destination, false);
  if (to.path === from.path) fail("invalid_request", `${source} and ${destination} are the same`);
  if (to.path.startsWith(`${from.path}/`)) fail("invalid_request", `${destination} lies inside ${source}`);
  if (from.path.startsWith(`${to.path}/`) || to.path === ".") {
    fail("invalid_request", `${destination} contains ${source}`);
  }
  return from;
}

/**
 * Moves a file, folder or link; every path of the tree must be writable at both ends. Returns the new physical
 * path.
 */
export function moveTree(disk: Disk, writer: Writer, transfer: Transfer): { from: string; to: string } {
  const from = checkedTransfer(disk, transfer);
  const end = locate(disk, transfer.destination, false).path;
  for (const item of walk(disk, from.path, from.entry)) {
    const path = `${end}${item.path.slice(from.path.length)}`;
    checkClosed(disk, item.path, "read");
    checkRemoval(disk, writer, item);
    checkClosed(disk, path, "write");
    checkWritable(writer, path);
  }
  const to = clearTarget(disk, writer, from, transfer);
  const folder = makeParents(disk, to, writer.name);
  dropEntry(disk, from.entry);
  const changed = { version: createId(), writer: writer.name, parent: folder, name: nameOf(to.path) };
  const moved = { ...from.entry, ...changed };
  putEntry(disk, moved);
  for (const { path, entry } of walk(disk, to.path, moved)) recordSeen(disk, writer.actor, path, entry);
  return { from: from.path, to: to.path };
}

/** Returns whether the link at a path stays inside the workspace, however it is followed. */
function staysInside(disk: Disk, path: string): boolean {
  const { isClosed: _, ...open } = disk;
  try {
    locate(open, path);
    return true;
  } catch {
    return false;
  }
}

/** Copies one entry to a physical path; if the entry is a file, it may replace a file there. */
export function copyOne(disk: Disk, writer: Writer, item: Found, path: string): void {
  checkClosed(disk, path, "write");
  checkWritable(writer, path);
  const place = locate(disk, path, false);
  if (item.entry.type === "file") {
    const written = putFile(disk, place, contentOf(disk, item.entry), writer.name, item.entry.sha256);
    putEntry(disk, { ...written, mode: item.entry.mode });
    recordSeen(disk, writer.actor, path, written);
    return;
  }
  const folder = makeParents(disk, place, writer.name);
  const { type, mode, target } = item.entry;
  addEntry(disk, folder, nameOf(path), { type, mode, target, writer: writer.name });
}

/** Copies a file, folder or link. Returns the omitted links, which lead out of the workspace. */
export function copyTree(
  disk: Disk,
  writer: Writer,
  transfer: Transfer,
): { readonly to: string; readonly skipped: readonly string[] } {
  const from = checkedTransfer(disk, transfer);
  const found = [...walk(disk, from.path, from.entry)];
  for (const item of found) checkClosed(disk, item.path, "read");
  const to = clearTarget(disk, writer, from, transfer);
  const skipped: string[] = [];
  for (const item of found) {
    if (item.entry.type === "symlink" && !staysInside(disk, item.path)) skipped.push(item.path);
    else copyOne(disk, writer, item, `${to.path}${item.path.slice(from.path.length)}`);
  }
  return { to: to.path, skipped };
}

/** Writes a file after checking its physical path. */
export function writeFile(disk: Disk, writer: Writer, path: string, bytes: Uint8Array): void {
  const place = locate(disk, path);
  checkWritable(writer, place.path);
  putFile(disk, place, bytes, writer.name, null);
}

/** Longest target of a link, as of any path: it takes no space of the disk. */
const longestTarget = 4096;

/** Creates a link; its target is checked whenever the link is followed. */
export function makeLink(disk: Disk, writer: Writer, path: string, target: string): void {
  if (target.length > longestTarget)
    fail("payload_too_large", `the target of ${path} is longer than ${longestTarget} characters`);
  const place = locate(disk, path, false);
  if (place.entry !== null) fail("exists", `${path} exists already`);
  checkWritable(writer, place.path);
  const folder = makeParents(disk, place, writer.name);
  addEntry(disk, folder, nameOf(place.path), { type: "symlink", mode: 0o777, target, writer: writer.name });
}

/** Changes the mode or the time of an entry. */
export function touchEntry(
  disk: Disk,
  writer: Writer,
  path: string,
  fields: { readonly mode?: number; readonly mtime?: number },
): void {
  const place = requireEntry(disk, path);
  checkWritable(writer, place.path);
  if (place.entry.id !== root.id) putEntry(disk, { ...place.entry, ...fields });
}
