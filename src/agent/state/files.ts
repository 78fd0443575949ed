import type { FileChange } from "../../sandbox/contract.ts";
import type { Retry } from "./ask.ts";

/** Sorts each file that a run has changed into one list, by its change since the run's start. */

export type ChangedFiles = Readonly<Record<"modified" | "created" | "deleted", readonly string[]>>;

type FileChangeKind = keyof ChangedFiles;

const changeKindOf = (files: ChangedFiles, path: string): FileChangeKind | null => {
  const kinds: readonly FileChangeKind[] = ["created", "modified", "deleted"];
  return kinds.find((kind) => files[kind].includes(path)) ?? null;
};

const moveFile = (files: ChangedFiles, path: string, to: FileChangeKind | null): ChangedFiles => {
  const from = changeKindOf(files, path);
  if (from === to) return files;
  return {
    ...files,
    ...(from === null ? {} : { [from]: files[from].filter((each) => each !== path) }),
    ...(to === null ? {} : { [to]: [...files[to], path] }),
  };
};

/** Applies a write: a file that the run deleted was there at its start, so it counts as changed if written again. */
const applyWrite = (files: ChangedFiles, path: string, isNew: boolean): ChangedFiles => {
  const before = changeKindOf(files, path);
  if (before === "deleted") return moveFile(files, path, "modified");
  return before === null ? moveFile(files, path, isNew ? "created" : "modified") : files;
};

const applyRemoval = (files: ChangedFiles, path: string): ChangedFiles =>
  moveFile(files, path, changeKindOf(files, path) === "created" ? null : "deleted");

const applyFileChange = (files: ChangedFiles, { op, path, from }: FileChange): ChangedFiles => {
  if (op === "delete") return applyRemoval(files, path);
  if (op === "move") return applyWrite(from === undefined ? files : applyRemoval(files, from), path, true);
  return applyWrite(files, path, op === "create");
};

/** Applies the changes to the lists in order. */
export const applyFileChanges = (files: ChangedFiles, changes: readonly FileChange[]): ChangedFiles =>
  changes.reduce(applyFileChange, files);

export const noFiles: ChangedFiles = { modified: [], created: [], deleted: [] };

/** Number of the newest files of each kind that a thread remembers. */
const mostKeptFiles = 200;

/** Returns the changes that lead to these lists. */
export const changesOf = ({ created, modified, deleted }: ChangedFiles): readonly FileChange[] => [
  ...created.map((path) => ({ op: "create", path }) as const),
  ...modified.map((path) => ({ op: "modify", path }) as const),
  ...deleted.map((path) => ({ op: "delete", path }) as const),
];

/** Adds the files of a run to those of its thread, since summaries cover several runs; unchanged if it touched none. */
export const mergeFiles = (before: ChangedFiles, run: ChangedFiles): ChangedFiles => {
  const changes = changesOf(run);
  if (changes.length === 0) return before;
  const { created, modified, deleted } = applyFileChanges(before, changes);
  return {
    created: created.slice(-mostKeptFiles),
    modified: modified.slice(-mostKeptFiles),
    deleted: deleted.slice(-mostKeptFiles),
  };
};

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
