import { pauseAfter } from "../state/wait.ts";
import type { ChangeOutcome } from "../../sandbox/contract.ts";
import type { PendingFileChange } from "../state/files.ts";
import type { Session } from "../state/session.ts";
import { keepAnswer } from "../transaction/answers.ts";
import type { Draft, StoredAnswer } from "../transaction/draft.ts";
import { emit, headAfter } from "../transaction/draft.ts";
import { reportPersonsChanges } from "./initial-files.ts";

/** A person's change of the workspace is stored before it is made, so that it is told even if its maker dies. */

/** What became of a change is found out from the sandbox after so many milliseconds. */
const longestChangeMs = 300_000;

/** A sandbox that does not answer is asked so often, over a quarter of an hour. */
const mostTries = 10;

const firstPause = 1_000;

const setChanges = ({ state }: Draft, changes: readonly PendingFileChange[]): void => {
  state.fileChanges = changes.length === 0 ? null : changes;
};

const replaceChange = (draft: Draft, id: string, next: PendingFileChange | null): void =>
  setChanges(
    draft,
    (draft.state.fileChanges ?? []).flatMap((each) => (each.id === id ? (next ?? []) : each)),
  );

/** The change was not made and never will be. */
export const dropFileChange = (draft: Draft, id: string): void => replaceChange(draft, id, null);

/** Whoever began the change was not sent on to make it: a request with its key goes on with it, and without one none can. */
export const abandonFileChange = (draft: Draft, id: string): void => {
  const change = draft.state.fileChanges?.find((each) => each.id === id);
  if (change?.answerKey === null) dropFileChange(draft, id);
};

/** The intent is stored, and with it that the session has a workspace. */
export const beginFileChange = (
  draft: Draft,
  change: Pick<PendingFileChange, "path" | "answerKey" | "fingerprint">,
): PendingFileChange => {
  const until = draft.context.now + longestChangeMs;
  const begun = { ...change, id: `change:${draft.context.random()}`, until, tries: 0 };
  setChanges(draft, [...(draft.state.fileChanges ?? []), begun]);
  draft.state.sandboxed = true;
  draft.state.updatedAt = draft.context.now;
  return begun;
};

/** What a change's caller is told. */
interface FileChangeAnswer {
  readonly status: 200 | 201;
  readonly json: string;
}

const answerTo = (draft: Draft, path: string, { changes, file }: ChangeOutcome): FileChangeAnswer => ({
  status: changes.some(({ op }) => op === "create") ? 201 : 200,
  json: JSON.stringify({ path, changed: changes.length, ...file, seq: headAfter(draft) }),
});

const answerRow = (
  draft: Draft,
  { answerKey, fingerprint }: PendingFileChange,
  { file, partial }: ChangeOutcome,
  answer: FileChangeAnswer,
): readonly StoredAnswer[] =>
  answerKey === null || partial === true
    ? []
    : [
        {
          ...answer,
          key: answerKey,
          fingerprint: fingerprint ?? file?.sha256 ?? "",
          at: draft.context.now,
        },
      ];

/** The change was made: it is told once, and the answer to its caller is returned; one that was made in part can be sent again under its key. */
export const settleFileChange = (
  draft: Draft,
  { id, path, fingerprint }: Pick<PendingFileChange, "id" | "path" | "fingerprint">,
  outcome: ChangeOutcome,
): FileChangeAnswer => {
  const change = draft.state.fileChanges?.find((each) => each.id === id);
  if (change !== undefined) reportPersonsChanges(draft, outcome.changes);
  draft.state.updatedAt = draft.context.now;
  const answer = answerTo(draft, path, outcome);
  if (change === undefined) return answer;
  dropFileChange(draft, id);
  const found = { ...change, fingerprint: change.fingerprint ?? fingerprint };
  for (const row of answerRow(draft, found, outcome, answer)) keepAnswer(draft, row);
  return answer;
};

/** Whoever made the change does not know what became of it, so that the sandbox is asked now. */
export const questionFileChange = (draft: Draft, id: string): void => {
  const change = draft.state.fileChanges?.find((each) => each.id === id);
  if (change !== undefined) replaceChange(draft, id, { ...change, until: draft.context.now });
};

/** The sandbox could not say what became of a change: it is asked again later unless `final`. */
export const postponeFileChange = (draft: Draft, id: string, final: boolean): void => {
  const change = draft.state.fileChanges?.find((each) => each.id === id);
  if (change === undefined) return;
  const tries = change.tries + 1;
  if (!final && tries < mostTries) {
    const until = draft.context.now + pauseAfter(change.tries, firstPause);
    return replaceChange(draft, id, { ...change, tries, until });
  }
  replaceChange(draft, id, null);
  const message = `the sandbox could not say whether ${change.path} was changed; look at the file`;
  emit(draft, "main", "error", { code: "sandbox_error", message, retryable: false });
};

/** The sandbox has to be asked about these changes. */
export const dueFileChanges = ({ fileChanges }: Session, now: number): readonly PendingFileChange[] =>
  (fileChanges ?? []).filter(({ until }) => until <= now);

/** The next change is asked about then; null if none will be. */
export const fileChangesDueAt = ({ fileChanges }: Session, now: number): number | null => {
  const times = (fileChanges ?? []).flatMap(({ until }) => (until > now ? until : []));
  return times.length === 0 ? null : Math.min(...times);
};
