import type { Agent } from "../src/agent/definition/agent.ts";
import { draftOf } from "../src/agent/transaction/draft.ts";
import type { Draft, Moment } from "../src/agent/transaction/draft.ts";
import type { SessionEvent } from "../src/agent/state/events.ts";
import { linesOf, toldOf } from "../src/session/event-lines.ts";
import type { Told } from "../src/session/event-lines.ts";
import { runLines, stepLines } from "../src/session/log-lines.ts";
import type { Session } from "../src/agent/state/session.ts";
import type { Engine } from "../src/engine/engine.ts";
import { tenantHash } from "../src/tools/log-line.ts";
import type { Live, LiveParts } from "./live.ts";
import { writeTransition } from "./rows/store.ts";

const isUnchanged = (draft: Draft, state: Session): boolean =>
  draft.state === state &&
  draft.events.length === 0 &&
  draft.answers.length === 0 &&
  draft.entries.length === 0;

const hasRows = (draft: Draft): boolean =>
  Object.values(draft).some((rows: unknown) => Array.isArray(rows) && rows.length > 0);

/** Items that an event made void or whole. */
const endedItems = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => {
    if (event.type === "attempt_aborted") return event.data.items;
    return event.type === "tool_call_end" && event.call !== undefined ? [event.call] : [];
  });

/** The draft's events as texts; the last net for secrets that some part let through. */
const tellable = ({ events }: Draft, { redactor }: Engine): Told => {
  const told = toldOf(events);
  return told.texts.some(redactor.holds) ? { ...told, texts: toldOf(redactor.value(events)).texts } : told;
};

const loggersIn =
  (engine: Engine, session: Session) =>
  (threadId: string): Agent["loggers"] =>
    agentOf(engine, session, threadId).loggers;

/** What the log says of a commit: its runs where an agent has a logger, and its finished steps. */
const logged = (
  { engine, log }: Pick<LiveParts, "engine" | "log">,
  { events, moment }: Draft,
  before: Session,
  after: Session,
): void => {
  for (const { msg, fields, level } of runLines(events, loggersIn(engine, after)))
    log(msg, { session: after.id, ...fields }, level);
  const { log_level: least } = engine.team.observability;
  for (const { msg, fields, level } of stepLines(events, before, moment.now, least))
    log(msg, { tenant: tenantHash(after.tenant), session: after.id, ...fields }, level);
};

/** The newest state, and the one door for writes: a transition of it, in one transaction, published after it. */
export const createDoor = (
  { storage, watchers, items, committing, engine, log }: LiveParts,
  momentOf: (draft: () => Draft) => Moment,
  stored: Session | null,
  initial: Session,
): Pick<Live, "read" | "update"> & { readonly close: () => void } => {
  let before = stored;
  let state = initial;
  let closed = false;
  return {
    read: () => state,
    close: () => {
      closed = true;
    },
    update: (change) => {
      const draft: Draft = draftOf(
        state,
        momentOf(() => draft),
      );
      const result = change(draft);
      if (closed || isUnchanged(draft, state)) return result;
      if (draft.mayWait && !hasRows(draft)) {
        state = draft.state;
        return result;
      }
      const told = tellable(draft, engine);
      const found = state;
      const next = { ...draft.state, head: state.head + told.texts.length };
      storage.transactionSync(() => {
        committing();
        writeTransition(storage.sql, before, next, draft, told);
        items.closed(endedItems(draft.events));
      });
      state = next;
      before = next;
      watchers.publish(linesOf(told.texts, next.id, found.head + 1, draft.moment.now), next.head);
      logged({ engine, log }, draft, found, next);
      return result;
    },
  };
};

/** The agent of a thread, as it stands there. */
export const agentOf = (engine: Engine, session: Session, threadId: string): Agent => {
  const thread = session.threads[threadId];
  return engine.agent(thread?.agent ?? "", session, thread?.child?.standing);
};
