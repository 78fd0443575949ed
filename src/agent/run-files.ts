import type { FileChange } from "../sandbox/contract.ts";
import type { Counters } from "./state.ts";

/** Files that a run has changed, each in one list: by what it comes to from the run's start (SE-44). */

type Files = Counters["files"];
type Kind = keyof Files;

const kindOf = (files: Files, path: string): Kind | null => {
  const kinds: readonly Kind[] = ["created", "modified", "deleted"];
  return kinds.find((kind) => files[kind].includes(path)) ?? null;
};

const moved = (files: Files, path: string, to: Kind | null): Files => {
  const from = kindOf(files, path);
  if (from === to) return files;
  return {
    ...files,
    ...(from === null ? {} : { [from]: files[from].filter((each) => each !== path) }),
    ...(to === null ? {} : { [to]: [...files[to], path] }),
  };
};

/** A file that was deleted before in this run was there at its start: written again, it is a changed one. */
const written = (files: Files, path: string, isNew: boolean): Files => {
  const before = kindOf(files, path);
  if (before === "deleted") return moved(files, path, "modified");
  return before === null ? moved(files, path, isNew ? "created" : "modified") : files;
};

const removed = (files: Files, path: string): Files =>
  moved(files, path, kindOf(files, path) === "created" ? null : "deleted");

const after = (files: Files, { op, path, from }: FileChange): Files => {
  if (op === "delete") return removed(files, path);
  if (op === "move") return written(from === undefined ? files : removed(files, from), path, true);
  return written(files, path, op === "create");
};

/** The lists after some changes, in their order. */
export const filesAfter = (files: Files, changes: readonly FileChange[]): Files =>
  changes.reduce(after, files);

export const noFiles: Files = { modified: [], created: [], deleted: [] };

/** Newest files of each kind that a thread remembers. */
const mostKept = 200;

const changesOf = ({ created, modified, deleted }: Files): readonly FileChange[] => [
  ...created.map((path) => ({ op: "create", path }) as const),
  ...modified.map((path) => ({ op: "modify", path }) as const),
  ...deleted.map((path) => ({ op: "delete", path }) as const),
];

/** What a thread remembers after a run: summaries tell of more than one run (EF-22). The same lists if the run touched none. */
export const filesKept = (before: Files, run: Files): Files => {
  const changes = changesOf(run);
  if (changes.length === 0) return before;
  const { created, modified, deleted } = filesAfter(before, changes);
  return {
    created: created.slice(-mostKept),
    modified: modified.slice(-mostKept),
    deleted: deleted.slice(-mostKept),
  };
};
