import type { Draft, StoredAnswer } from "./draft.ts";

/** Answers to commands with keys are kept, so that a repeated command gets the answer of the first. */

const dayMs = 86_400_000;

/** An answer is kept for so many milliseconds. */
export const answersKeptMs = 7 * dayMs;

/** An answer is stored; expired ones are removed once a day, since finding them reads them all. */
export const keepAnswer = (draft: Draft, answer: StoredAnswer): void => {
  draft.answers.push(answer);
  const since = answer.at - answersKeptMs;
  if (since - (draft.state.keysSince ?? -Infinity) < dayMs) return;
  draft.state.keysSince = since;
};
