import { parseJson } from "../../chat/json.ts";
import { truncateText, isLonger } from "../../chat/truncate.ts";
import type { Input } from "../state/input.ts";
import type { Draft } from "../transaction/draft.ts";
import { appendNote } from "../transaction/draft.ts";

/** Earlier attempts at an input's work are summarized by its sender and by the failed run. */

const mostEpisodes = 8;

const longestNote = 4_000;

const header = "What earlier attempts came to:";

const noteOf = (summaries: readonly string[]): string =>
  [header, ...summaries.map((summary, index) => `${index + 1}. ${summary}`)].join("\n");

/** A JSON array of texts may come as text; any other text is one summary. */
const listOf = (text: string): readonly unknown[] => {
  const value = parseJson(text);
  return Array.isArray(value) && value.every((each) => typeof each === "string") ? value : [text];
};

/**
 * The selected summaries include that of the thread's `own` failed run: not blank, the newest 8, as many as fit into
 * 4 000 characters.
 */
export const selectEpisodes = (given: string | readonly string[], own = ""): readonly string[] => {
  const listed = typeof given === "string" ? listOf(given) : given;
  const all = listed.includes(own) ? listed : [...listed, own];
  let told = all
    .map((each) => String(each).trim())
    .filter((each) => each !== "")
    .slice(-mostEpisodes);
  while (told.length > 1 && isLonger(noteOf(told), longestNote)) told = told.slice(1);
  const [only = ""] = told;
  const room = longestNote - noteOf([""]).length;
  return told.length === 1 ? [truncateText(only, room)] : told;
};

/** One numbered note with the summaries is added before the input; none without summaries. */
export const appendEpisodes = (draft: Draft, { thread, prior_episode_summaries: told = [] }: Input): void => {
  if (told.length > 0) appendNote(draft, thread, noteOf(told), "episodes");
};
