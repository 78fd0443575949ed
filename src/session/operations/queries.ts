import { sessionStatusOf, waitingInputsOf } from "../../agent/state/thread.ts";
import { spendingView, totalsView } from "./budget.ts";
import * as z from "zod";
import { toUsd } from "../../agent/state/records.ts";
import { ownEntry } from "../../chat/json.ts";
import type { Archive, CommandAnswer, ReadContext } from "../define-operation.ts";
import { jsonAnswer, joinRows, okAnswer, defineRead } from "../define-operation.ts";
import { showEvents, requireEventTypes, takeEvents } from "../event-lines.ts";
import {
  limitSchema,
  limitSentence,
  mostRows,
  pageBytes,
  takeFitting,
  wholeNumberSchema,
} from "../paging.ts";
import { refuse, refuseCursorAhead, refuseField } from "../problems.ts";
import { activeRuns, newestRuns, openAsksPage, threadViews } from "./lists.ts";
import { sessionView } from "./session.ts";

/** Reads of a session. */

const cursorSchema = wholeNumberSchema(0, Number.MAX_SAFE_INTEGER - 1);

/** Returns the `before` of the page that ends where the given message begins. */
const nextBefore = (first: { readonly pos: number } | undefined): number | null =>
  first === undefined ? null : first.pos + 1;

/** Returns the newest messages before a place, in their order; `before` continues the page, and null ends it. */
const messagePage = (
  archive: Archive,
  query: Parameters<Archive["messages"]>[0],
): { readonly data: readonly string[]; readonly before: number | null } => {
  const found = archive.messages({ ...query, limit: query.limit + 1 });
  const texts = takeFitting(found.slice(0, query.limit));
  return { data: texts.toReversed(), before: nextBefore(found[texts.length]) };
};

export const messagesOperation = defineRead({
  name: "messages",
  summary: "Lists the messages of a thread: the newest before a place, in their order.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/messages",
  params: z.strictObject({
    thread: z.string().max(64).default("main").describe("The thread of the messages."),
    before: cursorSchema.optional().describe("Shows messages before this pos."),
    limit: limitSchema(mostRows, 50).describe(limitSentence),
    retired: z
      .stringbool({ truthy: ["true"], falsy: ["false"], case: "sensitive" })
      .or(z.boolean())
      .default(false)
      .describe("Also shows messages that the model no longer sees."),
  }),
  run: ({ archive, state }, { thread, before, limit: most, retired }) => {
    if (ownEntry(state.threads, thread) === undefined && archive.child(thread) === null)
      return refuseField("not_found", "/thread", "no such thread");
    const page = messagePage(archive, { thread, before: before ?? null, limit: most, retired });
    return jsonAnswer(`{"data":${joinRows(page.data)},"next_before":${page.before}}`);
  },
});

export const inputOperation = defineRead({
  name: "input",
  summary: "Shows an input.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/inputs/:input",
  params: z.strictObject({ input: z.string() }),
  run: ({ archive, state }, { input: id }) => {
    const found = waitingInputsOf(state).find((each) => each.id === id) ?? archive.input(id);
    return found === null ? refuse("not_found", "This session has no such input.") : okAnswer(found);
  },
});

export const runOperation = defineRead({
  name: "run",
  summary: "Shows a run.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/runs/:run",
  params: z.strictObject({ run: z.string() }),
  run: ({ archive, state }, { run: id }) => {
    const found = activeRuns(state).find((each) => each.id === id) ?? archive.run(id);
    return found === null ? refuse("not_found", "This session has no such run.") : okAnswer(found);
  },
});

/** Most events of a page. */
export const mostEvents = 1_000;

export const eventsOperation = defineRead({
  name: "events",
  summary: "Lists the events after a cursor, as they were stored, or streams them.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/events",
  params: z.strictObject({
    after: cursorSchema.default(0).describe("The last event that was seen."),
    before: cursorSchema
      .optional()
      .describe("Shows only events before this one; a page begins after `after` all the same."),
    types: z.string().max(2_000).optional().describe("Types of events, with commas."),
    thread: z.string().max(64).optional().describe("The thread in which they happened."),
    limit: limitSchema(mostEvents, 200).describe("Most events of a page; next_after says where it ends."),
  }),
  alias: true,
  run: ({ archive, state, principal }, { after, before, types, thread, limit }) => {
    if (after > state.head) return refuseCursorAhead(state.head);
    const wanted = types?.split(",");
    requireEventTypes(wanted ?? []);
    const { lines, read } = takeEvents(archive.events(after), {
      filter: { types: wanted ?? null, threads: thread === undefined ? null : [thread] },
      before: before ?? Number.MAX_SAFE_INTEGER,
      limit,
      bytes: pageBytes,
    });
    return jsonAnswer(
      `{"data":${joinRows(showEvents(lines, principal))},"next_after":${after + read},"head_seq":${state.head}}`,
    );
  },
});

/** Number of messages of a thread in a snapshot. */
const shownMessages = 200;

/** Returns the newest messages of all threads that fit a page, and where threads with more messages continue. */
const newestMessages = ({ state, archive }: Pick<ReadContext, "state" | "archive">) => {
  const query = { before: null, limit: shownMessages + 1, retired: false };
  const threads = Object.keys(state.threads).map((thread) => archive.messages({ thread, ...query }));
  const texts = takeFitting(threads.flatMap((found) => found.slice(0, shownMessages)));
  const data: string[] = [];
  const more: { readonly thread: string; readonly before: number }[] = [];
  for (const [place, thread] of Object.keys(state.threads).entries()) {
    const found = threads[place] ?? [];
    const taken = texts.slice(data.length, data.length + Math.min(found.length, shownMessages));
    data.push(...taken.toReversed());
    const before = nextBefore(found[taken.length]);
    if (before !== null) more.push({ thread, before });
  }
  return { data, more };
};

/**
 * Reads everything that a client shows at one consistent point. What does not fit is named in `more`: queries of
 * `messages`, a cursor of the open `asks`, ids of `inputs`.
 */
export const createSnapshot = (reads: Omit<ReadContext, "now" | "agentOf">): string => {
  const { state } = reads;
  const messages = newestMessages(reads);
  const asks = openAsksPage(reads);
  const waiting = waitingInputsOf(state);
  const inputs = takeFitting(waiting.map((each) => ({ json: () => JSON.stringify(each) })));
  const parts = {
    seq: state.head,
    session: sessionView(state, reads.rules),
    threads: threadViews(reads),
    items: reads.items(),
    runs: newestRuns(reads),
    more: {
      messages: messages.more,
      asks: asks.next_cursor,
      inputs: waiting.slice(inputs.length).map(({ id }) => id),
    },
  };
  const lists = `"asks":${joinRows(asks.data)},"inputs":${joinRows(inputs)},"messages":${joinRows(messages.data)}`;
  return `${JSON.stringify(parts).slice(0, -1)},${lists}}`;
};

export const snapshotOperation = defineRead({
  name: "snapshot",
  summary: "Shows everything that a client needs to start, at one point of the log.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/snapshot",
  params: z.strictObject({}),
  run: (context) => jsonAnswer(createSnapshot(context)),
});

const showUsage = ({ state, archive }: ReadContext): CommandAnswer => {
  const { calls, ...cumulative } = totalsView(state);
  const value = {
    cumulative,
    calls,
    lifetime: spendingView(state.spent),
    by: archive.usage().map(({ cost: nano, ...row }) => ({ ...row, cost_usd: toUsd(nano) })),
    status: sessionStatusOf(state),
  };
  return okAnswer(value);
};

export const usageOperation = defineRead({
  name: "usage",
  summary: "Shows what the session used: since it was cleared, in all, and by agent and model.",
  scopes: ["usage:read"],
  path: "/v1/sessions/:session/usage",
  params: z.strictObject({}),
  run: showUsage,
});
