import { parseJson } from "../../chat/json.ts";
import type { ContentPart, Json, ResultStatus, TextPart, ToolResultPart } from "../../chat/message.ts";
import { shortDigest } from "../../sandbox/sha256.ts";
import { canonicalJson } from "../../tools/canonical.ts";
import type { Call } from "../state/call.ts";
import { sanitizeToolName } from "../state/call.ts";
import type { CallRecord } from "../state/records.ts";
import type { StoredBlob, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, runOf } from "../transaction/draft.ts";

/** Effects and guards compare finished calls, which the thread's row keeps across runs and restarts. */

/** Digests a call's arguments without key order and spaces; what is not JSON is taken as it is. */
export const argsDigest = (args: string): string => {
  if (args.trim() === "") return shortDigest("{}");
  const value = parseJson(args);
  return shortDigest(value === undefined ? args : canonicalJson(value));
};

const omitFields = (value: Json, fields: readonly string[]): Json => {
  if (Array.isArray(value)) return value.map((each: Json) => omitFields(each, fields));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !fields.includes(key));
  return Object.fromEntries(kept.map(([key, each]) => [key, omitFields(each, fields)]));
};

const stableText = (text: string, fields: readonly string[]): string => {
  const value = fields.length > 0 ? parseJson(text) : undefined;
  return value === undefined ? text : canonicalJson(omitFields(value, fields));
};

/** Returns an image or document with a digest of the bytes that the result brings, since each call names them anew. */
const comparableMedia = (part: Exclude<ContentPart, TextPart>, blobs: readonly StoredBlob[]): string => {
  const bytes = blobs.find(({ id }) => id === part.blob);
  return canonicalJson({ ...part, ...(bytes !== undefined && { blob: shortDigest(bytes.text) }) });
};

/**
 * Returns the text to compare: JSON without the fields that the tool calls volatile, at any depth. `blobs` are those
 * that are stored with the content.
 */
export const comparableText = (
  content: string | readonly ContentPart[],
  volatile: readonly string[] = [],
  blobs: readonly StoredBlob[] = [],
): string =>
  typeof content === "string"
    ? stableText(content, volatile)
    : content
        .map((part) =>
          part.type === "text" ? stableText(part.text, volatile) : comparableMedia(part, blobs),
        )
        .join("\n");

/** Removes the `recall` id in a cut result, since it differs each time. */
const stripRecallId = (text: string, recall: string | undefined): string =>
  recall === undefined ? text : text.replace(`recall("${recall}")`, "recall");

/** Digests the outcome of a call before any note is added to it. */
const outcomeDigest = (
  { status, content, recall }: Pick<ToolResultPart, "status" | "content" | "recall">,
  compared: string | undefined,
  volatile: readonly string[] | undefined,
  blobs: readonly StoredBlob[],
): string =>
  shortDigest(`${status}\n${compared ?? stripRecallId(comparableText(content, volatile, blobs), recall)}`);

/** Number of calls of a reply that may run; those after them are refused and have no record. */
export const mostCallsPerReply = 64;

/** Numbers the calls of a reply for their records in order, whichever ends first. */
export const numberCalls = (draft: ThreadDraft, calls: readonly Call[]): readonly Call[] => {
  const { historySize, isPoll } = agentOf(draft);
  if (historySize === 0) return calls;
  const { thread } = draft;
  const { recordMarks } = thread;
  thread.recordMarks = {
    ...recordMarks,
    next: recordMarks.next + Math.min(calls.length, mostCallsPerReply),
  };
  return calls.map((call, at) => {
    if (at >= mostCallsPerReply) return call;
    const { name, args } = call.call;
    return { ...call, record: { n: recordMarks.next + at, args: argsDigest(args), poll: isPoll(name) } };
  });
};

/** Adds the ended call to the thread's history; null if no effect or guard needs it or a guard refused the call. */
export const recordCall = (
  draft: ThreadDraft,
  { call, plan, record: known }: Call,
  settlement: {
    readonly result: ToolResultPart;
    readonly compared?: string;
    readonly changes?: readonly unknown[];
    readonly stored?: boolean;
  },
): CallRecord | null => {
  const { historySize, tools } = agentOf(draft);
  if (historySize === 0 || known === null || plan.vetoed === true) return null;
  const { thread } = draft;
  const { history } = thread;
  const { id: run, turn } = runOf(draft);
  const record: CallRecord = {
    ...known,
    tool: sanitizeToolName(call.name),
    outcome: outcomeDigest(
      settlement.result,
      settlement.compared,
      tools.get(call.name)?.tool.volatile,
      draft.blobs,
    ),
    status: settlement.result.status,
    run,
    turn,
    changed: settlement.stored === true || (settlement.changes?.length ?? 0) > 0,
  };
  thread.history = insertRecord(history, record, historySize);
  return record;
};

/** Lines of records are cached: the row is written with every commit, and most commits change no history. */
const recordLines = new WeakMap<CallRecord, string>();

const recordLine = (record: CallRecord): string => {
  const { n, args, outcome, status, run, turn, changed, poll, tool } = record;
  const line =
    recordLines.get(record) ??
    `${n} ${args} ${outcome} ${status} ${run} ${turn} ${changed ? "c" : ""}${poll ? "p" : ""} ${tool}`;
  recordLines.set(record, line);
  return line;
};

/** A history is stored as a short line for each record. */
export const packHistory = (history: readonly CallRecord[]): string => history.map(recordLine).join("\n");

/** Inserts a record by its number among the newest ones. */
const insertRecord = (
  history: readonly CallRecord[],
  record: CallRecord,
  size: number,
): readonly CallRecord[] =>
  history.toSpliced(history.findLastIndex(({ n }) => n < record.n) + 1, 0, record).slice(-size);

/** Reads a history back from its stored text. */
export const unpackHistory = (text: string): readonly CallRecord[] => {
  if (text === "") return [];
  return text.split("\n").map((each): CallRecord => {
    const [n, args = "", outcome = "", status, run = "", turn, flags = "", tool = ""] = each.split(" ");
    return {
      n: Number(n),
      tool,
      args,
      outcome,
      status: status as ResultStatus,
      run,
      turn: Number(turn),
      changed: flags.includes("c"),
      poll: flags.includes("p"),
    };
  });
};
