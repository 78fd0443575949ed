import { complete, nameTab, openStore } from "../state/files.ts";

/** Forgets what is kept in this tab, with the key: the next one could send it in another person's name. */

const forgetFiles = async (): Promise<void> => {
  try {
    const store = await openStore("readwrite");
    store.delete(IDBKeyRange.bound(`${nameTab()} `, `${nameTab()}!`));
    await complete(store.transaction);
  } catch {
    // Then there are none.
  }
};

const forgetTexts = (): void => {
  try {
    sessionStorage.clear();
  } catch {
    // Then there are none.
  }
};

/** Loads the page anew, which then knows nothing; texts are forgotten once nothing can keep more of them. */
export const forgetAll = async (): Promise<void> => {
  await forgetFiles();
  addEventListener("pagehide", forgetTexts);
  location.reload();
};
