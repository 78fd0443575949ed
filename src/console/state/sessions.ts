import { createStore } from "./store.ts";
import type { Store } from "./store.ts";
import { createReader } from "../parts/reader.ts";
import type { SessionRow } from "../sessions/status.ts";
import { isRefusal } from "./api.ts";
import type { Api } from "./api.ts";
import { readPages } from "./pages.ts";
import { LimpetError } from "../../client/index.ts";

/** The list of sessions, kept fresh while the page is seen. */

/** A row of `GET /v1/asks`. */
interface AskRow {
  readonly session: string;
  readonly kind: string;
}

export interface SessionList {
  readonly state: "loading" | "ready" | "failed" | "refused";
  readonly rows: readonly SessionRow[];
  /** There are older ones that were not read. */
  readonly hasMore: boolean;
  /** The kind of an open ask of each session that has one: of one that waits for a person, if there is such a one. */
  readonly asks: ReadonlyMap<string, string>;
  /** When the rows were asked for; 0 if they never came. */
  readonly at: number;
}

export interface Sessions {
  readonly list: Store<SessionList>;
  /** What the list is narrowed to; empty shows all. */
  readonly query: Store<string>;
  /** What the server has yet to do with sessions, in words, by their ids. */
  readonly changing: Store<ReadonlyMap<string, string>>;
  /** Reads the list now, or once more after the read under way. */
  readonly refresh: () => void;
  /** Reads the list anew: what is read just now is of no use. */
  readonly restart: () => void;
  /** Reads older sessions, too. */
  readonly readMore: () => void;
  readonly rename: (id: string, title: string) => Promise<void>;
  readonly clear: (id: string) => Promise<void>;
  readonly remove: (id: string) => Promise<void>;
}

/** So many milliseconds after it was read, the list is read again. */
const refreshEvery = 5_000;

/** So many sessions are read at first, and so many more each time older ones are asked for. */
export const sessionsPerPage = 200;

/** So many open asks are looked through for what waits. */
const askPages = 5;

/** Without the scope to answer asks there are none to show. */
const readAsks = async (api: Api, signal: AbortSignal): Promise<readonly AskRow[]> => {
  try {
    const address = "/asks?status=open&limit=200";
    return (await readPages<AskRow>((cursor) => api.read(address + cursor, { signal }), askPages)).rows;
  } catch (fault) {
    if (fault instanceof LimpetError && fault.problem.status === 403) return [];
    throw fault;
  }
};

/** Reads the sessions that a query finds, and what they ask. */
const readList = async (
  api: Api,
  query: string,
  pages: number,
  signal: AbortSignal,
): Promise<SessionList> => {
  const at = Date.now();
  const search = query === "" ? "" : `&q=${encodeURIComponent(query)}`;
  const address = `/sessions?order=-updated_at&limit=${sessionsPerPage}${search}`;
  const [{ rows, hasMore }, asks] = await Promise.all([
    readPages<SessionRow>((cursor) => api.read(address + cursor, { signal }), pages),
    readAsks(api, signal),
  ]);
  const kinds = new Map<string, string>();
  // What a program has to answer hides nothing that a person has to.
  for (const { session, kind } of asks)
    if (kind !== "client_tool" || !kinds.has(session)) kinds.set(session, kind);
  return { state: "ready", rows, hasMore, asks: kinds, at };
};

type RowsChange = (rows: SessionList["rows"]) => SessionList["rows"];

const noList: SessionList = {
  state: "loading",
  rows: [],
  hasMore: false,
  asks: new Map(),
  at: 0,
};

type SessionChanges = Pick<Sessions, "changing" | "rename" | "clear" | "remove">;

/** Sessions as they were right after a rename, by their ids. */
type RenamedSessions = Map<string, Pick<SessionRow, "title" | "updated_at">>;

/** Gives rows their newest titles: the server's list learns of a rename a little later. */
const withNewestTitles = (rows: SessionList["rows"], renamed: RenamedSessions): SessionList["rows"] =>
  rows.map((row) => {
    const known = renamed.get(row.id);
    return known !== undefined && known.updated_at > row.updated_at ? { ...row, title: known.title } : row;
  });

/** Changes sessions; what the server has changed is in the list at once. */
const createChanges = (
  api: Api,
  list: Sessions["list"],
  renamed: RenamedSessions,
  restart: () => void,
): SessionChanges => {
  const changing = createStore<ReadonlyMap<string, string>>(new Map());
  const change = async (
    id: string,
    words: string,
    work: Promise<unknown>,
    edit: RowsChange = (rows) => rows,
  ): Promise<void> => {
    changing.set((before) => new Map(before).set(id, words));
    try {
      await work;
    } finally {
      changing.set((before) => new Map([...before].filter(([other]) => other !== id)));
    }
    list.set((before) => ({ ...before, rows: edit(before.rows) }));
    // What is read just now may be older.
    restart();
  };
  return {
    changing,
    rename: (id, title) => {
      const sent = api.read<SessionRow>(`/sessions/${id}`, { method: "PATCH", body: { title } });
      const known = sent.then((row) => renamed.set(id, row));
      return change(id, "Being renamed", known, (rows) => withNewestTitles(rows, renamed));
    },
    clear: (id) => {
      const sent = api.request(`/sessions/${id}/clear`, { method: "POST", body: {} });
      return change(id, "Being cleared", sent);
    },
    remove: (id) => {
      const sent = api.request(`/sessions/${id}`, { method: "DELETE" });
      return change(id, "Being deleted", sent, (rows) => rows.filter((row) => row.id !== id));
    },
  };
};

/** `isSeen` tells whether somebody looks at the page: else the list need not be fresh. */
export const createSessions = (api: Api, isSeen: () => boolean): Sessions => {
  const list = createStore(noList);
  const renamed: RenamedSessions = new Map();
  const query = createStore("");
  let pages = 1;
  let next: ReturnType<typeof setTimeout> | undefined;
  const { refresh, restart } = createReader(async (signal) => {
    clearTimeout(next);
    try {
      const read = await readList(api, query.get().trim(), pages, signal);
      if (!signal.aborted) list.set({ ...read, rows: withNewestTitles(read.rows, renamed) });
    } catch (fault) {
      if (signal.aborted) return;
      list.set((before) => ({ ...before, state: isRefusal(fault) ? "refused" : "failed" }));
    } finally {
      next = setTimeout(() => isSeen() && refresh(), refreshEvery);
    }
  });
  const show = (count: number): void => {
    pages = count;
    restart();
  };
  query.subscribe(() => show(1));
  const readMore = (): void => show(pages + 1);
  return { list, query, refresh, restart, readMore, ...createChanges(api, list, renamed, restart) };
};
