import { createStore } from "../parts/hooks.ts";
import type { Store } from "../parts/hooks.ts";
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
  /** The kind of the open ask of each session that has one. */
  readonly asks: ReadonlyMap<string, string>;
  /** When the rows were asked for; 0 if they never came. */
  readonly at: number;
}

export interface Sessions {
  readonly list: Store<SessionList>;
  /** What the list is narrowed to; empty shows all. */
  readonly query: Store<string>;
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
  const kinds = new Map(asks.map(({ session, kind }) => [session, kind]));
  return { state: "ready", rows, hasMore, asks: kinds, at };
};

/** Changes that the server has made show at once. */
type RowsChange = (rows: SessionList["rows"]) => SessionList["rows"];

const noList: SessionList = {
  state: "loading",
  rows: [],
  hasMore: false,
  asks: new Map(),
  at: 0,
};

export const createSessions = (api: Api): Sessions => {
  const list = createStore(noList);
  const query = createStore("");
  let pages = 1;
  let next = 0;
  const reader = createReader(async (signal) => {
    clearTimeout(next);
    try {
      const read = await readList(api, query.get().trim(), pages, signal);
      if (!signal.aborted) list.set(read);
    } catch (fault) {
      if (signal.aborted) return;
      const state = isRefusal(fault) ? "refused" : "failed";
      list.set((before) => ({ ...before, state }));
    } finally {
      next = window.setTimeout(refreshIfSeen, refreshEvery);
    }
  });
  const refreshIfSeen = (): void => void (document.hidden || reader.refresh());
  const change = async (work: Promise<unknown>, edit: RowsChange = (rows) => rows): Promise<void> => {
    await work;
    list.set((before) => ({ ...before, rows: edit(before.rows) }));
    // What is read just now may be older.
    reader.restart();
  };
  const show = (count: number): void => {
    pages = count;
    reader.restart();
  };
  query.subscribe(() => show(1));
  document.addEventListener("visibilitychange", refreshIfSeen);
  return {
    list,
    query,
    refresh: reader.refresh,
    restart: reader.restart,
    readMore: () => show(pages + 1),
    rename: (id, title) =>
      change(api.request(`/sessions/${id}`, { method: "PATCH", body: { title } }), (rows) =>
        rows.map((row) => (row.id === id ? { ...row, title } : row)),
      ),
    clear: (id) => change(api.request(`/sessions/${id}/clear`, { method: "POST", body: {} })),
    remove: (id) =>
      change(api.request(`/sessions/${id}`, { method: "DELETE" }), (rows) =>
        rows.filter((row) => row.id !== id),
      ),
  };
};
