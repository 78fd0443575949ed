import { createTarDecoder, packTar } from "modern-tar";
import type { ParsedTarEntry, TarHeader } from "modern-tar";
import type { ChangeOutcome, FileChange } from "../contract.ts";
import { SandboxError } from "../contract.ts";
import { workspacePath } from "../paths.ts";
import { hexOf } from "../sha256.ts";
import { isOfSkills } from "../writable.ts";
import { fail } from "./errors.ts";
import type { ChangeContext } from "./files/changes.ts";
import { limitDiffs, maxListed, maxNames, putContent } from "./files/changes.ts";
import type { Disk } from "./files/files.ts";
import { findChild, contentOf, joinPath } from "./files/files.ts";
import { requireOpen } from "./files/locate.ts";
import type { Found } from "./files/tree.ts";
import { makeFolder, touchEntry, walk } from "./files/tree.ts";
import { holdBytes } from "./held-bytes.ts";
import { completeKey, runPartOnce } from "./outcomes.ts";

/** Packs and unpacks folders as tar archives: files and folders only, one after the other in both directions. */

/** Bytes of the files of an archive together. */
const mostBytes = 32 * 1024 * 1024;

/** Bytes of a whole archive: more than its files, their heads and names, and the empty end may have together. */
const mostArchived = 48 * 1024 * 1024;

const endOfArchive = 1024;

/**
 * Returns an archive of one entry without its end; a file that changed since the walk is packed in its current
 * state.
 */
async function packEntry(disk: Disk, base: string, { path, entry }: Found): Promise<Uint8Array | null> {
  const now = findChild(disk, entry.parent, entry.name);
  if (now === null || now.type !== entry.type) return null;
  const folder = now.type === "directory";
  const name = base === "." ? path : path.slice(base.length + 1);
  const header: TarHeader = {
    name: folder ? `${name}/` : name,
    type: folder ? "directory" : "file",
    size: folder ? 0 : now.size,
    mode: now.mode,
    mtime: new Date(now.mtime),
  };
  const archive = await packTar([folder ? { header } : { header, body: contentOf(disk, now) }]);
  return archive.subarray(0, -endOfArchive);
}

/** Streams a folder without its links and without the skills; refuses one whose files together are too large before it begins. */
export function packFolder(disk: Disk, path: string): ReadableStream<Uint8Array> {
  const folder = requireOpen(disk, path);
  if (folder.entry.type !== "directory") fail("conflict", `${path} is a file, not a folder`);
  const entries = [...walk(disk, folder.path, folder.entry)].filter(
    ({ entry, path: at }) => entry.id !== folder.entry.id && entry.type !== "symlink" && !isOfSkills(at),
  );
  const open = entries.filter((found) => disk.isClosed?.(found.path, "read") !== true);
  const size = open.reduce((sum, { entry }) => sum + entry.size, 0);
  if (size > mostBytes)
    fail(
      "payload_too_large",
      `the files of ${path} have ${size} bytes; an archive may have at most ${mostBytes}`,
    );
  const left = open.values();
  return new ReadableStream({
    pull: async (controller) => {
      for (const found of left) {
        const bytes = await packEntry(disk, folder.path, found);
        if (bytes !== null) return controller.enqueue(bytes);
      }
      controller.enqueue(new Uint8Array(endOfArchive));
      controller.close();
    },
  });
}

/** Progress of unpacking an archive. */
interface Progress {
  readonly base: string;
  readonly changes: FileChange[];
  entries: number;
  bytes: number;
  names: number;
}

const refuseEntry = (name: string, why: string): never => fail("invalid_request", `${name} ${why}`);

/** Returns the path of an entry; refuses one that an archive may not have here. */
function checkEntry(progress: Progress, { name, type = "file", size }: TarHeader): string {
  if (type !== "file" && type !== "directory")
    refuseEntry(name, `is a ${type}; an archive may contain only files and folders`);
  if (name.startsWith("/")) refuseEntry(name, "is absolute; name it relative to the target folder");
  if (name.split("/").includes("..")) refuseEntry(name, "leads out of the target folder");
  if (name.includes("\uFFFD")) refuseEntry(name, "has a name that is not UTF-8");
  const path = workspacePath(joinPath(progress.base, name));
  progress.entries += 1;
  progress.bytes += size;
  progress.names += path.length;
  if (progress.entries > maxListed)
    fail("payload_too_large", `${name} is one entry too many; an archive may have at most ${maxListed}`);
  if (progress.names > maxNames)
    fail(
      "payload_too_large",
      `${name} is too much; the paths of an archive may have at most ${maxNames} characters`,
    );
  if (progress.bytes > mostBytes)
    fail(
      "payload_too_large",
      `${name} is too large; the files of an archive may have at most ${mostBytes} bytes`,
    );
  return path;
}

/** Returns the mode of an unpacked file: of its mode in the archive, only whether its owner may run it. */
const modeOf = (mode: number): number => ((mode & 0o100) === 0 ? 0o644 : 0o755);

/** Unpacks an entry, once per key and place in the archive. */
async function takeEntry(
  disk: Disk,
  context: ChangeContext,
  { key }: Pick<Archive, "key">,
  progress: Progress,
  { header, body }: ParsedTarEntry,
): Promise<void> {
  const path = checkEntry(progress, header);
  const bytes = new Uint8Array(await new Response(body).arrayBuffer());
  const hash = hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  const isFolder = header.type === "directory";
  const place = { key, number: progress.entries, body: `${isFolder ? "folder" : hash}\0${path}` };
  const changes = runPartOnce(disk, place, (): readonly FileChange[] => {
    if (!isFolder) {
      const put = putContent(disk, context, { path, bytes, hash });
      if (header.mode !== undefined) touchEntry(disk, context.writer, path, { mode: modeOf(header.mode) });
      return limitDiffs(put.changes, progress.changes);
    }
    if (path !== ".") makeFolder(disk, context.writer, path);
    return [];
  });
  progress.changes.push(...changes);
}

interface Archive {
  readonly path: string;
  readonly key: string | undefined;
  readonly body: ReadableStream<Uint8Array> | null;
}

const isRefusal = (error: unknown): error is SandboxError => error instanceof SandboxError;

/** Returns a refusal that names its entry; other errors stay. */
const withName = (error: unknown, name: string): unknown =>
  isRefusal(error) && !error.message.includes(name)
    ? new SandboxError(error.code, `${name}: ${error.message}`)
    : error;

/** What ended the unpacking; null as long as nothing did. */
interface Ending {
  by: unknown;
}

/**
 * Counts the bytes of an archive as they arrive, since its decoder takes in all that it is given. After the end of the
 * unpacking the rest is read and dropped; otherwise its sender would be cut off before the answer.
 */
const countBytes = (
  take: (count: number) => void,
  ending: Ending,
): TransformStream<Uint8Array, Uint8Array> => {
  let size = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      if (ending.by !== null) return;
      size += chunk.length;
      try {
        if (size > mostArchived)
          fail(
            "payload_too_large",
            `an archive may have at most ${mostArchived} bytes, its empty end included`,
          );
        take(chunk.length);
        controller.enqueue(chunk);
      } catch (error) {
        ending.by = error;
      }
    },
  });
};

/** Takes the entries of an archive one after the other, up to the first refused one. */
async function takeEntries(
  entries: AsyncIterable<ParsedTarEntry>,
  ending: Ending,
  take: (entry: ParsedTarEntry) => Promise<void>,
): Promise<void> {
  try {
    for await (const entry of entries) {
      if (ending.by === null)
        await take(entry).catch((error: unknown) => {
          ending.by ??= withName(error, entry.header.name);
        });
      await entry.body.cancel().catch(() => undefined);
    }
  } catch (error) {
    ending.by ??= error;
  }
}

/** Unpacks an archive into a folder, entry by entry as they arrive: those before a refused one stay. */
export async function unpackFolder(
  disk: Disk,
  context: ChangeContext,
  { path, key, body }: Archive,
): Promise<ChangeOutcome> {
  const progress: Progress = { base: path, changes: [], entries: 0, bytes: 0, names: 0 };
  const ending: Ending = { by: null };
  await holdBytes((take, signal) => {
    const archive = (body ?? new Blob([]).stream())
      .pipeThrough(countBytes(take, ending))
      .pipeThrough(createTarDecoder({ strict: true }), { signal });
    return takeEntries(archive, ending, (entry) => takeEntry(disk, context, { key }, progress, entry));
  });
  if (isRefusal(ending.by)) throw ending.by;
  if (ending.by !== null)
    fail("invalid_request", `the body is not a complete tar archive: ${(ending.by as Error).message}`);
  const outcome = { changes: progress.changes };
  return key === undefined ? outcome : (completeKey(disk, key) ?? outcome);
}
