import type { Json } from "../../chat/message.ts";
import type { NoteEntry, TranscriptEntry, TranscriptThread } from "../../client/transcript.ts";
import { limitUnit } from "../asks/limits.ts";
import { countOf, formatShare, formatTokens } from "../parts/format.ts";
import { fieldsOf, listOf, textOf } from "../parts/json.ts";
import { describeCall } from "../calls/verbs.ts";

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

/** Says that a message came back to who wrote it, and why. */
export const explainReturned = (reason: string): string =>
  `Not sent, since ${returnedWords[reason] ?? reason.replaceAll("_", " ")}`;

export interface ReturnedInput {
  readonly text: string;
  /** The names of the files that were attached. */
  readonly files: readonly string[];
}

/** Reads what a person had written and attached. */
export const readReturned = (content: Json): ReturnedInput => {
  const parts =
    typeof content === "string" ? [{ type: "text", text: content }] : listOf(content).map(fieldsOf);
  const texts = parts.flatMap(({ type, text }) => (type === "text" ? [textOf(text) ?? ""] : []));
  const files = parts.filter(({ type }) => type !== "text");
  return {
    text: texts.join("\n"),
    files: files.map((file) => textOf(file["name"]) ?? textOf(file["media_type"]) ?? "a file"),
  };
};

/** Says when a message that waits is given to the agent. */
export const whenItGoesOut = (mode: string | null): string => {
  if (mode === "steer") return "Before its next step";
  return mode === "queue" ? "After this run" : "Next";
};

/** What an agent does in circles; detectors count calls that are alike, calls that take turns, or whole replies. */
const loopWords = ({ detector, tool, count }: NoteOf<"loop_detected">["data"]): string => {
  if (detector === "loop_detection_threshold") return `${count} replies asked for the same steps`;
  const { verb } = describeCall({ tool, input: null, state: "done", outcome: null }, "infinitive");
  return detector === "ping_pong"
    ? `Two steps took turns ${count} times: ${verb}, and another one`
    : `The same step came ${count} times: ${verb}`;
};

const spentPattern =
  /^(max_\w+)(?: of the (session|tenant's day))?: ([\d.e+-]+) of ([\d.e+-]+)(?: s)? .*are (?:spent|used up)(;.*)?$/;

const ownersOf: Readonly<Record<string, string>> = { session: "session", "tenant's day": "day" };

/** Says why a run failed: a limit in the units of people, all else as the server says it. */
export const describeFailure = (detail: string): string => {
  const turns = /^max_iterations: (\d+) turns are used up/.exec(detail)?.[1];
  if (turns !== undefined) return `The run took all of its ${countOf(Number(turns), "turn")}`;
  const [, kind = "", owner = "", used = "", amount = "", more] = spentPattern.exec(detail) ?? [];
  if (kind === "") return detail;
  const { one, show } = limitUnit(kind);
  const [spent, limit] = [used, amount].map((each) => show(Number(each) * one));
  const whose = ownersOf[owner] ?? "run";
  if (more !== undefined) return `The next step needs more than is left of the ${whose}’s limit of ${limit}`;
  return spent === limit
    ? `The ${whose} spent its limit of ${limit}`
    : `The ${whose} spent ${spent}; its limit is ${limit}`;
};

const mcpWords = {
  failed: "cannot be reached",
  auth_needed: "does not let the agent in",
  quarantined: "changed its tools; they wait for approval",
  connected: "is there",
} as const;

type Sentences = { readonly [T in NoteEvent["type"]]?: (event: NoteOf<T>) => string | null };

/** The sentences of notes that are no more than one. */
const sentences: Sentences = {
  // That a reply was stopped stands at its end.
  attempt_aborted: ({ data: { code, retry_at: retryAt }, attempt = 1 }) =>
    code === "cancelled"
      ? null
      : `${attemptWords[code] ?? "The model failed"}${attempt > 1 ? ` (try ${attempt})` : ""}.${retryAt === null ? "" : " It is tried again by itself."}`,
  provider_failover: ({ data }) => `${data.from} could not answer. ${data.to} took over.`,
  model_changed: ({ data }) =>
    data.to === null ? "The team’s own model from here on" : `Model ${data.to} from here on`,
  session_migrated: () => "The team changed; this session went over to its new definition",
  messages_retired: ({ data }) =>
    data.by === "clear"
      ? "Cleared: the agent no longer sees what was said before. The events still have it"
      : `${countOf(data.messages.length, "message")} taken back`,
  context_window_warning: ({ data }) =>
    data.kind === "utilization"
      ? `The context is ${formatShare(data.utilization)} full`
      : `This model’s context is small: ${formatTokens(data.window)} tokens`,
  loop_detected: ({ data }) =>
    `${loopWords(data)}${data.level === "critical" ? ". It was not done again" : ""}`,
  checkpoint: ({ data }) => `${formatShare(data.fraction)} of the turns are used`,
  plan_created: () => "A plan was made",
  status_update: ({ data }) => data.text,
  budget_warning: budgetWords,
  mcp_status: ({ data: { server, state, error } }) =>
    state === "connected"
      ? null
      : [`The tool server ${server} ${mcpWords[state]}`, error].filter(Boolean).join(": "),
  error: ({ data }) => describeFailure(data.message),
};

/** Says a note in a sentence; null for what is no news, or is told elsewhere. */
export const describeNote = (event: NoteEvent): string | null =>
  (sentences[event.type] as ((event: NoteEvent) => string | null) | undefined)?.(event) ?? null;

/** Ends a sentence that has no end. */
export const endSentence = (text: string): string =>
  text === "" || /[.!?…]$/.test(text) ? text : `${text}.`;

/** With these a model call that was to be tried again is over, as it is with a reply. */
const tryEnds: readonly string[] = ["attempt_aborted", "provider_failover", "run_end"];

/** An error that ends the run is told by that end; that a call is tried again is news until the run goes on or ends. */
export const isToldLater = (
  entry: TranscriptEntry,
  later: readonly (TranscriptEntry | undefined)[],
): boolean => {
  if (entry.kind !== "note") return false;
  const { type, data } = entry.event;
  const [next] = later;
  if (type === "error")
    return (
      next?.kind === "note" && next.event.type === "run_end" && next.event.data.error?.detail === data.message
    );
  return (
    type === "attempt_aborted" &&
    data.retry_at !== null &&
    later.some(
      (each) => each?.run === entry.run && (each?.kind !== "note" || tryEnds.includes(each.event.type)),
    )
  );
};

/** Says how far a called agent is. */
export const stateWords: Readonly<Record<TranscriptThread["state"], string>> = {
  idle: "at rest",
  running: "working",
  waiting: "waiting",
  completed: "done",
  failed: "failed",
  cancelled: "stopped",
};
