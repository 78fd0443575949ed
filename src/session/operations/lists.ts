import * as z from "zod";
import { runRecord } from "../../agent/run/runs.ts";
import type { ChildRecord } from "../../agent/state/child.ts";
import type { RunRecord } from "../../agent/state/records.ts";
import type { Session } from "../../agent/state/session.ts";
import type { Thread } from "../../agent/state/thread.ts";
import type { Json } from "../../chat/message.ts";
import { firstCharacters } from "../../chat/text.ts";
import type { Answer, Command, ReadContext } from "../command.ts";
import { json, limit, list, read } from "../command.ts";
import type { From, Page, PagedRow } from "../paging.ts";
import { bindingOf, fitting, pageOf, pageRows, readCursor } from "../paging.ts";

/** Lists of a session, page by page. What is alive stands before what is stored, wherever it ends meanwhile. */

type Reads = Pick<ReadContext, "state" | "archive">;

export const pageSchema = z.strictObject({ limit: limit(200, 50), cursor: z.string().max(1_024).optional() });

interface Rows {
  /** Names list and filters: a cursor fits no other. */
  readonly of: Json;
  /** Rows at hand, beyond all stored ones. */
  readonly live: readonly PagedRow[];
  readonly stored: (from: From) => readonly PagedRow[];
  readonly descending: boolean;
}

const pageFor = (
  { state }: Reads,
  { of, live, stored, descending }: Rows,
  { limit: most, cursor }: z.output<typeof pageSchema>,
): Page<string> => {
  const binding = bindingOf([state.id, of]);
  const position = readCursor(cursor, binding);
  const from = { position, limit: most + 1 };
  const rows = pageRows([...live, ...stored(from)], from, descending);
  const texts = fitting(
    rows
      .slice(0, most)
      .values()
      .map(({ json: read }) => read()),
  );
  const shown = rows.map(({ at, id }, place) => ({ at, id, text: texts[place] ?? "" }));
  return pageOf(shown, { position, column: "at", limit: texts.length, binding }, ({ text }) => String(text));
};

export const paged = (reads: Reads, rows: Rows, query: z.output<typeof pageSchema>): Answer => {
  const { data, next_cursor, prev_cursor } = pageFor(reads, rows, query);
  const cursors = JSON.stringify({ next_cursor, prev_cursor }).slice(1);
  return json(`{"data":${list(data)},${cursors}`);
};

export const inputs: Command = read(pageSchema, (context, query) => {
  const stored = context.archive.inputs;
  return paged(context, { of: "inputs", live: [], stored, descending: true }, query);
});

/** Greater than every place of a stored row. */
const beyondAll = 1e15;

export const activeRuns = (session: Session): readonly RunRecord[] =>
  Object.values(session.threads).flatMap((thread) =>
    thread.run === null ? [] : [runRecord(thread, thread.run)],
  );

/** Runs are numbered in the order in which they began. */
const numberOf = ({ id }: RunRecord): number => Number(id.slice("run_".length));

const activeRows = (session: Session): readonly PagedRow[] =>
  activeRuns(session).map((run) => ({
    at: beyondAll + numberOf(run),
    id: run.id,
    json: () => JSON.stringify(run),
  }));

export const runs: Command = read(pageSchema, (context, query) => {
  const { archive, state } = context;
  return paged(
    context,
    { of: "runs", live: activeRows(state), stored: archive.runs, descending: true },
    query,
  );
});

/** All that are under way, then the newest that have ended. */
export const newestRuns = ({ state, archive }: Reads, most: number): readonly Json[] => [
  ...(activeRuns(state) as unknown as readonly Json[]),
  ...archive.runs({ position: null, limit: most }).map((row) => JSON.parse(row.json()) as Json),
];

const liveThread = ({ id, agent, parent, depth, run: active, lastRun, child }: Thread): Json => ({
  id,
  agent,
  parent,
  depth,
  run: active?.id ?? null,
  last_run: lastRun,
  status: active === null ? "idle" : active.waitingShown ? "waiting" : "running",
  ...(child === null ? {} : { label: child.label, task: child.task }),
});

const notEnded = { run: null, state: null, reason: null, error: null, turns: 0, usage: null, ended_at: null };

/** A called thread that has left the live state. */
const endedThread = ({ id, agent, label, parent, depth, task, started_at, end }: ChildRecord): Json => {
  const { run, state, reason, error, turns, usage, ended_at } = end ?? notEnded;
  const base = { id, agent, parent, depth, run: null, last_run: run, status: "ended", label };
  const came = { state, reason, error, turns, usage: usage === null ? null : { ...usage } };
  return { ...base, task: firstCharacters(task, 200), ...came, started_at, ended_at };
};

/** Places of a level of the tree. */
const level = 1e13;

/** Callers before those they called, the first called first: the order of the stored rows says nothing. */
const liveRows = ({ state, archive }: Reads): readonly PagedRow[] =>
  Object.values(state.threads).map((thread) => ({
    at: -8 * beyondAll + thread.depth * level + (archive.child(thread.id)?.started_at ?? 0),
    id: thread.id,
    json: () => JSON.stringify(liveThread(thread)),
  }));

const endedRows =
  ({ state, archive }: Reads) =>
  ({ position, limit: most }: From): readonly PagedRow[] =>
    archive
      .children({ position, limit: most + Object.keys(state.threads).length })
      .filter(({ id }) => state.threads[id] === undefined)
      .slice(0, most)
      .map((row) => ({
        ...row,
        json: () => JSON.stringify(endedThread(JSON.parse(row.json()) as ChildRecord)),
      }));

/** The delegation tree: threads that are there, callers first, then those that have ended, the newest first. */
export const threads: Command = read(pageSchema, (context, query) =>
  paged(
    context,
    { of: "threads", live: liveRows(context), stored: endedRows(context), descending: false },
    query,
  ),
);

/** The first threads of that list. */
export const threadViews = (reads: Reads, most: number): readonly Json[] => {
  const from = { position: null, limit: most };
  const rows = pageRows([...liveRows(reads), ...endedRows(reads)(from)], from, false);
  return rows.map((row) => JSON.parse(row.json()) as Json);
};

export const asks: Command = read(
  pageSchema.extend({ status: z.enum(["open", "resolved", "expired", "cancelled"]).optional() }),
  (context, { status = null, ...query }) => {
    const stored = (from: From): readonly PagedRow[] => context.archive.asks(status, from);
    return paged(context, { of: ["asks", status], live: [], stored, descending: false }, query);
  },
);

/** The first page of the asks that are open. */
export const openAsks = (reads: Reads): Page<string> => {
  const live = Object.values(reads.state.asks).map((ask) => ({
    at: ask.seq,
    id: ask.id,
    json: () => JSON.stringify(ask),
  }));
  return pageFor(reads, { of: ["asks", "open"], live, stored: () => [], descending: false }, { limit: 200 });
};
