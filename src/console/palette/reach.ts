import { escapeInLine } from "../parts/escape.ts";
import { formatTime } from "../parts/format.ts";

/** What a permission allows and how far it reaches, in words. */

/** A row of `GET /v1/grants`. */
export interface GrantRow {
  readonly id: string;
  readonly scope: "session" | "agent";
  /** The session in which it was given. */
  readonly session: string;
  readonly agent: string;
  readonly tool: string;
  readonly pattern: string;
  /** Who gave it, as the log names them. */
  readonly by: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly expires_at: number | null;
}

/** Says what it allows: words, and behind them the tool with its pattern unless that is any use of the tool. */
export const describeAllowed = ({ tool, pattern }: GrantRow) =>
  pattern === "*"
    ? { words: "Any use of", code: escapeInLine(tool) }
    : { words: "", code: escapeInLine(`${tool} ${pattern}`) };

/** Says for whom and until when it holds, so that the title of its session fits behind it. */
export const describeReach = (
  { scope, agent, expires_at: until, at }: GrantRow,
  now = Date.now(),
): string => {
  if (scope === "session") return "For all agents in the session";
  return `For ${escapeInLine(agent)} in every session, until ${formatTime(until ?? at, now)}; given in`;
};
