import type { FileChange, ChangeOutcome } from "../../sandbox/contract.ts";
import type { LostFile, PendingFileChange } from "../state/files.ts";
import { mostSandboxTries, postpone } from "../state/ask.ts";
import { keepAnswer } from "../transaction/entries.ts";
import type { Draft } from "../transaction/draft.ts";
import { emit, headAfter, selectThread } from "../transaction/draft.ts";

/**
 * Keeps account of files that persons put into the workspace. A change is stored before it is made, so that
 * it is reported even if its maker dies.
 */

/** Reports a person's file changes as `file_change` events, like a tool's. */
const reportPersonsChanges = (draft: Draft, changes: readonly FileChange[]): void => {
  for (const change of changes)
    emit(selectThread(draft, "main"), "file_change", { ...change, tool: null, message: null });
};

/** Records that the files of the creation are in the workspace, but those that it refused; removes their copies. */
export const settleInitialFiles = (
  draft: Draft,
  changes: readonly FileChange[],
  lost: readonly LostFile[],
): void => {
  for (const { blob } of draft.state.initialFiles) draft.blobs.push({ id: blob, text: "" });
  draft.state.initialFiles = [];
  reportPersonsChanges(draft, changes);
  if (lost.length === 0) return;
  draft.state.lostFiles = lost;
  const message = `the workspace refused files of the session's creation: ${lost.map(({ path }) => path).join(", ")}`;
  emit(selectThread(draft, "main"), "error", { code: "workspace_lost", message, retryable: false });
};

/** Milliseconds after which the sandbox is asked for the outcome of a change. */
const longestChangeMs = 300_000;

const findChange = ({ state }: Draft, id: string): PendingFileChange | undefined =>
  state.fileChanges.find((each) => each.id === id);

const replaceChange = ({ state }: Draft, id: string, next: PendingFileChange | null): void => {
  state.fileChanges = state.fileChanges.flatMap((each) => (each.id === id ? (next ?? []) : each));
};

/** Drops a change that was not made and never will be. */
export const dropFileChange = (draft: Draft, id: string): void => replaceChange(draft, id, null);

/**
 * Abandons a change whose maker was not sent on to make it: a request with its key goes on with it; without a
 * key none can.
 */
export const abandonFileChange = (draft: Draft, id: string): void => {
  const change = findChange(draft, id);
  if (change?.answerKey === null) dropFileChange(draft, id);
};

/** Stores the intent, and that the session has a workspace. */
export const beginFileChange = (
  draft: Draft,
  change: Pick<PendingFileChange, "path" | "answerKey" | "fingerprint">,
): PendingFileChange => {
  const until = draft.context.now + longestChangeMs;
  const begun = { ...change, id: `change:${draft.context.random()}`, until, tries: 0 };
  draft.state.fileChanges = [...draft.state.fileChanges, begun];
  draft.state.sandboxed = true;
  draft.state.updatedAt = draft.context.now;
  return begun;
};

interface FileChangeAnswer {
  readonly status: 200 | 201;
  readonly json: string;
}

const answerTo = (draft: Draft, path: string, { changes, file }: ChangeOutcome): FileChangeAnswer => ({
  status: changes.some(({ op }) => op === "create") ? 201 : 200,
  json: JSON.stringify({ path, changed: changes.length, ...file, seq: headAfter(draft) }),
});

/** Reports a change once and returns the answer; one made in part can be sent again under its key. */
export const settleFileChange = (
  draft: Draft,
  { id, path, fingerprint }: Pick<PendingFileChange, "id" | "path" | "fingerprint">,
  outcome: ChangeOutcome,
): FileChangeAnswer => {
  const change = findChange(draft, id);
  if (change !== undefined) reportPersonsChanges(draft, outcome.changes);
  draft.state.updatedAt = draft.context.now;
  const answer = answerTo(draft, path, outcome);
  if (change === undefined) return answer;
  dropFileChange(draft, id);
  const { file, partial } = outcome;
  if (change.answerKey !== null && partial !== true)
    keepAnswer(draft, {
      ...answer,
      key: change.answerKey,
      fingerprint: change.fingerprint ?? fingerprint ?? file?.sha256 ?? "",
      at: draft.context.now,
    });
  return answer;
};

/** Marks a change whose outcome its maker does not know, so that the sandbox is asked now. */
export const questionFileChange = (draft: Draft, id: string): void => {
  const change = findChange(draft, id);
  if (change !== undefined) replaceChange(draft, id, { ...change, until: draft.context.now });
};

/** Postpones a change whose outcome the sandbox could not give: it is asked again later unless `final`. */
export const postponeFileChange = (draft: Draft, id: string, final: boolean): void => {
  const change = findChange(draft, id);
  if (change === undefined) return;
  const later = postpone(change, draft.context.now);
  if (!final && later.tries < mostSandboxTries) return replaceChange(draft, id, later);
  replaceChange(draft, id, null);
  const message = `the sandbox could not say whether ${change.path} was changed; look at the file`;
  emit(selectThread(draft, "main"), "error", { code: "sandbox_error", message, retryable: false });
};
