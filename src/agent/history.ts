import type { ContentPart, Json, ResultStatus, ToolResultPart } from "../chat/message.ts";
import { depthOf } from "../chat/json-depth.ts";
import { sha256 } from "../sandbox/sha256.ts";
import { canonicalJson } from "../tools/canonical.ts";
import type { Call } from "./call.ts";
import { agentOf, changeThread, runOf, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { CallRecord } from "./effect.ts";
import { parseJson } from "./json.ts";

/** Finished calls as effects and guards compare them (EF-31): kept in the thread's row, across runs and restarts. */

/** The first 96 bits of a text's SHA-256, as 16 characters of base64. */
export const digest = (text: string): string => btoa(String.fromCharCode(...sha256(text).subarray(0, 12)));

const deepest = 64;

const isJson = (text: string): boolean => depthOf(text) <= deepest;

/** Digest of a call's arguments: key order and spaces make no difference; what is no JSON is taken as it is. */
export const argsDigest = (args: string): string => {
  if (args.trim() === "") return digest("{}");
  const value = isJson(args) ? parseJson(args) : undefined;
  return digest(value === undefined ? args : canonicalJson(value));
};

/** A tool's name as records have it, whatever the model made of it. */
export const recordedName = (name: string): string => name.replace(/[^\w.:/-]/g, "_").slice(0, 128);

const without = (value: Json, fields: readonly string[]): Json => {
  if (Array.isArray(value)) return value.map((each: Json) => without(each, fields));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !fields.includes(key));
  return Object.fromEntries(kept.map(([key, each]) => [key, without(each, fields)]));
};

const stableText = (text: string, fields: readonly string[]): string => {
  const value = fields.length > 0 && isJson(text) ? parseJson(text) : undefined;
  return value === undefined ? text : canonicalJson(without(value, fields));
};

/** What of an output is compared: JSON without the fields that its tool calls volatile, at any depth; other text whole. */
export const comparable = (
  content: string | readonly ContentPart[],
  volatile: readonly string[] = [],
): string =>
  typeof content === "string"
    ? stableText(content, volatile)
    : content
        .map((part) => (part.type === "text" ? stableText(part.text, volatile) : canonicalJson(part)))
        .join("\n");

/** A result that was cut names the stored whole by an id that is another each time. */
const withoutId = (text: string, recall: string | undefined): string =>
  recall === undefined ? text : text.replace(`recall("${recall}")`, "recall");

/** Digest of what came of a call, before any note is added to it. */
const outcomeDigest = (
  { status, content, recall }: Pick<ToolResultPart, "status" | "content" | "recall">,
  compared: string | undefined,
): string => digest(`${status}\n${compared ?? withoutId(comparable(content), recall)}`);

/** The ended call as a record, added to the thread's history; null if nobody needs it, or if a guard refused the call (EF-33). */
export const recorded = (
  draft: Draft,
  threadId: string,
  { call, plan, args, poll }: Call,
  settlement: {
    readonly result: ToolResultPart;
    readonly compared?: string;
    readonly changes?: readonly unknown[];
  },
): CallRecord | null => {
  const { historySize } = agentOf(draft, threadId);
  if (historySize === 0 || args === undefined || plan.vetoed === true) return null;
  const { history, recordMarks } = threadOf(draft, threadId);
  const { id: run, turn } = runOf(draft, threadId);
  const record: CallRecord = {
    n: recordMarks.next,
    tool: recordedName(call.name),
    args,
    outcome: outcomeDigest(settlement.result, settlement.compared),
    status: settlement.result.status,
    run,
    turn,
    changed: (settlement.changes?.length ?? 0) > 0,
    poll: poll === true,
  };
  changeThread(draft, threadId, {
    history: [...history.slice(Math.max(0, history.length - historySize + 1)), record],
    recordMarks: { ...recordMarks, next: recordMarks.next + 1 },
  });
  return record;
};

const packed = new WeakMap<readonly CallRecord[], string>();

const line = ({ n, args, outcome, status, run, turn, changed, poll, tool }: CallRecord): string =>
  `${n} ${args} ${outcome} ${status} ${run} ${turn} ${changed ? "c" : ""}${poll ? "p" : ""} ${tool}`;

/** A history as it is stored: a short line for each record, made once, since the row is written with every commit. */
export const packHistory = (history: readonly CallRecord[]): string => {
  const known = packed.get(history) ?? history.map(line).join("\n");
  packed.set(history, known);
  return known;
};

/** The history of a stored text. */
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
