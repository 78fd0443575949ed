import { fail } from "../errors.ts";
import type { Disk } from "../files/files.ts";
import { listChildren, contentOf, joinPath } from "../files/files.ts";
import { requireEntry, locate } from "../files/locate.ts";
import type { Found, Writer } from "../files/tree.ts";
import { copyOne, moveTree, removeTree, staysInside, walk, writeFile } from "../files/tree.ts";

/** Implements `cp` and `mv` for commands: an existing destination is replaced only if a file replaces a file. */

function copyFolder(disk: Disk, writer: Writer, item: Found, path: string): void {
  const place = locate(disk, path);
  if (place.entry === null) copyOne(disk, writer, item, place.path);
  else if (place.entry.type !== "directory")
    fail("conflict", `${path} is a file; a folder cannot replace it`);
}

function copyFile(disk: Disk, writer: Writer, item: Found, path: string): void {
  const place = locate(disk, path);
  if (place.entry === null) copyOne(disk, writer, item, place.path);
  else if (place.entry.id === item.entry.id) fail("conflict", `${item.path} and ${path} are the same file`);
  else writeFile(disk, writer, path, contentOf(disk, item.entry));
}

function copyLink(disk: Disk, writer: Writer, item: Found, path: string): void {
  if (!staysInside(disk, item.path)) return;
  const place = locate(disk, path, false);
  if (place.entry?.type === "directory") fail("conflict", `${path} is a folder; a link cannot replace it`);
  if (place.entry !== null) removeTree(disk, writer, place.path, place.entry);
  copyOne(disk, writer, item, place.path);
}

const copies = { directory: copyFolder, file: copyFile, symlink: copyLink };

/** Copies into the destination: folders are merged, files replaced. Without `recursive` a link is followed. */
export function copyInto(
  disk: Disk,
  writer: Writer,
  { source, destination, recursive }: { source: string; destination: string; recursive: boolean },
): void {
  const from = requireEntry(disk, source, !recursive);
  if (from.entry.type === "directory" && !recursive) fail("conflict", `${source} is a directory`);
  const to = locate(disk, destination).path;
  if (from.path === "." || to.startsWith(`${from.path}/`))
    fail("conflict", `${source} cannot be copied into itself`);
  for (const item of walk(disk, from.path, from.entry))
    copies[item.entry.type](disk, writer, item, joinPath(to, item.path.slice(from.path.length + 1)));
}

/** Moves an entry; a folder may only replace an empty folder, a file only a file. */
export function moveOver(disk: Disk, writer: Writer, source: string, destination: string): void {
  const { entry } = requireEntry(disk, source, false);
  const target = locate(disk, destination, false).entry;
  if (target !== null && target.id !== entry.id) {
    const isFolder = target.type === "directory";
    if (isFolder !== (entry.type === "directory"))
      fail("conflict", `${destination} is ${isFolder ? "a directory" : "not a directory"}`);
    if (isFolder && listChildren(disk, target.id).length > 0)
      fail("conflict", "ENOTEMPTY: directory not empty");
  }
  moveTree(disk, writer, { source, destination, overwrite: true });
}
