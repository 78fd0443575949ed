import { ownEntry, parseJson } from "../../chat/json.ts";
import type { ContentPart, Json, ResultStatus, ToolResultPart } from "../../chat/message.ts";
import { cleanText } from "../../chat/text.ts";
import type { FileChange } from "../../sandbox/contract.ts";
import type { ToolErrorCode } from "../../tools/errors.ts";
import { errorText } from "../../tools/errors.ts";
import { limitOutput } from "../../tools/output.ts";
import type { Call, CallCompletion } from "../state/call.ts";
import type { Run } from "../state/run.ts";
import { callsOfRun, applyFileChanges } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, emit, keepForRecall, runOf, callOf, assign, draftCallsOf } from "../transaction/draft.ts";
import { runAfterGuards } from "./after-guards.ts";

/** Calls are parked and ended here, whatever the reason. */

export const findCall = (run: Run | null, callId: string): Call | null =>
  callsOfRun(run).find((call) => call.call.id === callId) ?? null;

/** Events show arguments parsed if they are JSON, otherwise as the raw text. */
export const callInputOf = (call: Call): Json => parseJson(call.edited ?? call.call.args) ?? call.call.args;

/** A parked call waits for a person, the clock, or others. */
export const parkCall = (
  draft: Draft,
  threadId: string,
  { call: { id, name } }: Call,
  on: NonNullable<Call["parkedOn"]>,
  until: number | null,
  change: Partial<Call> = {},
): void => {
  emit(draft, threadId, "tool_call_parked", { tool: name, on, until }, { call: id });
  assign(callOf(draft, threadId, id), { status: "parked", parkedOn: on, until, ...change });
};

/** The call has been running for this many milliseconds. */
export const elapsedOf = ({ moment: { now } }: Draft, { startedAt }: Call): number =>
  Math.max(0, now - (startedAt ?? now));

/** A settlement is what a tool gave back, ready to be stored. */
export interface CallSettlement extends CallCompletion {
  readonly details?: Json;
  readonly changes?: readonly FileChange[];
  readonly statusText?: string;
  /** The call changed a shared store. */
  readonly stored?: true;
  /** Loop detectors compare this part of the output; if omitted, the result. */
  readonly compared?: string;
}

/** A call has its outcome; the results of a reply are appended together when the last one is there. */
export const endCall = (draft: Draft, threadId: string, callId: string, settlement: CallSettlement): void => {
  const call = draftCallsOf(runOf(draft, threadId)).find((each) => each.call.id === callId);
  if (call === undefined || call.status === "done") return;
  const { result, durationMs, cached } = settlement;
  const { name } = call.call;
  if (cached)
    emit(draft, threadId, "tool_cache_hit", { tool: name, input: callInputOf(call) }, { call: callId });
  const { plan } = call;
  const place = draft.events.length;
  emit(
    draft,
    threadId,
    "tool_call_end",
    {
      tool: name,
      outcome: result.status,
      output: outputOf(result.content),
      ...(settlement.details === undefined ? {} : { details: settlement.details }),
      duration_ms: durationMs,
      cached,
      truncated: result.omitted !== undefined,
      permission: { verdict: call.approved ? "approved" : plan.verdict, by: plan.by },
    },
    { call: callId, item: callId },
  );
  if (settlement.statusText !== undefined)
    emit(draft, threadId, "status_update", { text: settlement.statusText }, { call: callId });
  for (const change of settlement.changes ?? [])
    emit(draft, threadId, "file_change", { ...change, tool: name, message: null }, { call: callId });
  const noted = runAfterGuards(draft, threadId, call, settlement);
  if (noted !== result) reportNotes(draft, place, noted);
  tallyCall(draft, threadId, call, settlement);
  call.status = "done";
  call.until = null;
  call.parkedOn = null;
  call.outcome = {
    result: noted,
    durationMs,
    cached,
    ...(settlement.missed === true ? { missed: true } : {}),
  };
};

/** The end of a call brings its output as the model sees it, with the notes of guards, which judge the ended call. */
const reportNotes = (draft: Draft, place: number, { content }: ToolResultPart): void => {
  const event = draft.events[place];
  if (event?.type === "tool_call_end")
    draft.events[place] = { ...event, data: { ...event.data, output: outputOf(content) } };
};

/** A call ends with a result that took no time. */
export const endCallAtOnce = (draft: Draft, threadId: string, result: ToolResultPart): void =>
  endCall(draft, threadId, result.call, { result, durationMs: 0, cached: false });

/** The end of a call brings a single text as it is, and other content as parts. */
export const outputOf = (content: CallCompletion["result"]["content"]): Json =>
  content.length === 1 && content[0]?.type === "text" ? content[0].text : (content as unknown as Json);

const tallyCall = (draft: Draft, threadId: string, call: Call, settlement: CallSettlement): void => {
  const { counters } = runOf(draft, threadId);
  const { name } = call.call;
  if (call.status === "running")
    counters.timings = {
      ...counters.timings,
      [name]: (ownEntry(counters.timings, name) ?? 0) + settlement.durationMs,
    };
  if (settlement.cached) counters.cacheHits += 1;
  if (settlement.missed === true) counters.cacheMisses += 1;
  if (settlement.changes !== undefined) counters.files = applyFileChanges(counters.files, settlement.changes);
};

/** The chat keeps a call's result in this form, whether a tool, a person or a client gave it. */

const defaultLimit = 32_000;

/** The text of a result is cut to its limit, and the whole is kept for `recall`. */
const limitContent = (
  draft: Draft,
  content: readonly ContentPart[],
  limit: number,
): Pick<ToolResultPart, "content" | "omitted" | "recall"> => {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const cut = limitOutput(text, limit, `b${draft.state.nextBlob}`);
  if (cut.omitted === 0) return { content };
  const id = keepForRecall(draft, cut.full);
  const media = content.filter(({ type }) => type !== "text");
  return { content: [{ type: "text", text: cut.text }, ...media], omitted: cut.omitted, recall: id };
};

const cleanContent = (parts: readonly ContentPart[]): readonly ContentPart[] => {
  const cleaned = parts.map((part) =>
    part.type === "text" ? { ...part, text: cleanText(part.text) } : part,
  );
  return cleaned.some((part) => part.type !== "text" || part.text !== "")
    ? cleaned
    : [{ type: "text", text: "(no output)" }];
};

/** A note shows the arguments that were run if an approver changed them. */
const withEditNote = (parts: readonly ContentPart[], edited: string | null): readonly ContentPart[] => {
  if (edited === null) return parts;
  const said = `[arguments changed by the approver: ${edited}]`;
  const [first, ...rest] = parts;
  return first?.type === "text"
    ? [{ ...first, text: `${said}\n${first.text}` }, ...rest]
    : [{ type: "text", text: said }, ...parts];
};

/** The result is cleaned, marked with an approver's change, and cut to the tool's limit. */
export const createCallResult = (
  draft: Draft,
  threadId: string,
  { call: { id, name }, edited }: Call,
  status: ResultStatus,
  content: string | readonly ContentPart[],
): ToolResultPart => {
  const { outputLimits, tools } = agentOf(draft, threadId);
  const limit = ownEntry(outputLimits, name) ?? tools.get(name)?.tool.limit ?? defaultLimit;
  const given: readonly ContentPart[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  const parts = cleanContent(withEditNote(given, edited));
  return { type: "tool_result", call: id, name, status, ...limitContent(draft, parts, limit) };
};

/** A call that no tool runs for is answered. */
export const answerCall = (
  draft: Draft,
  threadId: string,
  call: Call,
  content: string | readonly ContentPart[],
  ok = true,
): void =>
  endCallAtOnce(draft, threadId, createCallResult(draft, threadId, call, ok ? "ok" : "error", content));

/** A call that no tool runs for is refused. */
export const refuseCall = (
  draft: Draft,
  threadId: string,
  call: Call,
  code: ToolErrorCode,
  sentence: string,
): void => answerCall(draft, threadId, call, errorText(code, sentence), false);
