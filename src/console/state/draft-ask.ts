import { keepInTab, ownName, readTab } from "./tab.ts";

/** Which ask a draft was begun for: kept as the draft is. Where nothing can be kept, it answers the ask that is open. */

const nameOf = (place: string): string => ownName(`limpet-draft-ask ${place}`);

/** Reads the ask that was open when the draft of a place was begun: empty if none was, null if nobody knows. */
export const readDraftAsk = (place: string): string | null => readTab(nameOf(place));

export const keepDraftAsk = (place: string, ask: string | null): void => keepInTab(nameOf(place), ask);
