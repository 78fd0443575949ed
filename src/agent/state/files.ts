import type { FileChange } from "../../sandbox/contract.ts";
import type { Retry } from "./ask.ts";

/** Sorts the files that a run has changed into lists, each file into one, by its change since the run's start. */

export type ChangedFiles = Readonly<Record<"modified" | "created" | "deleted", readonly string[]>>;

type FileChangeKind = keyof ChangedFiles;

/** Kinds by path, in the order in which files came to their kinds. */
type FileKinds = Map<string, FileChangeKind>;

/** Number of the newest files of each kind that are remembered. */
const mostKeptFiles = 200;

const moveFile = (kinds: FileKinds, path: string, to: FileChangeKind | null): void => {
  if (kinds.get(path) === to) return;
  kinds.delete(path);
  if (to !== null) kinds.set(path, to);
};

/** Applies a write: a file that the run deleted was there at its start, so it counts as changed if written again. */
const applyWrite = (kinds: FileKinds, path: string, isNew: boolean): void => {
  const before = kinds.get(path);
  if (before === "deleted") moveFile(kinds, path, "modified");
  else if (before === undefined) moveFile(kinds, path, isNew ? "created" : "modified");
};

const applyRemoval = (kinds: FileKinds, path: string): void =>
  moveFile(kinds, path, kinds.get(path) === "created" ? null : "deleted");

const applyFileChange = (kinds: FileKinds, { op, path, from }: FileChange): void => {
  if (op === "delete") return applyRemoval(kinds, path);
  if (op === "move" && from !== undefined) applyRemoval(kinds, from);
  applyWrite(kinds, path, op === "create" || op === "move");
};

/** Applies the changes to the lists in order, and keeps the newest 200 files of each: what a run stores does not grow. */
export const applyFileChanges = (files: ChangedFiles, changes: readonly FileChange[]): ChangedFiles => {
  if (changes.length === 0) return files;
  const kinds: FileKinds = new Map();
  for (const kind of ["created", "modified", "deleted"] as const)
    for (const path of files[kind]) kinds.set(path, kind);
  for (const change of changes) applyFileChange(kinds, change);
  const newest = (kind: FileChangeKind): readonly string[] =>
    [...kinds].flatMap(([path, each]) => (each === kind ? [path] : [])).slice(-mostKeptFiles);
  return { created: newest("created"), modified: newest("modified"), deleted: newest("deleted") };
};

export const noFiles: ChangedFiles = { modified: [], created: [], deleted: [] };

/** Returns the changes that lead to these lists. */
export const changesOf = ({ created, modified, deleted }: ChangedFiles): readonly FileChange[] => [
  ...created.map((path) => ({ op: "create", path }) as const),
  ...modified.map((path) => ({ op: "modify", path }) as const),
  ...deleted.map((path) => ({ op: "delete", path }) as const),
];

/** Adds the files of a run to those of its thread, since summaries cover several runs; unchanged if it touched none. */
export const mergeFiles = (before: ChangedFiles, run: ChangedFiles): ChangedFiles =>
  applyFileChanges(before, changesOf(run));

/** File that came with the session's creation; its content is a stored blob. */
export interface InitialFile {
  readonly path: string;
  readonly blob: string;
  readonly encoding: "utf-8" | "base64";
}

/**
 * A person's change of the workspace that is not confirmed yet. Its id is the key under which the sandbox
 * makes it, at most once. The router reports the outcome; otherwise the sandbox is asked for it at `until`.
 */
export interface PendingFileChange extends Retry {
  readonly id: string;
  readonly path: string;
  /** Key under which the answer is kept; null if the caller gave none. */
  readonly answerKey: string | null;
  /** Content that a request with the same key must have; null: the content of the file that is written. */
  readonly fingerprint: string | null;
}

/** File that the workspace refused, and why. */
export interface LostFile {
  readonly path: string;
  readonly reason: string;
}
