import type { Draft, StoredAnswer } from "./draft.ts";

/** Keeps answers to commands with keys, so that a repeated command gets the answer of the first. */

const dayMs = 86_400_000;

/** Milliseconds for which an answer is kept. */
export const answersKeptMs = 7 * dayMs;

/** Stores an answer; removes expired ones once a day, since finding them reads them all. */
export const keepAnswer = (draft: Draft, answer: StoredAnswer): void => {
  draft.answers.push(answer);
  const since = answer.at - answersKeptMs;
  if (since - (draft.state.keysSince ?? -Infinity) < dayMs) return;
  draft.state.keysSince = since;
};
