import * as z from "zod";
import type { Json } from "../../chat/message.ts";
import { firstCharacters } from "../../chat/text.ts";
import { own } from "../own.ts";
import { refuse } from "../problem.ts";
import { runRecord, statusOf } from "../runs.ts";
import type { Session } from "../state.ts";
import type { ChildRecord } from "../child.ts";
import type { RunRecord } from "../records.ts";
import { read } from "./command.ts";
import type { Answer, Command, ReadContext } from "./command.ts";
import { sessionView } from "./session.ts";

/** Reads of a session. Numbers may come as text, since they stand in queries. */

const limit = (most: number, standard: number): z.ZodType<number> =>
  z.coerce.number().int().min(1).max(most).default(standard);
const cursor = z.coerce
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER - 1);

const json = (text: string): Answer => ({ status: 200, value: { json: text } });
const list = (rows: readonly string[]): string => `[${rows.join(",")}]`;
const rows = (values: readonly unknown[]): Answer =>
  json(`{"data":${list(values.map((value) => JSON.stringify(value)))}}`);

const activeRuns = (session: Session): readonly RunRecord[] =>
  Object.values(session.threads).flatMap((thread) =>
    thread.run === null ? [] : [runRecord(thread, thread.run)],
  );

export const messages: Command = read(
  z.strictObject({
    thread: z.string().max(64).default("main"),
    before: cursor.optional(),
    limit: limit(200, 50),
    retired: z.stringbool().or(z.boolean()).default(false),
  }),
  ({ archive, state }, { thread, before, limit: most, retired }) => {
    if (own(state.threads, thread) === undefined && archive.child(thread) === null)
      return refuse("not_found", "/thread: no such thread");
    const found = archive.messages({ thread, before: before ?? null, limit: most, retired });
    return json(`{"data":${list([...found].reverse())}}`);
  },
);

export const inputs: Command = read(z.strictObject({}), ({ archive }) => rows(archive.inputs()));

export const input: Command = read(
  z.strictObject({ input: z.string() }),
  ({ archive, state }, { input: id }) => {
    const waiting = Object.values(state.threads).flatMap(({ inbox }) => inbox);
    const found = waiting.find((each) => each.id === id) ?? archive.input(id);
    return found === null ? refuse("not_found", "no such input") : json(JSON.stringify(found));
  },
);

export const runs: Command = read(
  z.strictObject({ limit: limit(200, 50) }),
  ({ archive, state }, { limit: most }) => rows([...activeRuns(state), ...archive.runs(most)].slice(0, most)),
);

export const run: Command = read(z.strictObject({ run: z.string() }), ({ archive, state }, { run: id }) => {
  const found = activeRuns(state).find((each) => each.id === id) ?? archive.run(id);
  return found === null ? refuse("not_found", "no such run") : json(JSON.stringify(found));
});

/** Callers before those they called: the order of the stored rows says nothing. */
const liveThreads = (session: Session): readonly Json[] =>
  Object.values(session.threads)
    .toSorted((one, other) => one.depth - other.depth)
    .map(({ id, agent, parent, depth, run: active, lastRun, child }) => ({
      id,
      agent,
      parent,
      depth,
      run: active?.id ?? null,
      last_run: lastRun,
      status: active === null ? "idle" : active.waitingShown ? "waiting" : "running",
      ...(child === null ? {} : { label: child.label, task: child.task }),
    }));

const notEnded = { run: null, state: null, reason: null, error: null, turns: 0, usage: null, ended_at: null };

/** A called thread that has left the live state. */
const endedThread = ({ id, agent, label, parent, depth, task, started_at, end }: ChildRecord): Json => {
  const { run, state, reason, error, turns, usage, ended_at } = end ?? notEnded;
  const base = { id, agent, parent, depth, run: null, last_run: run, status: "ended", label };
  const came = { state, reason, error, turns, usage: usage === null ? null : { ...usage } };
  return { ...base, task: firstCharacters(task, 200), ...came, started_at, ended_at };
};

/** The delegation tree: threads that are there, callers first, then the newest that have ended. */
const threadViews = (
  { state, archive }: Pick<ReadContext, "state" | "archive">,
  most: number,
): readonly Json[] => {
  const ended = archive.children(most).filter(({ id }) => state.threads[id] === undefined);
  return [...liveThreads(state), ...ended.map(endedThread)].slice(0, most);
};

export const threads: Command = read(z.strictObject({ limit: limit(200, 200) }), (context, { limit: most }) =>
  rows(threadViews(context, most)),
);

export const asks: Command = read(
  z.strictObject({ status: z.enum(["open", "resolved", "expired", "cancelled"]).optional() }),
  ({ archive }, { status }) => rows(archive.asks(status ?? null)),
);

const typeOf = /"type":"([a-z_]+)"/;
const threadOfEvent = /"thread":"([^"]+)"/;

/** Events after a cursor (AP-23): rows are sent as they were stored. */
export const events: Command = read(
  z.strictObject({
    after: cursor.default(0),
    before: cursor.optional(),
    types: z.string().max(2_000).optional(),
    thread: z.string().max(64).optional(),
    limit: limit(1_000, 200),
  }),
  ({ archive, state }, { after, before, types, thread, limit: most }) => {
    if (after > state.head)
      return refuse("cursor_ahead", `after: the newest event is ${state.head}`, {
        meta: { head_seq: state.head },
      });
    const wanted = types === undefined ? null : new Set(types.split(","));
    const end = Math.min(before ?? Number.MAX_SAFE_INTEGER, after + most + 1);
    const found = archive.events({ after, limit: Math.max(0, end - after - 1) });
    const shown = found.filter(
      (row) =>
        (wanted === null || wanted.has(typeOf.exec(row)?.[1] ?? "")) &&
        (thread === undefined || threadOfEvent.exec(row)?.[1] === thread),
    );
    return json(`{"data":${list(shown)},"next_after":${after + found.length},"head_seq":${state.head}}`);
  },
);

/** Threads of a snapshot. */
const shownThreads = 200;

/** One consistent read of everything a client shows (AP-24). */
export const snapshotOf = (
  { state, archive }: Pick<ReadContext, "state" | "archive">,
  items: Json,
): string => {
  const shown = Object.keys(state.threads).flatMap((thread) =>
    [...archive.messages({ thread, before: null, limit: 200, retired: false })].reverse(),
  );
  const waiting = Object.values(state.threads).flatMap(({ inbox }) => inbox);
  const parts = {
    seq: state.head,
    session: sessionView(state),
    threads: threadViews({ state, archive }, shownThreads),
    items,
    asks: Object.values(state.asks),
    inputs: waiting,
    runs: [...activeRuns(state), ...archive.runs(20)],
  };
  return `${JSON.stringify(parts).slice(0, -1)},"messages":${list(shown)}}`;
};

export const usage: Command = read(z.strictObject({}), ({ state, archive }) => {
  const { cumulative, cost, calls, estimated } = state.usage;
  const by = archive.usage();
  const total = by.reduce((sum, row) => sum + row.calls, 0);
  const shown = by.map(({ cost: nano, ...row }) => ({ ...row, cost_usd: nano === null ? null : nano / 1e9 }));
  const value = {
    cumulative: { ...cumulative, cost_usd: cost === null ? null : cost / 1e9, estimated },
    calls,
    lifetime: { calls: total },
    by: shown,
    status: statusOf(state),
  };
  return json(JSON.stringify(value));
});
