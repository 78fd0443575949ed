import type { NoteEntry, TranscriptEntry } from "../../client/transcript.ts";
import { limitUnit } from "../asks/limits.ts";
import { countOf, formatShare, formatTokens } from "../parts/format.ts";

/** What else happened, as sentences. */

type NoteEvent = NoteEntry["event"];

export type NoteOf<T extends NoteEvent["type"]> = Extract<NoteEvent, { readonly type: T }>;

const attemptWords: Readonly<Record<string, string>> = {
  overloaded: "The model is overloaded",
  rate_limited: "The model takes no more requests for now",
  timeout: "The model did not answer in time",
  auth: "The model refused the key",
  truncated_stream: "The reply broke off",
  network: "The model could not be reached",
  server_error: "The model failed",
  cancelled: "The reply was stopped",
};

/** A limit that is reached is told by the ask for more, or by the end of the run. */
const budgetWords = ({ data: { scope, kind, limit, spent } }: NoteOf<"budget_warning">): string | null => {
  if (spent >= limit) return null;
  const { show } = limitUnit(kind);
  const whose = { run: "This run", session: "This session", tenant: "Today" }[scope];
  return `${whose} has used ${show(spent)} of ${show(limit)}`;
};

const returnedWords: Readonly<Record<string, string>> = {
  cancelled: "the run was stopped",
  cleared: "the session was cleared",
  no_budget: "no budget is left",
};

const mcpWords = {
  failed: "cannot be reached",
  auth_needed: "needs somebody to sign in",
  quarantined: "changed its tools; they wait for approval",
  connected: "is there",
} as const;

type Sentences = { readonly [T in NoteEvent["type"]]?: (event: NoteOf<T>) => string | null };

/** The sentences of notes that are no more than one. */
const sentences: Sentences = {
  attempt_aborted: ({ data }) =>
    `${attemptWords[data.code] ?? "The reply broke off"}.${data.retry_at === null ? "" : " Tried again by itself."}`,
  provider_failover: ({ data }) => `${data.from} did not answer. ${data.to} took over.`,
  model_changed: ({ data }) =>
    data.to === null ? "The team’s own model from here on" : `Model ${data.to} from here on`,
  session_migrated: () => "The team changed; this session went over to its new definition",
  input_returned: ({ data }) => `A message was not sent: ${returnedWords[data.reason] ?? data.reason}`,
  messages_retired: ({ data }) =>
    data.by === "clear"
      ? "Cleared: the agent no longer sees what was said before. The events still have it"
      : `${countOf(data.messages.length, "message")} taken back`,
  context_window_warning: ({ data }) =>
    data.kind === "utilization"
      ? `The context is ${formatShare(data.utilization)} full`
      : `This model’s context is small: ${formatTokens(data.window)} tokens`,
  loop_detected: ({ data }) =>
    `${data.tool} was called ${data.count} times alike${data.level === "critical" ? "; the last one was refused" : ""}`,
  checkpoint: ({ data }) => `${formatShare(data.fraction)} of the turns are used`,
  plan_created: () => "A plan was made",
  status_update: ({ data }) => data.text,
  budget_warning: budgetWords,
  mcp_status: ({ data }) =>
    data.state === "connected" ? null : `The tool server ${data.server} ${mcpWords[data.state]}`,
  error: ({ data }) => data.message,
};

/** Says a note in a sentence; null for what is no news, or is told elsewhere. */
export const describeNote = (event: NoteEvent): string | null =>
  (sentences[event.type] as ((event: NoteEvent) => string | null) | undefined)?.(event) ?? null;

/** Ends a sentence that has no end. */
export const endSentence = (text: string): string =>
  text === "" || /[.!?…]$/.test(text) ? text : `${text}.`;

/** An error that ends the run is told by that end. */
export const isToldByNext = (entry: TranscriptEntry, next: TranscriptEntry | undefined): boolean =>
  entry.kind === "note" &&
  entry.event.type === "error" &&
  next?.kind === "note" &&
  next.event.type === "run_end" &&
  next.event.data.error?.detail === entry.event.data.message;
