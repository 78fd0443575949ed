/** Texts that are kept in this tab, over a reload too. No key is among them. */

/** Reads what is kept under a name; null if there is nothing, or storage is forbidden. */
export const readTab = (name: string): string | null => {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
};

/** Keeps a text, or nothing any more. Storage that is full or forbidden keeps nothing; the page itself still does. */
export const keepInTab = (name: string, text: string | null): void => {
  try {
    sessionStorage.removeItem(name);
    if (text !== null) sessionStorage.setItem(name, text);
  } catch {
    // It stays in memory.
  }
};
