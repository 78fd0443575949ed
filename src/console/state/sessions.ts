import { createStore } from "../parts/hooks.ts";
import type { Store } from "../parts/hooks.ts";
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
  /** When the rows were read. */
  readonly at: number;
  readonly problem: string | null;
}

export interface Sessions {
  readonly list: Store<SessionList>;
  /** What the list is narrowed to; empty shows all. */
  readonly query: Store<string>;
  /** Reads the list now. */
  readonly refresh: () => void;
  /** Reads older sessions, too. */
  readonly readMore: () => void;
  readonly rename: (id: string, title: string) => Promise<void>;
  readonly clear: (id: string) => Promise<void>;
  readonly remove: (id: string) => Promise<void>;
}

const refreshEvery = 5_000;

/** So many sessions are read at first, and so many more each time older ones are asked for. */
export const sessionsPerPage = 200;

/** So many open asks are looked through for what waits. */
const askPages = 5;

/** Without the scope to answer asks there are none to show. */
const readAsks = async (api: Api): Promise<readonly AskRow[]> => {
  try {
    const address = "/asks?status=open&limit=200";
    return (await readPages<AskRow>((cursor) => api.read(address + cursor), askPages)).rows;
  } catch (fault) {
    if (fault instanceof LimpetError && fault.problem.status === 403) return [];
    throw fault;
  }
};

export const createSessions = (api: Api): Sessions => {
  const list = createStore<SessionList>({
    state: "loading",
    rows: [],
    hasMore: false,
    asks: new Map(),
    at: 0,
    problem: null,
  });
  const query = createStore("");
  let reading = 0;
  let pages = 1;
  const read = async (): Promise<void> => {
    const mine = (reading += 1);
    const q = query.get().trim();
    const search = q === "" ? "" : `&q=${encodeURIComponent(q)}`;
    try {
      const address = `/sessions?order=-updated_at&limit=${sessionsPerPage}${search}`;
      const [{ rows, hasMore }, asks] = await Promise.all([
        readPages<SessionRow>((cursor) => api.read(address + cursor), pages),
        readAsks(api),
      ]);
      if (mine !== reading) return;
      const kinds = new Map(asks.map(({ session, kind }) => [session, kind]));
      list.set({ state: "ready", rows, hasMore, asks: kinds, at: Date.now(), problem: null });
    } catch (fault) {
      if (mine !== reading) return;
      const problem = fault instanceof Error ? fault.message : String(fault);
      list.set((before) => ({ ...before, state: isRefusal(fault) ? "refused" : "failed", problem }));
    }
  };
  const refresh = (): void => void read();
  const change = async (work: Promise<unknown>): Promise<void> => {
    await work;
    await read();
  };
  const show = (count: number): void => {
    pages = count;
    refresh();
  };
  query.subscribe(() => show(1));
  setInterval(() => document.hidden || refresh(), refreshEvery);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
  return {
    list,
    query,
    refresh,
    readMore: () => show(pages + 1),
    rename: (id, title) => change(api.request(`/sessions/${id}`, { method: "PATCH", body: { title } })),
    clear: (id) => change(api.request(`/sessions/${id}/clear`, { method: "POST", body: {} })),
    remove: (id) => change(api.request(`/sessions/${id}`, { method: "DELETE" })),
  };
};
