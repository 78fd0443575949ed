/** Which ask a draft was begun for: kept in this tab, over a reload too, as the draft is. */

const nameOf = (place: string): string => `limpet-draft-ask ${place}`;

/** Reads the ask that was open when the draft of a place was begun: empty if none was, null if nobody knows. */
export const readDraftAsk = (place: string): string | null => {
  try {
    return sessionStorage.getItem(nameOf(place));
  } catch {
    return null;
  }
};

/** Keeps the ask of a draft; where nothing can be kept, nobody knows it. */
export const keepDraftAsk = (place: string, ask: string | null): void => {
  try {
    sessionStorage.removeItem(nameOf(place));
    if (ask !== null) sessionStorage.setItem(nameOf(place), ask);
  } catch {
    // Then the draft answers the ask that is open.
  }
};
