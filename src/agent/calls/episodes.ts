import type { ToolResultPart } from "../../chat/message.ts";
import { firstCharacters, preview, textOf } from "../../chat/text.ts";
import { isLonger } from "../../chat/truncate.ts";
import type { Call } from "../state/call.ts";
import type { Episode } from "../state/events.ts";
import type { Run } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { emit, runOf } from "../transaction/draft.ts";

/** An episode is a call in short. The events hold those of a run, so that no compaction removes them. */

const longestArgs = 200;

const longestOutcome = 160;

/** Number of the newest calls that a run's summary lists. */
export const mostEpisodes = 24;

const longestSummary = 2_000;

/** Reports a call that ran, or that the cache answered, right after its end. */
export const recordEpisode = (
  draft: Draft,
  threadId: string,
  { call, edited }: Pick<Call, "call" | "edited">,
  { status, content }: ToolResultPart,
): void => {
  const { id, name: tool, args } = call;
  const success = status === "ok";
  const shown = {
    args: preview(edited ?? args, longestArgs),
    summary: preview(textOf(content), longestOutcome),
  };
  emit(draft, threadId, "episode_recorded", { tool, success, ...shown }, { call: id });
  runOf(draft, threadId).counters.episodes += 1;
};

const episodeLine = ({ tool, args, success, summary }: Episode): string =>
  `${tool}(${args}) ${success ? "ok" : "failed"}: ${summary}`;

/** Returns the run's newest episodes: those that this draft adds, and stored ones before them. */
const newestEpisodes = (draft: Draft, { id, counters }: Run): readonly Episode[] => {
  const added = draft.events.flatMap((event) =>
    event.type === "episode_recorded" && event.run === id ? [event.data] : [],
  );
  const stored = Math.min(mostEpisodes, counters.episodes) - added.length;
  return stored <= 0 ? added.slice(-mostEpisodes) : [...draft.context.episodes(id, stored), ...added];
};

/** Returns a line for each of a run's newest 24 calls, as many as fit into 2 000 characters. */
export const summarizeRun = (draft: Draft, run: Run): string => {
  let lines = newestEpisodes(draft, run).map(episodeLine);
  while (lines.length > 1 && isLonger(lines.join("\n"), longestSummary)) lines = lines.slice(1);
  return firstCharacters(lines.join("\n"), longestSummary);
};
