/** The page's address: which session is shown, and whether its conversation or what the model saw in a turn. */

export interface PageAddress {
  /** Null on the first page. */
  readonly session: string | null;
  readonly context: ContextPlace | null;
}

/** A turn of a run, and which of its model calls; null shows the newest. */
export interface ContextPlace {
  readonly run: string;
  readonly turn: number;
  readonly call: number | null;
}

const pattern = /^#(s_[a-z2-7]{26})(?:\/(run_\w+)\/(\d+)(?:\/(\d+))?)?$/;

export const readRoute = (hash: string): PageAddress => {
  const [, session = null, run, turn, call] = pattern.exec(hash) ?? [];
  if (session === null || run === undefined) return { session, context: null };
  return { session, context: { run, turn: Number(turn), call: call === undefined ? null : Number(call) } };
};

export const writeRoute = ({ session, context }: PageAddress): string => {
  if (session === null) return "#";
  if (context === null) return `#${session}`;
  const { run, turn, call } = context;
  return `#${session}/${run}/${turn}${call === null ? "" : `/${call}`}`;
};
