import { complete, nameTab, openStore, settle } from "../state/files.ts";
import { ownName } from "../state/tab.ts";

/** Forgets what is kept in this tab under the key, with the key. What is kept under another one stays for it. */

const forgetFiles = async (): Promise<void> => {
  try {
    const store = await openStore("readwrite");
    for (const name of await settle(store.getAllKeys(IDBKeyRange.bound(`${nameTab()} `, `${nameTab()}!`))))
      if (typeof name === "string" && name.endsWith(ownName(""))) store.delete(name);
    await complete(store.transaction);
  } catch {
    // Then there are none.
  }
};

const forgetTexts = (): void => {
  try {
    for (const name of Object.keys(sessionStorage))
      if (name.endsWith(ownName(""))) sessionStorage.removeItem(name);
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
