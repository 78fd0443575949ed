import type { Json } from "../../chat/message.ts";
import { escapeTags } from "../../chat/render.ts";
import { cleanText } from "../../chat/text.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { truncateText } from "../../chat/truncate.ts";
import type { ChildEnd, EndedChild } from "../state/child.ts";
import type { Reflection } from "../state/records.ts";
import { lifetimeOf } from "../state/session.ts";
import type { Draft } from "../transaction/draft.ts";
import { writeEntry } from "../transaction/entries.ts";
import { postReflection } from "./memories.ts";

/** Passes lessons of failed called agents to those with a similar task. */

const longestRow = 4_096;

/** Most rows of a scope; the oldest leave first. */
export const mostReflections = 500;

const mostShown = 5;

const longestShown = 32_768;

const sharedWords = 2;

const shortenTexts = (items: readonly string[], share: number): readonly string[] =>
  items.slice(0, Math.max(1, Math.floor(10 * share))).map((item) => truncateText(item, 100));

const shortenReflection = (row: Reflection, share: number): Reflection => ({
  ...row,
  task: truncateText(row.task, Math.floor(1_000 * share)),
  summary: truncateText(row.summary, Math.floor(2_000 * share)),
  caveats: shortenTexts(row.caveats, share),
  files: shortenTexts(row.files, share),
});

const isSmall = (row: Reflection): boolean => utf8Length(JSON.stringify(row)) <= longestRow;

/** Cuts texts that are too long, so that a row has at most 4 KiB. */
export const fitReflection = (row: Reflection): Reflection => {
  const clean = { ...row, task: cleanText(row.task), summary: cleanText(row.summary) };
  const shares = [1, 0.5, 0.25, 0.125];
  return (
    shares.map((share) => shortenReflection(clean, share)).find(isSmall) ?? shortenReflection(clean, 0.0625)
  );
};

/** Words of four letters and more that say nothing about the subject of a text. */
export const stopWords: ReadonlySet<string> = new Set(
  [
    "about above after again against also although always among another because been before being below between",
    "both cannot could does doing done down during each either else ever every from further give gives given have",
    "having here hers herself himself however into itself just less like made make makes many more most much must",
    "myself neither never next none only onto other others ought ours ourselves over please same shall should since",
    "some such take than that their theirs them themselves then there therefore these they this those though through",
    "thus together under until upon used uses using very want wants well were what when where whether which while",
    "will with within without would your yours yourself yourselves",
  ].flatMap((line) => line.split(" ")),
);

/** Returns the informative words of a text: distinct, of at least four letters or digits, and no stop words. */
export const informativeWords = (text: string): ReadonlySet<string> =>
  new Set(
    (
      text
        .normalize("NFKC")
        .toLowerCase()
        .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
    ).filter((word) => [...word].length >= 4 && !stopWords.has(word)),
  );

const reflectionWords = ({ task, summary, caveats }: Reflection): ReadonlySet<string> =>
  informativeWords([task, summary, ...caveats].join("\n"));

const newestFirst = (a: Reflection, b: Reflection): number => b.at - a.at || (a.id < b.id ? 1 : -1);

/** Ranks rows about similar tasks, best first, then newest; a shared word counts more the fewer rows have it. */
export const matchReflections = (rows: readonly Reflection[], task: string): readonly Reflection[] => {
  const wanted = informativeWords(task);
  const found = rows.map((row) => ({ row, shared: reflectionWords(row).intersection(wanted) }));
  const frequency = new Map<string, number>();
  for (const { shared } of found)
    for (const word of shared) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  const weight = (word: string): number => Math.log(1 + rows.length / (frequency.get(word) ?? 1));
  const best = found
    .filter(({ shared }) => shared.size >= sharedWords)
    .map(({ row, shared }) => ({ row, score: [...shared].reduce((sum, word) => sum + weight(word), 0) }))
    .sort((a, b) => b.score - a.score || newestFirst(a.row, b.row))
    .slice(0, mostShown);
  let left = longestShown;
  return best.flatMap(({ row }) => {
    left -= utf8Length(formatReflection(row));
    return left >= 0 ? [row] : [];
  });
};

const listLines = (title: string, items: readonly string[]): readonly string[] =>
  items.length === 0 ? [] : [`${title}:`, ...items.map((item) => `- ${item}`)];

const formatReflection = ({ at, agent, task, summary, caveats, files }: Reflection): string =>
  [
    `## ${agent}, ${new Date(at).toISOString()}`,
    `Task: ${task}`,
    ...(summary === "" ? [] : [`Outcome: ${summary}`]),
    ...listLines("Caveats", caveats),
    ...listLines("Files", files),
  ].join("\n");

/** Formats the lessons for a called agent. */
export const formatReflections = (rows: readonly Reflection[]): string => {
  const said = "Tasks like yours that failed before. Learn from them; they may not apply to yours.";
  const body = [said, ...rows.map(formatReflection)].map(escapeTags).join("\n\n");
  return `<prior_reflections>\n${body}\n</prior_reflections>`;
};

/** Drops rows that are too old or too many; returns the newest first. */
export const pruneReflections = (
  rows: readonly Reflection[],
  { now, ttlMs }: { readonly now: number; readonly ttlMs: number },
): readonly Reflection[] =>
  rows
    .filter(({ at }) => at > now - ttlMs)
    .sort(newestFirst)
    .slice(0, mostReflections);

/** The key sorts by time; two of the same time differ by their runs. */
const reflectionKey = (at: number, run: string): string => `${String(at).padStart(16, "0")}.${run}`;

/** Removes lessons that are too old or too many. */
const clearOldReflections = (draft: Draft, oldest: number): void => {
  const keys = draft.context.entries.heads("reflections").map(({ key }) => key);
  const gone = keys.filter(
    (key, index) => key < reflectionKey(oldest, "") || index <= keys.length - mostReflections,
  );
  for (const key of gone) writeEntry(draft, "reflections", key, undefined);
};

const isFailed = ({ state, completion }: ChildEnd): boolean =>
  state === "failed" || (state === "completed" && completion?.status === "failed");

const createReflection = (draft: Draft, { agent, task, end }: EndedChild): Reflection =>
  fitReflection({
    id: `${lifetimeOf(draft.state)}/${end.run}`,
    at: draft.context.now,
    agent,
    task,
    summary: end.completion?.summary ?? end.last_text,
    caveats: end.completion?.caveats ?? [end.error ?? end.reason],
    files: end.files_modified,
  });

/** Keeps a lesson of a called run that failed, judged by the runtime or by the agent; nothing where lessons are off. */
export const keepReflection = (draft: Draft, record: EndedChild): void => {
  const { reflections } = draft.context.briefing;
  if (reflections === null || !isFailed(record.end)) return;
  const row = createReflection(draft, record);
  if (reflections.scope === "tenant") return postReflection(draft, row);
  clearOldReflections(draft, row.at - reflections.ttlMs);
  writeEntry(draft, "reflections", reflectionKey(row.at, record.end.run), row as unknown as Json);
};
