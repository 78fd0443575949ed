import type { TranscriptEntry } from "../../client/transcript.ts";

/** This file divides the entries of a thread into pages, so that a change of one shows one page again, however many there are. */

export type EntryPage = readonly TranscriptEntry[];

/** Every page but the last has so many entries. */
const pageLength = 32;

const isSame = (page: EntryPage, other: EntryPage): boolean =>
  page.length === other.length && page.every((entry, at) => entry === other[at]);

/** Divides entries into pages; one in which nothing changed stays the same array. */
export const divideIntoPages = (
  entries: readonly TranscriptEntry[],
  before: readonly EntryPage[],
): readonly EntryPage[] =>
  Array.from({ length: Math.ceil(entries.length / pageLength) }, (_, at) => {
    const page = entries.slice(at * pageLength, (at + 1) * pageLength);
    const known = before[at];
    return known !== undefined && isSame(page, known) ? known : page;
  });
