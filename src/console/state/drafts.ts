import { keepInTab, readTab } from "./tab.ts";

/** What is written and attached but not sent: the text in this tab, files in the browser's database, over a reload too. */

export interface ComposerDraft {
  readonly text: string;
  readonly files: readonly File[];
}

export const emptyDraft: ComposerDraft = { text: "", files: [] };

/** Joins two drafts, the first above the second. */
export const addDraft = (first: ComposerDraft, second: ComposerDraft): ComposerDraft => ({
  text: [first.text, second.text].filter((each) => each !== "").join("\n"),
  files: [...first.files, ...second.files],
});

const textName = (place: string): string => `limpet-draft ${place}`;

/** Reads the text of a place, which is a session or the first page. */
export const readDraftText = (place: string): string => readTab(textName(place)) ?? "";

export const keepDraftText = (place: string, text: string): void =>
  keepInTab(textName(place), text === "" ? null : text);

interface KeptFiles {
  readonly files: readonly File[];
  readonly at: number;
}

const storeName = "files";

/** Files of tabs that were closed are removed after so long. */
const keptFor = 24 * 3_600_000;

const settle = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("the database failed")));
  });

/** The tab has a name of its own, since another one may write to the same session. */
const nameTab = (): string => {
  const known = sessionStorage.getItem("limpet-tab") ?? crypto.randomUUID();
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

const openStore = async (mode: IDBTransactionMode): Promise<IDBObjectStore> => {
  const opened = await (database ??= openDatabase());
  return opened.transaction(storeName, mode).objectStore(storeName);
};

/** Reads the files of a place; a database that cannot be read holds none. */
export const readDraftFiles = async (place: string): Promise<readonly File[]> => {
  try {
    const key = `${nameTab()} ${place}`;
    const found = await settle((await openStore("readonly")).get(key) as IDBRequest<KeptFiles | undefined>);
    return found?.files ?? [];
  } catch {
    return [];
  }
};

/** Keeps the files of a place; resolves to whether a reload would find them. */
export const keepDraftFiles = async (place: string, files: readonly File[]): Promise<boolean> => {
  try {
    const key = `${nameTab()} ${place}`;
    const store = await openStore("readwrite");
    if (files.length === 0) await settle(store.delete(key));
    else await settle(store.put({ files, at: Date.now() }, key));
    return true;
  } catch {
    return files.length === 0;
  }
};

/** The fields that are on the page, by their places. */
const shownFields = new Map<string, (draft: ComposerDraft) => void>();

/** Has the field of a place take what is put back there; returns how to end it. */
export const showDraft = (place: string, take: (draft: ComposerDraft) => void): (() => void) => {
  shownFields.set(place, take);
  return () => {
    if (shownFields.get(place) === take) shownFields.delete(place);
  };
};

/** Puts what was not sent before what stands in the field of its place, on the page or where drafts are kept. */
export const putBackDraft = async (place: string, draft: ComposerDraft): Promise<void> => {
  const take = shownFields.get(place);
  if (take !== undefined) return take(draft);
  const { text, files } = addDraft(draft, { text: readDraftText(place), files: await readDraftFiles(place) });
  keepDraftText(place, text);
  await keepDraftFiles(place, files);
};
