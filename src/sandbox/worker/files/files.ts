import type { FileAct, SandboxLimits } from "../../contract.ts";
import { sha256Hex } from "../../sha256.ts";
import { fail } from "../errors.ts";
import { joinBytes } from "./bytes.ts";
import type { Database } from "./database.ts";
import { blob } from "./database.ts";
import type { Place } from "./locate.ts";

/** Bytes of content in one row. */
const chunkSize = 256 * 1024;

/** State that all file functions share. `limits` may change during the workspace's life. */
export interface Disk {
  readonly database: Database;
  readonly limits: () => SandboxLimits;
  readonly now: () => number;
  readonly known: KnownFacts;
  /** Returns whether a path is closed; set for a request with closed paths, which does not follow links, either. */
  readonly isClosed?: (path: string, act: FileAct) => boolean;
}

/** What need not be asked of the database again. */
interface KnownFacts {
  /** Bytes that all files use; null until they are counted. */
  bytes: number | null;
  /** The folders that paths have led through. */
  readonly folders: Map<string, Entry>;
}

export const noFacts = (): KnownFacts => ({ bytes: null, folders: new Map() });

/** Forgets what is known of the tree, after a change that was undone or made elsewhere. */
function forgetFacts({ known }: Disk): void {
  known.bytes = null;
  known.folders.clear();
}

/** Folders that are remembered at most. */
const mostFolders = 10_000;

type EntryType = "file" | "directory" | "symlink";

export interface Entry {
  readonly parent: number;
  readonly name: string;
  readonly id: number;
  readonly type: EntryType;
  readonly mode: number;
  readonly mtime: number;
  readonly size: number;
  readonly sha256: string | null;
  readonly target: string | null;
  readonly version: number;
  readonly writer: string;
}

export const root: Entry = {
  parent: -1,
  name: "",
  id: 0,
  type: "directory",
  mode: 0o755,
  mtime: 0,
  size: 0,
  sha256: null,
  target: null,
  version: 0,
  writer: "",
};

/** Returns a number that no other entry or version of this workspace has. */
export function createId(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0xfffff) * 2 ** 32 + low + 1;
}

export const joinPath = (...segments: readonly string[]): string =>
  segments.filter((segment) => segment !== "" && segment !== ".").join("/") || ".";

const placeOf = (folder: number, name: string): string => `${folder}/${name}`;

export function findChild(disk: Disk, folder: number, name: string): Entry | null {
  const { folders } = disk.known;
  const known = folders.get(placeOf(folder, name));
  if (known !== undefined) return known;
  const [entry] = disk.database.all<Entry>(
    "SELECT * FROM entries WHERE parent = ? AND name = ?",
    folder,
    name,
  );
  if (entry?.type === "directory" && folders.size < mostFolders) folders.set(placeOf(folder, name), entry);
  return entry ?? null;
}

/** Removes the row of an entry. */
export function dropEntry(disk: Disk, { parent, name }: Entry): void {
  disk.known.folders.delete(placeOf(parent, name));
  disk.database.all("DELETE FROM entries WHERE parent = ? AND name = ?", parent, name);
}

/** Returns the entries of a folder by name, or those after a name and before one. */
export const listChildren = (
  disk: Disk,
  folder: number,
  { after, before }: { readonly after?: string | undefined; readonly before?: string | undefined } = {},
): Entry[] =>
  disk.database.all<Entry>(
    "SELECT * FROM entries WHERE parent = ? AND name > ? AND (? IS NULL OR name < ?) ORDER BY name",
    folder,
    after ?? "",
    before ?? null,
    before ?? null,
  );

/** Returns a file's bytes, or a part of them from `offset`. */
export function contentOf(disk: Disk, file: Entry, offset = 0, length = file.size): Uint8Array<ArrayBuffer> {
  const end = Math.min(offset + length, file.size);
  const bytes = new Uint8Array(Math.max(end - offset, 0));
  const first = Math.floor(offset / chunkSize);
  const rows = disk.database.all<{ n: number; data: ArrayBuffer }>(
    "SELECT n, data FROM chunks WHERE id = ? AND n >= ? AND n <= ? ORDER BY n",
    file.id,
    first,
    Math.floor(Math.max(end - 1, 0) / chunkSize),
  );
  for (const row of rows) {
    const start = row.n * chunkSize;
    const data = blob(row.data);
    bytes.set(data.subarray(Math.max(offset - start, 0), end - start), Math.max(start - offset, 0));
  }
  return bytes;
}

function putChunks(disk: Disk, id: number, bytes: Uint8Array, first = 0): void {
  for (let n = 0; n * chunkSize < bytes.length; n++) {
    const data = Uint8Array.from(bytes.subarray(n * chunkSize, (n + 1) * chunkSize));
    disk.database.all("INSERT OR REPLACE INTO chunks (id, n, data) VALUES (?, ?, ?)", id, first + n, data);
  }
}

/** Returns the bytes that all files use. */
function usedBytes(disk: Disk): number {
  if (disk.known.bytes === null) {
    const [row] = disk.database.all<{ used: number | null }>("SELECT SUM(size) AS used FROM entries");
    disk.known.bytes = row?.used ?? 0;
  }
  return disk.known.bytes;
}

/** Updates the used bytes after files grew or shrank, if they have been counted. */
export function grow(disk: Disk, bytes: number): void {
  if (disk.known.bytes !== null) disk.known.bytes += bytes;
}

/** Runs a change of the tree as one transaction: all of it or nothing. */
export function runAtomically<Result>(disk: Disk, change: () => Result): Result {
  try {
    return disk.database.transaction(change);
  } catch (error) {
    forgetFacts(disk);
    throw error;
  }
}

/** Refuses a file that exceeds its limit, or the space that the disk has left. */
function checkSpace(disk: Disk, path: string, size: number, before: number): void {
  const { file, disk: total } = disk.limits();
  if (size > file)
    fail("payload_too_large", `${path} would have ${size} bytes; a file may have at most ${file}`);
  if (size > before && usedBytes(disk) - before + size > total) {
    fail(
      "limit",
      `the disk is full: ${path} needs ${size} bytes and the workspace may have at most ${total}`,
    );
  }
}

export function putEntry(disk: Disk, entry: Entry): void {
  disk.known.folders.delete(placeOf(entry.parent, entry.name));
  disk.database.all(
    `INSERT OR REPLACE INTO entries (parent, name, id, type, mode, mtime, size, sha256, target, version, writer)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    entry.parent,
    entry.name,
    entry.id,
    entry.type,
    entry.mode,
    entry.mtime,
    entry.size,
    entry.sha256,
    entry.target,
    entry.version,
    entry.writer,
  );
}

/** Adds an entry to an existing folder. */
export function addEntry(
  disk: Disk,
  folder: number,
  name: string,
  fields: Pick<Entry, "type" | "mode" | "writer"> & Partial<Entry>,
): Entry {
  const made = { parent: folder, name, id: createId(), size: 0, sha256: null, target: null };
  const entry = { ...made, mtime: disk.now(), version: createId(), ...fields };
  putEntry(disk, entry);
  return entry;
}

/** Refuses an act on a physical path that is closed to this request. */
export function checkClosed(disk: Disk, path: string, act: FileAct): void {
  if (disk.isClosed?.(path, act) !== true) return;
  const why = `a permission rule applies to ${path}, which this call would also act on`;
  fail("path_not_writable", `${why}; leave it out, or name it in a separate call`);
}

/** Creates the missing folders above a path's last name and returns the id of the lowest. */
export function makeParents(disk: Disk, { path, folder, missing }: Place, writer: string): number {
  const segments = path.split("/");
  return missing.slice(0, -1).reduce((parent, name, index) => {
    checkClosed(disk, joinPath(...segments.slice(0, segments.length - missing.length + index + 1)), "write");
    return addEntry(disk, parent, name, { type: "directory", mode: 0o755, writer }).id;
  }, folder);
}

function replaceContent(disk: Disk, before: Entry, bytes: Uint8Array, changed: Partial<Entry>): Entry {
  const count = Math.ceil(bytes.length / chunkSize);
  disk.database.all("DELETE FROM chunks WHERE id = ? AND n >= ?", before.id, count);
  const entry = { ...before, ...changed, mtime: disk.now(), version: createId() };
  putEntry(disk, entry);
  return entry;
}

/** Writes a whole file to a result of `locate`, with missing parents. The mode stays; a new file gets 0644. */
export function putFile(
  disk: Disk,
  place: Place,
  bytes: Uint8Array,
  writer: string,
  sha256: string | null,
): Entry {
  const before = place.entry;
  if (before !== null && before.type !== "file") {
    return fail("conflict", `${place.path} is a folder; a file cannot replace it`);
  }
  const sizeBefore = before?.size ?? 0;
  checkSpace(disk, place.path, bytes.length, sizeBefore);
  const changed = { size: bytes.length, sha256, writer };
  const add = (): Entry => {
    const folder = makeParents(disk, place, writer);
    return addEntry(disk, folder, place.missing.at(-1) ?? "", { type: "file", mode: 0o644, ...changed });
  };
  const entry = before === null ? add() : replaceContent(disk, before, bytes, changed);
  putChunks(disk, entry.id, bytes);
  grow(disk, bytes.length - sizeBefore);
  return entry;
}

/** Appends bytes to an existing file and rewrites only its last piece. */
export function extendFile(disk: Disk, path: string, entry: Entry, bytes: Uint8Array, writer: string): void {
  const size = entry.size + bytes.length;
  checkSpace(disk, path, size, entry.size);
  const first = Math.floor(entry.size / chunkSize);
  const tail = contentOf(disk, entry, first * chunkSize);
  putChunks(disk, entry.id, joinBytes([tail, bytes]), first);
  grow(disk, bytes.length);
  putEntry(disk, { ...entry, size, sha256: null, mtime: disk.now(), version: createId(), writer });
}

/** Returns the hash of a file's content, computed at first use after a command wrote the file. */
export function hashOf(disk: Disk, file: Entry): string {
  if (file.sha256 !== null) return file.sha256;
  const hash = sha256Hex(contentOf(disk, file));
  disk.database.all(
    "UPDATE entries SET sha256 = ? WHERE parent = ? AND name = ?",
    hash,
    file.parent,
    file.name,
  );
  return hash;
}
