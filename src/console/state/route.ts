/** The page's address: which session is shown, whose conversation, and whether what the model saw in a turn stands in its place. */

export interface PageAddress {
  /** Null on the first page. */
  readonly session: string | null;
  readonly context: ContextPlace | null;
  /** The called agent whose conversation the page shows, or shows again once the look at a turn is closed. */
  readonly thread?: string | undefined;
}

/** A turn of a run, and which of its model calls; null shows the newest. */
export interface ContextPlace {
  readonly run: string;
  readonly turn: number;
  readonly call: number | null;
}

/** Whether there is a session of such an id is for the server to say; what follows and leads nowhere is left out. */
const pattern = /^#([\w-]+)(?:(?:\/thread\/(\w+))?(?:\/(run_\w+)\/(\d+)(?:\/(\d+))?)?$)?/;

export const readRoute = (hash: string): PageAddress => {
  const [, session = null, thread, run, turn, call] = pattern.exec(hash) ?? [];
  if (run === undefined) return { session, context: null, thread };
  const context = { run, turn: Number(turn), call: call === undefined ? null : Number(call) };
  return { session, context, thread };
};

export const writeRoute = ({ session, context, thread }: PageAddress): string => {
  if (session === null) return "#";
  const conversation = `#${session}${thread === undefined ? "" : `/thread/${thread}`}`;
  if (context === null) return conversation;
  const { run, turn, call } = context;
  return `${conversation}/${run}/${turn}${call === null ? "" : `/${call}`}`;
};
