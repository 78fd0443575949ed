import type { FileChange } from "../../sandbox/contract.ts";
import type { LostFile } from "../state/files.ts";
import type { Draft } from "../transaction/draft.ts";
import { emit } from "../transaction/draft.ts";

/** Reports a person's file changes as `file_change` events, like a tool's. */
export const reportPersonsChanges = (draft: Draft, changes: readonly FileChange[]): void => {
  for (const change of changes) emit(draft, "main", "file_change", { ...change, tool: null, message: null });
};

/**
 * Records that the files of the creation are in the workspace, apart from those that it refused; removes
 * their stored copies.
 */
export const settleInitialFiles = (
  draft: Draft,
  changes: readonly FileChange[],
  lost: readonly LostFile[],
): void => {
  for (const { blob } of draft.state.initialFiles ?? []) draft.blobs.push({ id: blob, text: "" });
  draft.state.initialFiles = null;
  reportPersonsChanges(draft, changes);
  if (lost.length === 0) return;
  draft.state.lostFiles = lost;
  const message = `the workspace refused files of the session's creation: ${lost.map(({ path }) => path).join(", ")}`;
  emit(draft, "main", "error", { code: "workspace_lost", message, retryable: false });
};
