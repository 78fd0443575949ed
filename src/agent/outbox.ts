import type { Draft } from "./draft.ts";
import type { Outside } from "./outside.ts";
import type { Reflection } from "./reflections.ts";
import type { Session } from "./state.ts";

/** What a session has to tell the team's object: kept in its state until it was taken, each row once by its id. */

export interface Outbox {
  readonly rows: readonly Reflection[];
  /** Failed deliveries in a row. */
  readonly tries: number;
  /** When the next one may begin. */
  readonly until: number;
}

/** While nobody takes them, the oldest rows leave. */
const mostRows = 32;
const firstPause = 2_000;
const longestPause = 300_000;

export const posted = (draft: Draft, row: Reflection): void => {
  const { rows, tries, until } = draft.state.outbox ?? { rows: [], tries: 0, until: draft.moment.now };
  draft.state = { ...draft.state, outbox: { rows: [...rows, row].slice(-mostRows), tries, until } };
};

const delivered = (draft: Draft, ids: ReadonlySet<string>): void => {
  const rows = (draft.state.outbox?.rows ?? []).filter(({ id }) => !ids.has(id));
  const outbox = rows.length === 0 ? null : { rows, tries: 0, until: draft.moment.now };
  draft.state = { ...draft.state, outbox };
};

const postponed = (draft: Draft): void => {
  const { outbox = null } = draft.state;
  if (outbox === null) return;
  const until = draft.moment.now + Math.min(longestPause, firstPause * 2 ** Math.min(outbox.tries, 20));
  draft.state = { ...draft.state, outbox: { ...outbox, tries: outbox.tries + 1, until } };
};

/** Names the delivery that is due; null if there is none. */
export const deliveryOf = ({ outbox = null }: Session, now: number): string | null => {
  const first = outbox?.rows[0];
  return outbox === null || first === undefined || outbox.until > now
    ? null
    : `outbox:${first.id}:${outbox.tries}`;
};

/** Sends what is there; what failed is sent again later, and changes no run. */
export const deliver = async ({ host, settle }: Outside): Promise<void> => {
  const { rows = [] } = host.read().outbox ?? {};
  const { reflections } = host.briefing;
  const sent = new Set(rows.map(({ id }) => id));
  try {
    await host.reflections.add(host.redactor.value(rows), reflections?.ttlMs ?? 0);
  } catch {
    settle(postponed);
    return;
  }
  settle((draft) => delivered(draft, sent));
};
