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

/** Whether there is a session of such an id is for the server to say; what follows and leads nowhere is left out. */
const pattern = /^#([\w-]+)(?:\/(run_\w+)\/(\d+)(?:\/(\d+))?$|\/thread\/(\w+)$)?/;

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
