import type { TranscriptEntry } from "../../client/transcript.ts";

/** This file divides the entries of a thread into pages, so that a change of one shows one page again, however many there are. */

export type EntryPage = readonly TranscriptEntry[];

/** No page has more entries. */
const pageLength = 32;

const isSame = (page: EntryPage, other: EntryPage): boolean =>
  page.length === other.length && page.every((entry, at) => entry === other[at]);

/**
 * Divides entries into pages, which begin where they began before, so that earlier entries get pages of their own. A page
 * in which nothing changed stays the same array.
 */
export const divideIntoPages = (
  entries: readonly TranscriptEntry[],
  before: readonly EntryPage[],
): readonly EntryPage[] => {
  const known = new Map(before.map((page) => [page[0]?.id, page]));
  const pages: TranscriptEntry[][] = [];
  for (const entry of entries) {
    const page = pages.at(-1);
    if (page === undefined || page.length === pageLength || known.has(entry.id)) pages.push([entry]);
    else page.push(entry);
  }
  return pages.map((page) => {
    const same = known.get(page[0]?.id);
    return same !== undefined && isSame(page, same) ? same : page;
  });
};
