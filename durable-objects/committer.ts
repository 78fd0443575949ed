import type { Agent } from "../src/agent/definition/agent.ts";
import type { SessionEvent } from "../src/agent/state/events.ts";
import type { Session } from "../src/agent/state/session.ts";
import type { Draft, TransactionContext } from "../src/agent/transaction/draft.ts";
import { createDraft } from "../src/agent/transaction/draft.ts";
import type { ThrownBy } from "../src/driver/host.ts";
import type { Engine } from "../src/engine/engine.ts";
import { hasDecision } from "../src/session/decisions.ts";
import type { EventTexts } from "../src/session/event-lines.ts";
import { eventLinesOf, eventTextsOf } from "../src/session/event-lines.ts";
import { runLines, stepLines } from "../src/session/log-lines.ts";
import { errorMessageOf } from "../src/tools/errors.ts";
import { describeFault, stackFrames, tenantHash } from "../src/tools/log-line.ts";
import type { LiveSession, LiveSessionParts } from "./live-session.ts";
import { keepUnchanged } from "./rows/changes.ts";
import type { Episodes } from "./rows/episodes.ts";
import type { LogPlace } from "./rows/event-log.ts";
import { findLogPlace } from "./rows/event-log.ts";
import { writeTransition } from "./rows/store.ts";

const isSilent = ({ events, answers, entries }: Draft): boolean =>
  events.length === 0 && answers.length === 0 && entries.length === 0;

const hasRows = (draft: Draft): boolean =>
  Object.values(draft).some((rows: unknown) => Array.isArray(rows) && rows.length > 0);

/** Lists the items that an event completed or made void. */
const findEndedItems = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => {
    if (event.type === "attempt_aborted") return event.data.items;
    return event.type === "tool_call_end" && event.call !== undefined ? [event.call] : [];
  });

/** Returns the draft's events as texts; this is the last filter for secrets that an earlier one missed. */
const redactEvents = ({ events }: Draft, { redactor }: Engine): EventTexts => {
  const texts = eventTextsOf(events);
  const holds = texts.events.some((event) =>
    [event.scope, event.own, event.data].some((text) => redactor.holds(text)),
  );
  return holds ? { ...texts, events: eventTextsOf(redactor.value(events)).events, redacted: true } : texts;
};

const loggersByThread =
  (engine: Engine, session: Session) =>
  (threadId: string): Agent["loggers"] =>
    agentOfThread(engine, session, threadId).loggers;

/**
 * Logs where a tool or a hook threw, and on a developer's machine also what. There the stack is below the line, where
 * wrangler replaces places in the bundle by those in the source.
 */
export const logThrown = (
  { engine, log }: Pick<LiveSessionParts, "engine" | "log">,
  { id, tenant, threads }: Session,
  by: ThrownBy,
  error: unknown,
): void => {
  const run = threads[by.thread]?.run?.id;
  const fields = { tenant: tenantHash(tenant), session: id, run, ...by };
  const msg = "tool" in by ? "tool_threw" : "hook_threw";
  if (!engine.isDevelopment) return log(msg, { ...fields, ...describeFault(error) }, "warn");
  const frames = error instanceof Error ? stackFrames(error).map((frame) => `\n${frame}`) : [];
  const below = engine.redactor.text(frames.join(""));
  log(msg, { ...fields, message: errorMessageOf(error) }, "warn", below);
};

/** Logs a commit: what hooks threw, its runs, where an agent has a logger, and its finished steps. */
const logCommit = (
  { engine, log }: Pick<LiveSessionParts, "engine" | "log">,
  { events, context, thrown }: Draft,
  before: Session,
  after: Session,
): void => {
  for (const { error, ...by } of thrown) logThrown({ engine, log }, before, by, error);
  for (const { msg, fields, level } of runLines(events, loggersByThread(engine, after)))
    log(msg, { session: after.id, ...fields }, level);
  const { log_level: least } = engine.team.observability;
  for (const { msg, fields, level } of stepLines(events, before, context.now, least, engine.isDevelopment))
    log(msg, { tenant: tenantHash(after.tenant), session: after.id, ...fields }, level);
};

/**
 * Creates the committer, which holds the newest state and makes every write to it: one transition in one
 * transaction, then its publication.
 */
export const createCommitter = (
  { storage, watchers, items, committing, engine, log }: LiveSessionParts,
  contextOf: (draft: () => Draft) => TransactionContext,
  { stored, initial }: { readonly stored: Session | null; readonly initial: Session },
  { note }: Pick<Episodes, "note">,
): Pick<LiveSession, "read" | "update"> & { readonly close: () => void } => {
  let written = stored;
  let state = initial;
  let place: LogPlace | null = null;
  let closed = false;
  return {
    read: () => state,
    close: () => {
      closed = true;
    },
    update: (change) => {
      const draft: Draft = createDraft(
        state,
        contextOf(() => draft),
      );
      const result = change(draft);
      const kept = keepUnchanged(state, draft.state);
      if (closed || (kept === state && isSilent(draft))) return result;
      // What may wait is written with the next commit.
      if (draft.commit.mayWait && !hasRows(draft)) {
        state = kept;
        return result;
      }
      const texts = redactEvents(draft, engine);
      const previous = state;
      const next = { ...kept, head: state.head + texts.events.length };
      place = storage.transactionSync(() => {
        const decided = draft.events.some(hasDecision);
        committing(draft.ledger.length, previous.head, decided);
        const { sql } = storage;
        const wrote = writeTransition(
          sql,
          { before: written, after: next, draft, texts },
          place ?? findLogPlace(sql),
        );
        items.close(findEndedItems(draft.events));
        return wrote;
      });
      state = next;
      written = next;
      note(texts.events);
      watchers.publish(
        draft.events,
        () => eventLinesOf(texts.events, next.id, previous.head + 1, draft.context.now),
        previous.head,
      );
      logCommit({ engine, log }, draft, previous, next);
      return result;
    },
  };
};

/** Returns the agent of a thread under the constraints of that thread. */
export const agentOfThread = (engine: Engine, session: Session, threadId: string): Agent => {
  const thread = session.threads[threadId];
  return engine.agent(thread?.agent ?? "", session, thread?.child?.callerConstraints);
};
