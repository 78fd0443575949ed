import * as z from "zod";
import type { Json } from "../../chat/message.ts";
import { own } from "../own.ts";
import { refuse, refuseField } from "../problem.ts";
import { usd } from "../result.ts";
import { statusOf } from "../runs.ts";
import { addUsage, noTotals } from "../usage.ts";
import type { Totals } from "../usage.ts";
import { json, limit, list, read, rows } from "./command.ts";
import type { Archive, Command, ReadContext } from "./command.ts";
import { activeRuns, newestRuns, threadViews } from "./lists.ts";
import { sessionView } from "./session.ts";

/** Reads of a session. */

const cursor = z.coerce
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER - 1);

export const messages: Command = read(
  z.strictObject({
    thread: z.string().max(64).default("main"),
    before: cursor.optional(),
    limit: limit(200, 50),
    retired: z.stringbool().or(z.boolean()).default(false),
  }),
  ({ archive, state }, { thread, before, limit: most, retired }) => {
    if (own(state.threads, thread) === undefined && archive.child(thread) === null)
      return refuseField("not_found", "/thread", "no such thread");
    const found = archive.messages({ thread, before: before ?? null, limit: most, retired });
    return rows(found.toReversed());
  },
);

export const input: Command = read(
  z.strictObject({ input: z.string() }),
  ({ archive, state }, { input: id }) => {
    const waiting = Object.values(state.threads).flatMap(({ inbox }) => inbox);
    const found = waiting.find((each) => each.id === id) ?? archive.input(id);
    return found === null ? refuse("not_found", "no such input") : json(JSON.stringify(found));
  },
);

export const run: Command = read(z.strictObject({ run: z.string() }), ({ archive, state }, { run: id }) => {
  const found = activeRuns(state).find((each) => each.id === id) ?? archive.run(id);
  return found === null ? refuse("not_found", "no such run") : json(JSON.stringify(found));
});

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
    runs: newestRuns({ state, archive }, 20),
  };
  return `${JSON.stringify(parts).slice(0, -1)},"messages":${list(shown)}}`;
};

/** What was used since the session was created, whatever was cleared. */
const lifetimeOf = (by: ReturnType<Archive["usage"]>) => {
  const { cumulative, cost, ...counts } = by.reduce<Totals>(
    (sum, row) => ({
      cumulative: addUsage(sum.cumulative, row.usage),
      cost: sum.cost === null || row.cost === null ? null : sum.cost + row.cost,
      calls: sum.calls + row.calls,
      estimated: sum.estimated || row.estimated,
    }),
    noTotals,
  );
  return { ...cumulative, cost_usd: usd(cost), ...counts };
};

/** What a session used: since it was cleared, in all, and by agent and model (MO-33, AP-40). */
export const usage: Command = read(z.strictObject({}), ({ state, archive }) => {
  const { cumulative, cost, calls, estimated } = state.usage;
  const by = archive.usage();
  const value = {
    cumulative: { ...cumulative, cost_usd: usd(cost), estimated },
    calls,
    lifetime: lifetimeOf(by),
    by: by.map(({ cost: nano, ...row }) => ({ ...row, cost_usd: usd(nano) })),
    status: statusOf(state),
  };
  return json(JSON.stringify(value));
});
