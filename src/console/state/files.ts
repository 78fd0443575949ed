import { newCommandId } from "../../client/retry.ts";
import { askBeforeLeaving } from "../parts/hooks.ts";

/** Files that this tab has not sent yet, in the browser's database, over a reload too. */

interface KeptFiles {
  readonly files: readonly File[];
  readonly at: number;
}

const storeName = "files";

/** Files of tabs that were closed are removed after so long. */
const keptFor = 24 * 3_600_000;

/** Waits for the answer to a request of the database. */
export const settle = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("the database failed")));
  });

/** Resolves once the database has kept what a transaction did: one whose requests succeeded may still fail. */
export const complete = (transaction: IDBTransaction): Promise<void> =>
  new Promise((resolve, reject) => {
    transaction.addEventListener("complete", () => resolve());
    transaction.addEventListener("abort", () =>
      reject(transaction.error ?? new Error("the database failed")),
    );
  });

/** The tab has a name of its own, since another one may write to the same session. */
export const nameTab = (): string => {
  const known = sessionStorage.getItem("limpet-tab") ?? newCommandId();
  sessionStorage.setItem("limpet-tab", known);
  return known;
};

const removeOld = (store: IDBObjectStore): void => {
  const cursor = store.openCursor();
  cursor.addEventListener("success", () => {
    if (cursor.result === null) return;
    if ((cursor.result.value as KeptFiles).at < Date.now() - keptFor) cursor.result.delete();
    cursor.result.continue();
  });
};

const openDatabase = async (): Promise<IDBDatabase> => {
  const request = indexedDB.open("limpet-drafts", 1);
  request.addEventListener("upgradeneeded", () => request.result.createObjectStore(storeName));
  const database = await settle(request);
  removeOld(database.transaction(storeName, "readwrite").objectStore(storeName));
  return database;
};

let database: Promise<IDBDatabase> | null = null;

export const openStore = async (mode: IDBTransactionMode): Promise<IDBObjectStore> => {
  const opened = await (database ??= openDatabase());
  return opened.transaction(storeName, mode).objectStore(storeName);
};

/** What the database has not taken, or not yet. */
const inMemory = new Map<string, readonly File[]>();

/** Reads the files that are kept for a place. */
export const readFiles = async (place: string): Promise<readonly File[]> => {
  const unkept = inMemory.get(place);
  if (unkept !== undefined) return unkept;
  try {
    const key = `${nameTab()} ${place}`;
    const found = await settle((await openStore("readonly")).get(key) as IDBRequest<KeptFiles | undefined>);
    return found?.files ?? [];
  } catch {
    return [];
  }
};

/** Keeps the files of a place; resolves to whether a reload would find them. */
export const keepFiles = async (place: string, files: readonly File[]): Promise<boolean> => {
  inMemory.set(place, files);
  try {
    const key = `${nameTab()} ${place}`;
    const store = await openStore("readwrite");
    if (files.length === 0) store.delete(key);
    else store.put({ files, at: Date.now() }, key);
    await complete(store.transaction);
    // Others may have taken their place meanwhile.
    if (inMemory.get(place) === files) inMemory.delete(place);
    return true;
  } catch {
    return files.length === 0;
  }
};

/** Keeps the files of a place; until a reload would find them the browser asks before the page is left. Returns how to end that. */
export const keepOrAsk = (place: string, files: readonly File[]): (() => void) => {
  const stopAsking = askBeforeLeaving();
  void keepFiles(place, files).then((isKept) => isKept && stopAsking());
  return stopAsking;
};
