import type { EffectContext } from "../../agent/definition/effect.ts";
import type { Message } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import { truncateMiddle, withReferences } from "../shortened/texts.ts";
import type { SummaryForm } from "./prompts.ts";
import type { MessageRange } from "./range.ts";

/** Builds the message that replaces a range: the model's summary, framed by facts of the runtime. */

const taskLength = 4_000;
const mostEntries = 50;

const titles: Readonly<Record<SummaryForm, string>> = {
  compact: "Conversation compacted",
  window: "Context summary",
};

const turnLabelOf = ({ run, turn }: Message): string | null =>
  run === undefined || turn === undefined ? null : `${run}/${turn}`;

const titlePattern = /^\[(?:Conversation compacted|Context summary): turns (\S+?)–/;

/** Returns the first and last turn of a range as `RUN/TURN`; a former summary names the start of its own range. */
const periodOf = ({ gone, former }: MessageRange): string => {
  const told = former
    .map(({ parts }) => titlePattern.exec(textOf(parts))?.[1])
    .find((each) => each !== undefined);
  const answers = gone.filter(({ role }) => role === "assistant");
  const places = (answers.length > 0 ? answers : gone).map(turnLabelOf).filter((place) => place !== null);
  const [first, last] = [told ?? places[0], places.at(-1)];
  return first === undefined || last === undefined ? "" : `: turns ${first}–${last}`;
};

/** Returns the first line of a summary. */
export const summaryHeading = (form: SummaryForm, range: MessageRange): string =>
  `[${titles[form]}${periodOf(range)}]`;

const quoteStart = "The request this work began with, word for word:\n<request>\n";
const quoteEnd = "\n</request>";

const quoteTask = (text: string): string =>
  `${quoteStart}${text.replaceAll("</request", "<\\/request")}${quoteEnd}`;

/** Returns the task as quoted in a former summary, for use once the task itself has left the view. */
const findCarriedQuote = ({ former }: MessageRange): readonly string[] =>
  former
    .flatMap(({ parts }) => {
      const text = textOf(parts);
      const start = text.indexOf(quoteStart);
      return start < 0 ? [] : [text.slice(start, text.indexOf(quoteEnd, start) + quoteEnd.length)];
    })
    .slice(-1);

/** Facts about the run that the runtime knows. */
export type RunFacts = Pick<EffectContext, "task" | "records" | "run">;

const isTaskOf =
  (run: string) =>
  (message: Message): boolean =>
    message.run === run &&
    message.role === "user" &&
    message.origin !== "effect" &&
    message.summary === undefined;

/** Quotes the input or task that began the run, unless it stays in the view. */
export const taskQuote = ({ task: given, run }: RunFacts, range: MessageRange): readonly string[] => {
  const { view, gone } = range;
  const task = given?.summary === undefined ? given : (view.find(isTaskOf(run)) ?? null);
  const isShown = view.some(({ id }) => id === task?.id);
  if (isShown && !gone.some(({ id }) => id === task?.id)) return [];
  const before = isShown ? [] : findCarriedQuote(range);
  if (task === null || before.length > 0) return before;
  const media = task.parts.filter((part) => part.type === "image" || part.type === "document");
  return [quoteTask(withReferences(task, media, truncateMiddle(textOf(task.parts), taskLength)))];
};

/** Lists the newest entries under a heading; returns nothing without entries. */
export const listSection = (
  name: string,
  entries: readonly string[],
  most = mostEntries,
): readonly string[] => {
  if (entries.length === 0) return [];
  const more = entries.length - most;
  const lines = entries.slice(-most).map((entry) => `- ${entry}`);
  return [[`## ${name}`, ...(more > 0 ? [`- (and ${more} before these)`] : []), ...lines].join("\n")];
};

/** Lists the runtime's records: files touched, running children, open tasks. */
export const runFactsText = ({ records }: Pick<EffectContext, "records">): readonly string[] => {
  const { files, children, tasks } = records;
  return [
    ...listSection("Files Touched, As Recorded", [
      ...files.created.map((path) => `created ${path}`),
      ...files.modified.map((path) => `modified ${path}`),
      ...files.deleted.map((path) => `deleted ${path}`),
    ]),
    ...listSection("Running Children", children),
    ...listSection("Open Tasks", tasks),
  ];
};

const endings: Readonly<Record<SummaryForm, string>> = {
  compact:
    "Go on from Next Steps. What is listed as done is done: do not redo it, and do not read again what is told here.",
  window: "The newest messages follow.",
};

/** Returns the whole text of a summary message; `missing` names the parts that no model could summarise. */
export const summaryMessage = (
  context: RunFacts,
  form: SummaryForm,
  range: MessageRange,
  body: string,
  missing: readonly string[],
): string =>
  [
    summaryHeading(form, range),
    ...taskQuote(context, range),
    body.trim(),
    ...listSection("Not Summarised", missing),
    ...runFactsText(context),
    endings[form],
  ].join("\n\n");
