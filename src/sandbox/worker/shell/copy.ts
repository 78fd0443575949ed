import { fail } from "../errors.ts";
import type { Disk } from "../files/files.ts";
import { contentOf, listChildren } from "../files/files.ts";
import { locate, requireEntry, requireFile } from "../files/locate.ts";
import type { Writer } from "../files/tree.ts";
import { copyOne, moveTree, writeFile } from "../files/tree.ts";

/** Implements `cp` and `mv` for commands: an existing destination is replaced only if a file replaces a file. */

/** Copies a file to a place or over another file; the program `cp` copies folders and links. */
export function copyFile(disk: Disk, writer: Writer, source: string, destination: string): void {
  const from = requireFile(disk, source);
  const place = locate(disk, destination);
  if (place.entry === null) copyOne(disk, writer, from, place.path);
  else if (place.entry.id === from.entry.id)
    fail("conflict", `${source} and ${destination} are the same file`);
  else writeFile(disk, writer, destination, contentOf(disk, from.entry));
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
