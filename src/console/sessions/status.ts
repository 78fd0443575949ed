import type { TranscriptSession, TranscriptUsage } from "../../client/transcript.ts";
import { escapeInLine } from "../parts/escape.ts";
import { formatMoment, formatTime, formatUntil } from "../parts/format.ts";

/** What state a session is in, in words. */

/** A row of `GET /v1/sessions`. */
export interface SessionRow {
  readonly id: string;
  readonly ref: string | null;
  readonly agent: string;
  readonly title: string | null;
  readonly status: "idle" | "running" | "waiting";
  readonly created_at: number;
  readonly updated_at: number;
  readonly usage: TranscriptUsage;
  /** How its newest run of the person's thread ended; null before the first end. */
  readonly last_end: { readonly state: string; readonly reason: string } | null;
  /** Only the session that is shown tells what it waits for. */
  readonly waiting_for?: TranscriptSession["waiting_for"];
}

/** What a session is called on the page; one that has no name yet is told from others by when it began. */
export const titleOf = ({
  title,
  ref,
  created_at: at,
}: Pick<SessionRow, "title" | "ref" | "created_at">): string =>
  escapeInLine(title ?? ref ?? `Untitled, ${formatTime(at, Date.now())}`);

/** Says when a session began if another one has the same title; an empty text else. */
export const tellApart = (rows: readonly SessionRow[], now: number): ((row: SessionRow) => string) => {
  const titles = Map.groupBy(rows, titleOf);
  return (row) => (titles.get(titleOf(row))?.length === 1 ? "" : formatMoment(row.created_at, now));
};

/** Sessions may be narrowed to one of these. */
export type StatusFilter = "all" | "asks" | "working" | "failed";

export interface StatusWords {
  readonly filter: Exclude<StatusFilter, "all"> | null;
  readonly text: string;
  /** Blue waits for the person, red failed, ink is neither. */
  readonly tone: "mine" | "bad" | "plain";
}

const askWords: Readonly<Record<string, string>> = {
  question: "Has a question",
  approval: "Needs your approval",
  budget: "Needs your decision",
  authorization: "Needs you to sign in",
  client_tool: "Waiting for its client",
};

/** Why runs failed, in few words. */
const failureWords: Readonly<Record<string, string>> = {
  max_iterations: "too many turns",
  tool_loop: "went in circles",
  no_progress: "got nowhere",
  budget_exceeded: "budget used up",
  deadline_exceeded: "out of time",
  refusal: "the model refused",
  output_invalid: "answer of another form",
  context_window_too_small: "window too small",
  context_length_exceeded: "too long for the model",
  provider_auth: "model key refused",
  provider_rate_limited: "model limits reached",
  provider_overloaded: "model overloaded",
  provider_timeout: "model too slow",
  provider_error: "model failed",
  effect_failed: "an effect failed",
  mcp_error: "a tool server failed",
  config_changed: "the team changed",
  storage_error: "storage failed",
};

export const explainFailure = (reason: string): string => failureWords[reason] ?? "stopped by a fault";

/** What a run waits for that is not the person; of several things the first says the most. */
const waitWords: readonly (readonly [kind: string, words: string])[] = [
  ["retry", "trying again"],
  ["ask", "waiting for its client"],
  ["exec", "waiting for a command"],
  ["time", "paused"],
  ["thread", "waiting for an agent"],
];

/** Says how long it is until something happens, in whole seconds, so that a countdown keeps its width. */
export const formatCountdown = (until: number, now: number): string =>
  until - now < 60_000 ? `${Math.max(1, Math.ceil((until - now) / 1_000))} s` : formatUntil(until, now);

/** Says what a run waits for; without knowing, no more than that it waits. */
export const describeWait = (
  reasons: TranscriptSession["waiting_for"],
  now: number | null = null,
): string => {
  const [kind, words] = waitWords.find(([each]) => reasons.some((reason) => reason.kind === each)) ?? [];
  const until = reasons.find((reason) => reason.kind === kind)?.until;
  if (words === undefined || now === null || until === undefined || until - now < 1_000)
    return words ?? "waiting";
  if (kind === "retry") return `${words} in ${formatCountdown(until, now)}`;
  return kind === "time" ? `${words} for ${formatCountdown(until, now)}` : words;
};

export const beginSentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const describeWaiting = (reasons: SessionRow["waiting_for"], ask: string | undefined): StatusWords => {
  const words = ask === undefined ? undefined : askWords[ask];
  return { filter: "working", text: words ?? beginSentence(describeWait(reasons ?? [])), tone: "plain" };
};

/** Says the state of a listed session. */
export const describeStatus = (
  { status, last_end: end, waiting_for: reasons }: Pick<SessionRow, "status" | "last_end" | "waiting_for">,
  ask: string | undefined,
): StatusWords => {
  if (ask !== undefined && ask !== "client_tool")
    return { filter: "asks", text: askWords[ask] ?? "Needs you", tone: "mine" };
  if (status === "running") return { filter: "working", text: "Working", tone: "plain" };
  if (status === "waiting") return describeWaiting(reasons, ask);
  if (end?.state === "failed")
    return { filter: "failed", text: `Failed · ${explainFailure(end.reason)}`, tone: "bad" };
  if (end?.state === "cancelled") return { filter: null, text: "Stopped", tone: "plain" };
  return { filter: null, text: end === null ? "New" : "Done", tone: "plain" };
};
