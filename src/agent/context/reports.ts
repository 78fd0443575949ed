import { firstCharacters, textOf } from "../../chat/text.ts";
import { truncateText, isLonger, widestId } from "../../chat/truncate.ts";
import type { WorkReport } from "../../tools/session-request.ts";
import { removeLeaks } from "../definition/guard.ts";
import type { Child, ChildEnd, ChildItem, ChildWork, EndedChild } from "../state/child.ts";
import type { EndReason, Episode, RunState } from "../state/events.ts";
import type { RunRecord } from "../state/records.ts";
import type { Thread } from "../state/thread.ts";
import { addUsage, noUsage } from "../state/budget.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, keepForRecall, runOf } from "../transaction/draft.ts";
import type { Message } from "../../chat/message.ts";
import type { Run, RunEnding } from "../state/run.ts";

/** Reads what a run has said and done, and reports a called agent's end to its caller. */

const longestSummary = 2_000;

/** Most characters of each list of a report, and of the files of an item. */
const longestList = 2_000;

const longestFiles = 8_000;

const longestLastText = 200;

/** Most characters of all results of a list together. */
const listLength = 32_000;

const limitReasons: readonly EndReason[] = [
  "max_iterations",
  "budget_exceeded",
  "deadline_exceeded",
  "tool_loop",
  "no_progress",
];

/** The last text of an agent in its current or most recent run. */
const lastText = ({ chat, run: active, lastRun }: Thread): string => {
  const id = active?.id ?? lastRun;
  const said = chat.findLast(
    ({ role, run, parts }) => run === id && role === "assistant" && /\S/.test(textOf(parts)),
  );
  return said === undefined ? "" : textOf(said.parts);
};

const safeLastText = (draft: ThreadDraft): string =>
  removeLeaks(agentOf(draft).guardrails, lastText(draft.thread));

/** Returns the first characters of an agent's last text, as far as guardrails let it be shown. */
export const lastTextPreview = (draft: ThreadDraft): string =>
  firstCharacters(safeLastText(draft), longestLastText);

/** Returns the agent's own report, unless it hands over, or the runtime's where a limit ended it. */
export const completionOf = (
  draft: ThreadDraft,
  end: Pick<RunEnding, "state" | "reason" | "error">,
): WorkReport | null => {
  const { completion = null, handover = null } = draft.thread.child ?? {};
  if (end.state === "completed") return handover === null ? completion : null;
  if (end.state !== "failed" || !limitReasons.includes(end.reason)) return null;
  const summary = truncateText(safeLastText(draft), longestSummary);
  return { status: "failed", summary, caveats: [end.error ?? end.reason] };
};

const formatList = (title: string, entries: readonly string[]): string =>
  entries.length === 0 ? "" : `\n\n${title}:\n${entries.map((each) => `- ${each}`).join("\n")}`;

/** Formats a report for the caller. */
export const formatCompletion = ({ summary, caveats = [] }: WorkReport): string =>
  `${summary}${formatList("Caveats", caveats)}`;

/** Returns the full report of an end, which is kept for `recall`. */
const fullReport = (text: string, completion: WorkReport | null, files: readonly string[]): string =>
  `${text}${formatList("Tests run", completion?.tests_run ?? [])}${formatList("Files modified", files)}`;

/** Adds the work of a called agent's run to that of earlier agents on its task. */
export const workOf = ({ before }: Child, { result }: RunRecord): ChildWork => {
  const own =
    result === null ? [] : [...result.files_created, ...result.files_modified, ...result.files_deleted];
  return {
    files: [...new Set([...(before?.files ?? []), ...own])].toSorted(),
    usage: addUsage(before?.usage ?? noUsage, result?.usage ?? noUsage),
  };
};

/** Returns the observed changes of files, and those only claimed, marked so. */
const filesOf = ({ files }: ChildWork, completion: WorkReport | null): readonly string[] => {
  const claimed = (completion?.files_modified ?? []).filter((path) => !files.includes(path));
  return [...files, ...claimed.map((path) => `${path} (claimed)`)];
};

/** Creates the end of a called thread from the record of its run. */
export const createChildEnd = (
  draft: ThreadDraft,
  child: Child,
  run: RunRecord & { readonly state: RunState; readonly reason: EndReason },
  maxLength: number,
): ChildEnd => {
  const { state, reason, error } = run;
  const completion = completionOf(draft, run);
  const work = workOf(child, run);
  const whole = completion === null ? (run.result?.text ?? "") : formatCompletion(completion);
  const files = filesOf(work, completion);
  const isCut = isLonger(whole, maxLength) || isShortened(completion, files);
  const recall = isCut ? keepForRecall(draft, fullReport(whole, completion, files)) : null;
  return {
    state,
    reason,
    error: state === "cancelled" ? (child.stopped?.why ?? error ?? "it was cancelled") : error,
    result: truncateText(whole, maxLength, recall),
    ...(isLonger(whole, maxLength) ? { length: [...whole].length } : {}),
    recall,
    completion,
    files_modified: files,
    usage: work.usage,
    turns: run.turns,
    last_text: lastTextPreview(draft),
    handoffs: child.handoffs,
    ...(child.before === undefined ? {} : { first: child.before.first }),
    warning: child.warning,
    run: run.id,
    ended_at: draft.context.now,
  };
};

/** Returns the item that the caller reads of an ended child. */
export const childItemOf = ({ id, agent, end }: EndedChild): ChildItem => {
  const { completion, error, result, recall, files_modified } = end;
  const shown = completion === null ? {} : { completion: shortenCompletion(completion, longestList, recall) };
  return {
    agent,
    child: id,
    state: end.state,
    reason: end.reason,
    ...(end.state === "completed" ? { result: result ?? "" } : { error: error ?? end.reason }),
    ...shown,
    files_modified: shortenList(files_modified, longestFiles, recall),
    usage: end.usage,
    ...(end.handoffs === 0 ? {} : { handoffs: end.handoffs }),
    ...(end.warning === null ? {} : { warning: end.warning }),
  };
};

/** Returns the item of a task that no agent began, with the fields of one that failed. */
export const unstartedItem = (agent: string, reason: string, error: string): ChildItem => ({
  agent,
  child: null,
  state: "failed",
  reason,
  error,
  files_modified: [],
  usage: noUsage,
});

const lengthOf = (texts: readonly string[] = []): number =>
  texts.reduce((sum, { length }) => sum + length, 0);

const listsOf = ({ caveats, tests_run, files_modified }: WorkReport) => [caveats, tests_run, files_modified];

const isShortened = (completion: WorkReport | null, files: readonly string[]): boolean =>
  lengthOf(files) > longestFiles ||
  (completion !== null && listsOf(completion).some((list) => lengthOf(list) > longestList));

/** Returns as many entries as fit in `most` characters, and how many follow. */
const shortenList = (entries: readonly string[], most: number, recall: string | null): readonly string[] => {
  if (lengthOf(entries) <= most) return entries;
  const more = (count: number, id = recall): string =>
    `… ${count} more${id === null ? "" : `; recall("${id}") has them`}`;
  let left = most - more(entries.length, widestId(recall)).length;
  const rest = entries.findIndex(({ length }) => (left -= length) < 0);
  return [...entries.slice(0, rest), more(entries.length - rest)];
};

/** Shortens the report and leaves out its summary, which the result contains already. */
const shortenCompletion = (completion: WorkReport, most: number, recall: string | null): WorkReport => ({
  ...completion,
  summary: truncateText(completion.summary, Math.min(longestSummary, most)),
  caveats: completion.caveats && shortenList(completion.caveats, most, recall),
  tests_run: completion.tests_run && shortenList(completion.tests_run, most, recall),
  files_modified: completion.files_modified && shortenList(completion.files_modified, most, recall),
});

/** Returns the number of characters of an item that the child determines. */
const sizeOf = ({ result = "", completion, files_modified }: ChildItem): number =>
  [...result].length +
  lengthOf(files_modified) +
  (completion === undefined
    ? 0
    : lengthOf([completion.summary, ...listsOf(completion).flatMap((list) => list ?? [])]));

/** Returns the share of the list's length for each result: what short ones leave over goes to the long ones. */
const shareOf = (lengths: readonly number[]): number => {
  let left = listLength;
  let open = lengths.length;
  for (const length of lengths.toSorted((a, b) => a - b)) {
    const share = Math.floor(left / open);
    if (length > share) return share;
    left -= length;
    open -= 1;
  }
  return listLength;
};

/** Cuts an item to its share: each part repeated from its report gets at most an eighth, the result the rest. */
const fitItem = (draft: Draft, item: ChildItem, end: ChildEnd, share: number): ChildItem => {
  const { completion, files_modified } = end;
  const part = Math.floor(share / 8);
  const recall = end.recall ?? keepForRecall(draft, fullReport(end.result ?? "", completion, files_modified));
  const short: ChildItem = {
    ...item,
    ...(completion === null ? {} : { completion: shortenCompletion(completion, part, recall) }),
    files_modified: shortenList(files_modified, part, recall),
  };
  const { result, ...rest } = short;
  return result === undefined
    ? short
    : { ...short, result: truncateText(result, share - sizeOf(rest), recall, end.length) };
};

/** Cuts the items to the length of a list; the whole of what is cut stays readable. */
export const fitItems = (
  draft: Draft,
  items: readonly { readonly item: ChildItem; readonly end: ChildEnd | null }[],
): readonly ChildItem[] => {
  const share = shareOf(items.map(({ item }) => sizeOf(item)));
  return items.map(({ item, end }) =>
    end === null || sizeOf(item) <= share ? item : fitItem(draft, item, end, share),
  );
};

/** Names a child in prompts. */
export const childName = ({ agent, id }: Pick<EndedChild, "agent" | "id">): string => `${agent} (${id})`;

/** Marks the output of a run that succeeded but reports a failure: nothing is cancelled, but its readers must know. */
const selfReportedFailure = "[the agent reports that it failed]";

/** Returns the output of an agent that completed its task; it is never blank, since it may be all that others read. */
export const childOutput = ({ completion, result }: ChildEnd): string => {
  const said = result !== null && /\S/.test(result) ? result : "(no result)";
  return completion?.status === "failed" ? `${selfReportedFailure} ${said}` : said;
};

/** Returns the end of a single child as text: its result, or why there is none. */
export const childAnswerText = ({ id, agent, end }: EndedChild): string => {
  if (end.state === "completed") return childOutput(end);
  const why = `${end.state}: ${childName({ id, agent })} ended with ${end.reason}: ${end.error ?? end.reason}`;
  return end.completion === null || end.result === null ? why : `${why}\n\n${end.result}`;
};

type AnsweringRun = Pick<Run, "id" | "answerFrom">;

const isOfAnswer = ({ id, answerFrom }: AnsweringRun, { run, role, turn, pos }: Message): boolean =>
  run === id && role === "assistant" && turn !== 0 && pos >= answerFrom;

/** Returns the answer of a run: its last message, or all pieces of one that was continued; a plan is none. */
export const answerOf = (chat: readonly Message[], run: AnsweringRun): readonly Message[] => {
  const said = chat.filter((message) => isOfAnswer(run, message));
  const from = said.findLastIndex(
    ({ marks }, index) => index < said.length - 1 && marks?.includes("truncated") !== true,
  );
  return said.slice(from + 1);
};

/** Returns where an unfinished reply begins, which no effect takes out of the view; the chat's length if there is none. */
export const unfinishedReplyIndex = ({ chat, run }: Pick<Thread, "chat" | "run">): number => {
  if (run === null) return chat.length;
  const newest = chat.findLast((message) => message.pos < run.answerFrom || isOfAnswer(run, message));
  const isUnfinished = newest === chat.at(-1) || newest?.marks?.includes("truncated") === true;
  if (newest === undefined || !isUnfinished || !isOfAnswer(run, newest)) return chat.length;
  return chat.indexOf(answerOf(chat, run)[0] ?? newest);
};

/** Returns whether a run ended without an answer: on empty replies, or on text that a guardrail refused. */
export const isUnanswered = ({ counters }: Run): boolean => counters.empty > 0 || counters.withheld;

/** Returns the text of a run's answer so far, whatever became of it. */
export const answerText = ({ chat }: Thread, run: Run): string =>
  answerOf(chat, run)
    .map(({ parts }) => textOf(parts))
    .join("");

/** Begins a new answer, since something else was asked for: earlier text, even cut off, is no piece of it. */
export const beginAnswer = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  run.answerFrom = draft.thread.nextPos;
  run.counters.cutText = 0;
  run.counters.truncated = false;
};

/** Number of the newest calls that a run's summary lists. */
export const mostEpisodes = 24;

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
