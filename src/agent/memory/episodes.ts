import { parseJson } from "../../chat/json.ts";
import type { Message, ToolResultPart } from "../../chat/message.ts";
import { firstCharacters, preview, textOf } from "../../chat/text.ts";
import { truncateText, isLonger } from "../../chat/truncate.ts";
import type { Input } from "../state/input.ts";
import type { Draft } from "../transaction/draft.ts";
import { appendNote } from "../transaction/draft.ts";

/** Earlier attempts at an input's work are summarized by its sender and by the failed run. */

const mostEpisodes = 8;

const longestNote = 4_000;

const mostCalls = 24;

const longestSummary = 2_000;

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

const episodeOf = (name: string, args: string, { status, content }: ToolResultPart): string => {
  const outcome = status === "ok" ? "ok" : "failed";
  return `${name}(${preview(args, 200)}) ${outcome}: ${preview(textOf(content), 160)}`;
};

/** The calls of a run get a line each: the newest 24, as many of them as fit into 2 000 characters. */
export const summarizeCalls = (chat: readonly Message[], run: string): string => {
  const parts = chat.filter((message) => message.run === run).flatMap((message) => message.parts);
  const results = new Map(parts.flatMap((part) => (part.type === "tool_result" ? [[part.call, part]] : [])));
  const calls = parts.filter((part) => part.type === "tool_call").slice(-mostCalls);
  let lines = calls.flatMap(({ id, name, args }) => {
    const result = results.get(id);
    return result === undefined ? [] : [episodeOf(name, args, result)];
  });
  while (lines.length > 1 && isLonger(lines.join("\n"), longestSummary)) lines = lines.slice(1);
  return firstCharacters(lines.join("\n"), longestSummary);
};

/** One numbered note with the summaries is added before the input; none without summaries. */
export const appendEpisodes = (draft: Draft, { thread, prior_episode_summaries: told = [] }: Input): void => {
  if (told.length > 0) appendNote(draft, thread, noteOf(told), "episodes");
};
