import { keepFiles, readFiles } from "./files.ts";
import { keepInTab, readTab } from "./tab.ts";

/** What is written and attached but not sent: the text in this tab, files in the browser's database, over a reload too. */

export interface ComposerDraft {
  readonly text: string;
  readonly files: readonly File[];
}

export const emptyDraft: ComposerDraft = { text: "", files: [] };

/** Joins two drafts, the first above the second. */
export const addDraft = (first: ComposerDraft, second: ComposerDraft): ComposerDraft => ({
  text: [first.text, second.text].filter((each) => each !== "").join("\n"),
  files: [...first.files, ...second.files],
});

/** The place of the field on the first page; that of another field is its session. What is kept for either has its `ownName`. */
export const firstPlace = "new";

const textName = (place: string): string => `limpet-draft ${place}`;

/** Reads the text that is kept for a place. */
export const readDraftText = (place: string): string => readTab(textName(place)) ?? "";

export const keepDraftText = (place: string, text: string): void =>
  keepInTab(textName(place), text === "" ? null : text);

/** The fields that are on the page, by their places. */
const shownFields = new Map<string, (draft: ComposerDraft) => void>();

/** Has the field of a place take what is put back there; returns how to end it. */
export const showDraft = (place: string, take: (draft: ComposerDraft) => void): (() => void) => {
  shownFields.set(place, take);
  return () => {
    if (shownFields.get(place) === take) shownFields.delete(place);
  };
};

/** Puts what was not sent before what stands in the field of its place, on the page or where drafts are kept. */
export const putBackDraft = async (place: string, draft: ComposerDraft): Promise<void> => {
  const take = shownFields.get(place);
  if (take !== undefined) return take(draft);
  const { text, files } = addDraft(draft, { text: readDraftText(place), files: await readFiles(place) });
  keepDraftText(place, text);
  await keepFiles(place, files);
};
