/** The page's address: which session is shown, and whether its conversation, that of a called agent, or what the model saw in a turn. */

export interface PageAddress {
  /** Null on the first page. */
  readonly session: string | null;
  readonly context: ContextPlace | null;
  /** The called agent whose lines have the page for themselves. */
  readonly thread?: string;
}

/** A turn of a run, and which of its model calls; null shows the newest. */
export interface ContextPlace {
  readonly run: string;
  readonly turn: number;
  readonly call: number | null;
}

const pattern = /^#(s_[a-z2-7]{26})(?:\/(run_\w+)\/(\d+)(?:\/(\d+))?|\/thread\/(\w+))?$/;

export const readRoute = (hash: string): PageAddress => {
  const [, session = null, run, turn, call, thread] = pattern.exec(hash) ?? [];
  if (thread !== undefined) return { session, context: null, thread };
  if (session === null || run === undefined) return { session, context: null };
  return { session, context: { run, turn: Number(turn), call: call === undefined ? null : Number(call) } };
};

export const writeRoute = ({ session, context, thread }: PageAddress): string => {
  if (session === null) return "#";
  if (thread !== undefined) return `#${session}/thread/${thread}`;
  if (context === null) return `#${session}`;
  const { run, turn, call } = context;
  return `#${session}/${run}/${turn}${call === null ? "" : `/${call}`}`;
};
