import type { Json } from "../../chat/message.ts";
import type { EditedInput } from "./subject.ts";

/** A person's version of what an approval is about, kept in memory while another session is looked at. */

/** Only the newest edits are kept: nobody asks again for one whose approval was closed elsewhere. */
const mostEdits = 100;

const edits = new Map<string, string>();

/** Returns the text that was left in the editor of an approval; null if nothing was changed. */
export const readEdit = (ask: string): string | null => edits.get(ask) ?? null;

/** Keeps what an approval's text was changed to; null drops it. */
export const keepEdit = (ask: string, text: string | null): void => {
  edits.delete(ask);
  if (text === null) return;
  edits.set(ask, text);
  const [oldest] = edits.keys();
  if (edits.size > mostEdits && oldest !== undefined) edits.delete(oldest);
};

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

/** Lists the views that can show a version: one that is no input can only be edited and compared. */
export const listViews = ({ isChanged, run }: Version): readonly View[] => {
  if (run === null) return ["edit", "changes"];
  return isChanged ? ["thing", "edit", "changes", "input"] : ["thing", "edit", "input"];
};
