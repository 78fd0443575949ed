import type * as z from "zod";
import type {
  ChangeArguments,
  ChangeOperation,
  ChangeOutcome,
  FileChange,
  Preconditions,
} from "../../contract.ts";
import { workspacePath } from "../../paths.ts";
import { sha256Hex } from "../../sha256.ts";
import { fail } from "../errors.ts";
import { changeBodies, parseBody } from "../requests.ts";
import { editText, textOf } from "./edit-text.ts";
import type { Disk, Entry } from "./files.ts";
import { checkClosed, listChildren, contentOf, hashOf, putFile } from "./files.ts";
import { requireEntry, requireFile, requireReadable, locate } from "./locate.ts";
import type { FilePatch } from "./patch-text.ts";
import { applyHunks, parsePatch } from "./patch-text.ts";
import { checkUnseen, recordSeen } from "./seen.ts";
import type { Writer } from "./tree.ts";
import { checkWritable, copyTree, makeFolder, moveTree, removeTree, walk } from "./tree.ts";
import { unifiedDiff } from "./unified-diff.ts";

/** Author of a change, with its preconditions. */
export interface ChangeContext {
  readonly writer: Writer;
  readonly preconditions: Preconditions;
}

const maxDiff = 64 * 1024;

const maxDiffed = 1024 * 1024;

/** Number of changes that one answer names, and of characters of their paths together. */
export const maxListed = 2_000;
export const maxNames = 300_000;

/** Bytes of files that one change holds for comparison, and characters of its diffs. */
const maxHeld = 8 * 1024 * 1024;

const maxDiffs = 192 * 1024;

function textIfAny(bytes: Uint8Array): string | null {
  if (bytes.length > maxDiffed || bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Returns the diff for an event: absent for binary and very large files, cut at 64 KiB. */
function diffOf(path: string, before: Uint8Array, after: Uint8Array): { diff?: string } {
  const [old, now] = [textIfAny(before), textIfAny(after)];
  if (old === null || now === null) return {};
  const diff = unifiedDiff(path, path, old, now);
  if (diff.length * 3 <= maxDiff || new TextEncoder().encode(diff).length <= maxDiff) return { diff };
  const cut = diff.slice(0, 20_000);
  return { diff: `${cut.slice(0, cut.lastIndexOf("\n") + 1)}[the rest of this diff was omitted]\n` };
}

const nothing = new Uint8Array();

/** Files and links by path, each with its content if it can be compared. */
type Contents = ReadonlyMap<string, Uint8Array | null>;

const noFiles: Contents = new Map();

function contentsAt(disk: Disk, path: string): Contents {
  const place = locate(disk, path, false);
  const contents = new Map<string, Uint8Array | null>();
  let room = maxHeld;
  for (const { path: at, entry } of place.entry === null ? [] : walk(disk, place.path, place.entry)) {
    if (entry.type === "directory") continue;
    const held = entry.type === "file" && entry.size <= Math.min(room, maxDiffed);
    if (held) room -= entry.size;
    contents.set(at, held ? contentOf(disk, entry) : null);
  }
  return contents;
}

/** Returns as many of these paths as one answer names. */
function listed(paths: readonly string[]): readonly string[] {
  let room = maxNames;
  return paths.slice(0, maxListed).filter((path) => (room -= path.length) >= 0);
}

/** Returns the changes of many files, with as many paths and diffs as fit into one answer. */
function changesBetween(before: Contents, after: Contents): FileChange[] {
  let room = maxDiffs;
  const changeOf = (path: string): FileChange => {
    const [old, now] = [before.get(path), after.get(path)];
    const shown =
      old === null || now === null || room <= 0 ? {} : diffOf(path, old ?? nothing, now ?? nothing);
    room -= shown.diff?.length ?? 0;
    if (now === undefined) return { path, op: "delete", ...shown };
    return { path, op: old === undefined ? "create" : "modify", ...shown };
  };
  const paths = [...new Set([...after.keys(), ...before.keys()])];
  return listed(paths).map(changeOf);
}

/** Returns whether a header names an entry: `*` is any, otherwise ETags of files. */
function isNamed(disk: Disk, entry: Entry | null, header: string): boolean {
  if (entry === null) return false;
  if (header.trim() === "*") return true;
  const tags = header.split(",").map((tag) => tag.trim().replaceAll('"', ""));
  return entry.type === "file" && tags.includes(hashOf(disk, entry));
}

function checkMatch(
  disk: Disk,
  path: string,
  entry: Entry | null,
  { ifMatch, ifNoneMatch }: Preconditions,
): void {
  if (ifMatch !== undefined && !isNamed(disk, entry, ifMatch))
    fail("precondition", `${path} no longer has the content of If-Match; read it again`);
  if (ifNoneMatch !== undefined && isNamed(disk, entry, ifNoneMatch))
    fail("precondition", `${path} exists already, which If-None-Match excludes`);
}

/** Whole new content of a file. */
interface FileContent {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly hash: string;
}

/** Writes one file for this actor, unless it would overwrite changes that the actor has not seen. */
function put(disk: Disk, context: ChangeContext, { path, bytes, hash }: FileContent): FileChange {
  const place = locate(disk, path);
  const { path: physical, entry } = place;
  if (entry?.type === "directory") fail("conflict", `${path} is a folder; a file cannot replace it`);
  checkClosed(disk, physical, "write");
  checkWritable(context.writer, physical);
  checkUnseen(disk, context.writer.actor, physical, entry);
  const before = entry === null || entry.size > maxDiffed ? nothing : contentOf(disk, entry);
  recordSeen(disk, context.writer.actor, physical, putFile(disk, place, bytes, context.writer.name, hash));
  const shown = entry !== null && entry.size > maxDiffed ? {} : diffOf(physical, before, bytes);
  return { path: physical, op: entry === null ? "create" : "modify", ...shown };
}

const putText = (disk: Disk, context: ChangeContext, path: string, text: string): FileChange => {
  const bytes = new TextEncoder().encode(text);
  return put(disk, context, { path, bytes, hash: sha256Hex(bytes) });
};

/** Replaces the whole content of a file (`PUT /file`). */
export function putContent(disk: Disk, context: ChangeContext, content: FileContent): ChangeOutcome {
  checkMatch(disk, content.path, locate(disk, content.path).entry, context.preconditions);
  const { bytes, hash } = content;
  return { changes: [put(disk, context, content)], file: { size: bytes.length, sha256: hash } };
}

const readText = (disk: Disk, path: string): string =>
  textOf(path, contentOf(disk, requireReadable(disk, path).entry));

function edit(disk: Disk, context: ChangeContext, args: ChangeArguments["edit"]): ChangeOutcome {
  const path = workspacePath(args.path);
  if (args.old_text !== "") {
    checkMatch(disk, path, locate(disk, path).entry, context.preconditions);
    const text = editText(path, readText(disk, path), args.old_text, args.new_text ?? "");
    return { changes: [putText(disk, context, path, text)] };
  }
  if (locate(disk, path, false).entry !== null) {
    fail("exists", `${path} exists already; an empty old_text only creates files`);
  }
  return { changes: [putText(disk, context, path, args.new_text ?? "")] };
}

function patch(disk: Disk, context: ChangeContext, args: ChangeArguments["patch"]): ChangeOutcome {
  const path = workspacePath(args.path);
  checkMatch(disk, path, locate(disk, path).entry, context.preconditions);
  const text = args.hunks.reduce(
    (current, hunk, index) => {
      if (hunk.old_text === "") fail("invalid_request", `hunks[${index}].old_text is empty`);
      return editText(`${path}, hunk ${index + 1}`, current, hunk.old_text, hunk.new_text ?? "");
    },
    readText(disk, path),
  );
  return { changes: [putText(disk, context, path, text)] };
}

function removal(disk: Disk, context: ChangeContext, path: string, recursive: boolean): FileChange[] {
  const place = requireEntry(disk, path, false);
  if (place.entry.type === "directory" && !recursive && listChildren(disk, place.entry.id).length > 0) {
    fail("conflict", `${path} is a folder with entries; pass recursive: true to delete it`);
  }
  const before = contentsAt(disk, path);
  removeTree(disk, context.writer, place.path, place.entry);
  return changesBetween(before, noFiles);
}

function applyOne(disk: Disk, context: ChangeContext, file: FilePatch): FileChange[] {
  if (file.kind === "delete") {
    requireFile(disk, file.path);
    return removal(disk, context, file.path, false);
  }
  if (file.kind === "add") {
    if (locate(disk, file.path, false).entry !== null)
      fail("exists", `${file.path} exists already; update it instead`);
    return [putText(disk, context, file.path, file.content)];
  }
  const text = readText(disk, file.path);
  const change = putText(disk, context, file.path, applyHunks(file.path, text, file.hunks));
  if (file.moveTo === undefined) return [change];
  const moved = moveTree(disk, context.writer, {
    source: file.path,
    destination: file.moveTo,
    overwrite: false,
  });
  return [{ ...change, path: moved.to, op: "move", from: moved.from }];
}

/** Keeps as many diffs as fit into one answer, after those that it already holds. */
export function limitDiffs(
  changes: readonly FileChange[],
  before: readonly FileChange[] = [],
): readonly FileChange[] {
  let room = before.reduce((left, { diff = "" }) => left - diff.length, maxDiffs);
  return changes.map(({ diff, ...change }) => {
    if (diff === undefined || room <= 0) return change;
    room -= diff.length;
    return { ...change, diff };
  });
}

function applyPatch(disk: Disk, context: ChangeContext, args: ChangeArguments["apply_patch"]): ChangeOutcome {
  const letters = { create: "A", modify: "M", delete: "D", move: "R" } as const;
  const changes = parsePatch(args.patch).flatMap((file) => applyOne(disk, context, file));
  const lines = changes.map(
    ({ op, path, from }) => `${letters[op]} ${from === undefined ? "" : `${from} -> `}${path}`,
  );
  return { changes: limitDiffs(changes), message: lines.join("\n") };
}

function copy(disk: Disk, context: ChangeContext, args: ChangeArguments["copy"]): ChangeOutcome {
  const [source, destination] = [workspacePath(args.source), workspacePath(args.destination)];
  const before = contentsAt(disk, destination);
  const { to, skipped } = copyTree(disk, context.writer, {
    source,
    destination,
    overwrite: args.overwrite ?? false,
  });
  const changes = changesBetween(before, contentsAt(disk, to));
  return skipped.length === 0
    ? { changes }
    : { changes, message: `Omitted, since they lead out of the workspace: ${skipped.join(", ")}` };
}

/** Change that was read from a request and is ready for its transaction. */
interface PreparedChange {
  readonly writablePaths: readonly string[] | undefined;
  readonly perform: (disk: Disk, context: ChangeContext) => ChangeOutcome;
}

const prepared =
  <Args extends { readonly writable_paths?: readonly string[] }>(
    schema: z.ZodType<Args>,
    perform: (disk: Disk, context: ChangeContext, args: Args) => ChangeOutcome,
  ) =>
  (body: string): PreparedChange => {
    const args = parseBody(schema, body);
    return {
      writablePaths: args.writable_paths,
      perform: (disk, context) => perform(disk, context, args),
    };
  };

/** Returns the readers of changing operations (`POST /fs/:op`). Their results run inside the transaction of `once`. */
export const changeOperations: Readonly<Record<ChangeOperation, (body: string) => PreparedChange>> = {
  edit: prepared(changeBodies.edit, edit),
  patch: prepared(changeBodies.patch, patch),
  apply_patch: prepared(changeBodies.apply_patch, applyPatch),
  copy: prepared(changeBodies.copy, copy),
  mkdir: prepared(changeBodies.mkdir, (disk, context, args) => {
    makeFolder(disk, context.writer, workspacePath(args.path));
    return { changes: [] };
  }),
  delete: prepared(changeBodies.delete, (disk, context, args) => {
    const path = workspacePath(args.path);
    checkMatch(disk, path, requireEntry(disk, path, false).entry, context.preconditions);
    return { changes: removal(disk, context, path, args.recursive ?? false) };
  }),
  move: prepared(changeBodies.move, (disk, context, args) => {
    const [source, destination] = [workspacePath(args.source), workspacePath(args.destination)];
    const before = contentsAt(disk, destination);
    const moved = moveTree(disk, context.writer, { source, destination, overwrite: args.overwrite ?? false });
    const replaced = changesBetween(before, noFiles);
    return { changes: [...replaced, { path: moved.to, op: "move", from: moved.from }] };
  }),
};
