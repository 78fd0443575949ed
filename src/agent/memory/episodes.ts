import { parseJson } from "../../chat/json.ts";
import { truncateText, isLonger } from "../../chat/truncate.ts";
import type { Input } from "../state/input.ts";
import type { Draft } from "../transaction/draft.ts";
import { appendNote } from "../transaction/draft.ts";

/** Earlier attempts at an input's work are summarized by its sender and by the failed run. */

const mostEpisodes = 8;

const longestNote = 4_000;

const header = "Results of earlier attempts:";

const noteOf = (summaries: readonly string[]): string =>
  [header, ...summaries.map((summary, index) => `${index + 1}. ${summary}`)].join("\n");

/** Returns the summaries of a text: a JSON array of texts, or any other text as one summary. */
const listOf = (text: string): readonly unknown[] => {
  const value = parseJson(text);
  return Array.isArray(value) && value.every((each) => typeof each === "string") ? value : [text];
};

/**
 * Selects the summaries, including that of the thread's `own` failed run: not blank, the newest 8, as many as
 * fit into 4 000 characters.
 */
export const selectEpisodes = (given: string | readonly string[], own = ""): readonly string[] => {
  const listed = typeof given === "string" ? listOf(given) : given;
  const all = listed.includes(own) ? listed : [...listed, own];
  let kept = all
    .map((each) => String(each).trim())
    .filter((each) => each !== "")
    .slice(-mostEpisodes);
  while (kept.length > 1 && isLonger(noteOf(kept), longestNote)) kept = kept.slice(1);
  const [only = ""] = kept;
  const room = longestNote - noteOf([""]).length;
  return kept.length === 1 ? [truncateText(only, room)] : kept;
};

/** Adds one numbered note with the summaries before the input; none without summaries. */
export const appendEpisodes = (
  draft: Draft,
  { thread, prior_episode_summaries: summaries = [] }: Input,
): void => {
  if (summaries.length > 0) appendNote(draft, thread, noteOf(summaries), "episodes");
};
