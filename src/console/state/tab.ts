/** Texts that are kept in this tab, over a reload too. No key is among them. */

/** What storage did not take: a reload loses it, and nothing else does. */
const inMemory = new Map<string, string>();

let owner = "";

/** From now on what is kept, and what is found, is of this owner. */
export const setOwner = (name: string): void => {
  owner = name;
};

/** Names something for the owner: no other one finds it. Whoever still works with it when the owner changes keeps its name. */
export const ownName = (name: string): string => `${name} ${owner}`;

/** Reads what is kept under a name; null if there is nothing. */
export const readTab = (name: string): string | null => {
  try {
    return inMemory.get(name) ?? sessionStorage.getItem(name);
  } catch {
    return null;
  }
};

/** Keeps a text, or nothing any more; where storage is full or forbidden, in memory. */
export const keepInTab = (name: string, text: string | null): void => {
  inMemory.delete(name);
  try {
    sessionStorage.removeItem(name);
    if (text !== null) sessionStorage.setItem(name, text);
  } catch {
    if (text !== null) inMemory.set(name, text);
  }
};
