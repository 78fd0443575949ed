import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { askBeforeLeaving } from "../parts/hooks.ts";
import {
  addDraft,
  emptyDraft,
  keepDraftText,
  putBackDraft,
  readDraftText,
  showDraft,
} from "../state/drafts.ts";
import type { ComposerDraft } from "../state/drafts.ts";
import { keepFiles, readFiles } from "../state/files.ts";
import { ownName } from "../state/tab.ts";

/** What is written and attached in the field for messages, while it is on the page. */

export const isEmptyDraft = ({ text, files }: ComposerDraft): boolean =>
  text.trim() === "" && files.length === 0;

/** Keeps the files of a draft over a reload; where they cannot be kept, the browser asks before the page is left. */
const useKeptFiles = (
  place: string,
  files: readonly File[],
  restore: (kept: readonly File[]) => void,
): void => {
  const [isRead, setRead] = useState(false);
  const [isKept, setKept] = useState(true);
  useEffect(() => {
    const read = async (): Promise<void> => {
      restore(await readFiles(place));
      setRead(true);
    };
    void read();
  }, []);
  useLayoutEffect(() => {
    if (isRead) void keepFiles(place, files).then(setKept);
  }, [files, isRead]);
  const isAtRisk = !isKept && files.length > 0;
  useEffect(() => (isAtRisk ? askBeforeLeaving() : undefined), [isAtRisk]);
};

/** What is written and attached. */
export const useDraft = (of: string) => {
  const [place] = useState(() => ownName(of));
  const [draft, setDraft] = useState((): ComposerDraft => ({ ...emptyDraft, text: readDraftText(place) }));
  // An effect that waits for the next frame would lose what is typed right before a reload.
  useLayoutEffect(() => keepDraftText(place, draft.text), [draft.text]);
  const add = (more: ComposerDraft): void => setDraft((before) => addDraft(more, before));
  useEffect(() => showDraft(place, add), []);
  useKeptFiles(place, draft.files, (files) => {
    if (files.length > 0) add({ ...emptyDraft, files });
  });
  return {
    draft,
    setText: (text: string): void => setDraft(({ files }) => ({ text, files })),
    attach: (more: readonly File[]): void =>
      setDraft(({ text, files }) => ({ text, files: [...files, ...more] })),
    detach: (gone: File): void =>
      setDraft(({ text, files }) => ({ text, files: files.filter((file) => file !== gone) })),
    /** Takes the text and what else is sent out of the field, until it turns out not to be sent. */
    send: (work: Promise<void>, sent: ComposerDraft = draft): void => {
      void work.catch(() => putBackDraft(place, sent));
      setDraft(({ files }) => ({ text: "", files: files.filter((file) => !sent.files.includes(file)) }));
    },
  };
};
