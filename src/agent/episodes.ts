import { append } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { headAndTail, isLonger } from "./cut.ts";
import type { Input } from "./state.ts";

/** What earlier attempts at an input's work came to, as its sender tells it (SE-42). */

const most = 8;
const longest = 4_000;
const header = "What earlier attempts came to:";

const noteOf = (summaries: readonly string[]): string =>
  [header, ...summaries.map((summary, index) => `${index + 1}. ${summary}`)].join("\n");

/** A JSON array of texts may come as text (S4's form); any other text is one summary. */
const listOf = (text: string): readonly unknown[] => {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value;
  } catch {
    return [text];
  }
  return [text];
};

/** The summaries that are told: not blank, the newest 8, as many of them as fit into 4 000 characters. */
export const toldEpisodes = (given: string | readonly string[]): readonly string[] => {
  const all = typeof given === "string" ? listOf(given) : given;
  let told = all
    .map((each) => String(each).trim())
    .filter((each) => each !== "")
    .slice(-most);
  while (told.length > 1 && isLonger(noteOf(told), longest)) told = told.slice(1);
  const [only = ""] = told;
  const room = longest - noteOf([""]).length;
  return told.length === 1 ? [headAndTail(only, room)] : told;
};

/** One numbered note before the input; without summaries nothing. */
export const episodesNoted = (draft: Draft, { thread, prior_episode_summaries: told = [] }: Input): void => {
  if (told.length === 0) return;
  append(draft, thread, {
    role: "user",
    origin: "system",
    sender: "episodes",
    marks: ["note"],
    parts: [{ type: "text", text: noteOf(told) }],
  });
};
