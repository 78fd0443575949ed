import type { Message } from "../../chat/message.ts";
import { firstCharacters, textOf } from "../../chat/text.ts";
import { callsOf } from "../../chat/view.ts";
import { countText, truncateMiddle, withReferences } from "../shortened/texts.ts";
import { summaryHeading, listSection, runFactsText, taskQuote } from "./message.ts";
import type { RunFacts } from "./message.ts";
import type { MessageRange } from "./range.ts";

/** Writes the note that replaces a range which no model could summarise. */

const inputLength = 500;
const mostInputs = 20;
const formerLength = 4_000;

const countsLine = (gone: readonly Message[]): string => {
  const of = (role: Message["role"]): number => gone.filter((message) => message.role === role).length;
  const period = gone.map(({ at }) => at);
  const day = (at: number): string => new Date(at).toISOString().slice(0, 16).replace("T", " ");
  const [from, to] = [Math.min(...period), Math.max(...period)];
  const figures = [
    countText(of("user"), "input"),
    countText(of("assistant"), "reply").replace("replys", "replies"),
  ];
  return `Left out: ${[...figures, countText(of("tool"), "tool result")].join(", ")}, ${day(from)} to ${day(to)} UTC.`;
};

const toolsUsed = (gone: readonly Message[]): readonly string[] => {
  const used = new Map<string, number>();
  for (const { name } of gone.flatMap(callsOf)) used.set(name, (used.get(name) ?? 0) + 1);
  if (used.size === 0) return [];
  return [`Tools used: ${[...used].map(([name, times]) => `${name} ×${times}`).join(", ")}.`];
};

const humanInputs = (gone: readonly Message[]): readonly string[] => {
  const inputs = gone
    .filter(({ origin }) => origin === "human")
    .map((message) => {
      const content = message.parts.filter((part) => part.type === "image" || part.type === "document");
      return withReferences(message, content, firstCharacters(textOf(message.parts), inputLength));
    });
  return listSection("Human Inputs", inputs, mostInputs);
};

const earlierSummary = (former: readonly Message[], told: string | null): readonly string[] => {
  const text = told ?? former.map(({ parts }) => textOf(parts)).join("\n\n");
  return text === "" ? [] : [`## Earlier Summary\n${truncateMiddle(text, formerLength)}`];
};

/** Returns the note: counts of messages, what people asked, what the runtime recorded, an earlier summary (`told`). */
export const noteMessage = (context: RunFacts, range: MessageRange, told: string | null = null): string => {
  const left = range.gone.filter(({ summary }) => summary === undefined);
  return [
    summaryHeading("compact", range),
    "This note is from the runtime: the messages that it replaces are stored, but did not fit and could not be summarised.",
    ...taskQuote(context, range),
    ...(left.length === 0 ? [] : [countsLine(left)]),
    ...toolsUsed(left),
    ...humanInputs(left),
    ...earlierSummary(range.former, told),
    ...runFactsText(context),
    "Check the current state before you go on: this note may not mention everything that was done.",
  ].join("\n\n");
};
