import type { Json } from "../../chat/message.ts";
import { keepInTab, ownName, readTab } from "../state/tab.ts";
import type { EditedInput } from "./subject.ts";

/** What a person has written for an approval, kept in this tab: their version until it is sent, undone or put away. */

const nameOf = (ask: string): string => ownName(`limpet-edit ${ask}`);

/** Returns the text that was left in the editor of an approval; null if nothing was changed. */
export const readEdit = (ask: string): string | null => readTab(nameOf(ask));

/** Keeps what an approval's text was changed to; null drops it. */
export const keepEdit = (ask: string, text: string | null): void => keepInTab(nameOf(ask), text);

/** Takes an edit out of the tab; returns how to put it back. */
export const takeEdit = (ask: string): (() => void) => {
  const name = nameOf(ask);
  const text = readTab(name);
  keepInTab(name, null);
  return () => keepInTab(name, text);
};

const reasonOf = (ask: string): string => ownName(`limpet-denial ${ask}`);

/** Reads the reason that was begun for a denial. */
export const readReason = (ask: string): string => readTab(reasonOf(ask)) ?? "";

export const keepReason = (ask: string, text: string): void => keepInTab(reasonOf(ask), text);

const choicesOf = (ask: string): string => ownName(`limpet-choices ${ask}`);

/** Reads which of a question's options were chosen so far. */
export const readChoices = (ask: string, options: readonly string[]): readonly string[] => {
  const kept = readTab(choicesOf(ask))?.split(" ") ?? [];
  return options.filter((_, at) => kept.includes(String(at)));
};

export const keepChoices = (ask: string, options: readonly string[], chosen: readonly string[]): void =>
  keepInTab(choicesOf(ask), chosen.map((option) => options.indexOf(option)).join(" "));

/** What would run if the approval were given as its card stands. */
export interface Version {
  readonly text: string;
  readonly isChanged: boolean;
  /** It is null while the text is no input. */
  readonly run: { readonly input: Json } | null;
}

/** Reads a text of the editor: the one that it began with stands for the input as the model wrote it. */
export const readVersion = (draft: EditedInput, input: Json, text: string): Version => {
  const isChanged = text !== draft.text;
  return { text, isChanged, run: isChanged ? draft.read(text) : { input } };
};

/** The views of an approval; `changes` compares with what the model wrote. */
export type View = "thing" | "edit" | "changes" | "input";

/** Lists the views of a version: one that is no input can only be edited and compared. */
export const listViews = ({ isChanged, run }: Version, edits: boolean): readonly View[] => {
  if (run === null) return ["edit", "changes"];
  if (isChanged) return ["thing", "edit", "changes", "input"];
  return edits ? ["thing", "edit", "input"] : ["thing", "input"];
};
