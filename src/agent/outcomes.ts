import { parseJson } from "../chat/json.ts";
import type { Json, ToolResultPart } from "../chat/message.ts";
import type { FileChange } from "../sandbox/contract.ts";
import { resultNoted } from "./afterwords.ts";
import { callsOfRun, changeCall, changeCounters, emit, runOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { own } from "./own.ts";
import { filesAfter } from "./run-files.ts";
import type { Run } from "./state.ts";
import type { Call, CallOutcomeRow } from "./call.ts";

/** How a call is parked and how it ends, whatever the reason. */

export const findCall = (run: Run | null, callId: string): Call | null =>
  callsOfRun(run).find((call) => call.call.id === callId) ?? null;

/** Arguments as events show them: parsed if they are JSON, else the raw text. */
export const inputOf = (call: Call): Json => parseJson(call.edited ?? call.call.args) ?? call.call.args;

/** A call waits: for a person, the clock, or others that it does not run with. */
export const callParked = (
  draft: Draft,
  threadId: string,
  { call: { id, name } }: Call,
  on: NonNullable<Call["parkedOn"]>,
  until: number | null,
  change: Partial<Call> = {},
): void => {
  emit(draft, threadId, "tool_call_parked", { tool: name, on, until }, { call: id });
  changeCall(draft, threadId, id, { status: "parked", parkedOn: on, until, ...change });
};

/** Milliseconds since a call started. */
export const elapsedOf = ({ moment: { now } }: Draft, { startedAt }: Call): number =>
  Math.max(0, now - (startedAt ?? now));

/** What a tool gave back, ready to be stored. */
export interface Settlement extends CallOutcomeRow {
  readonly details?: Json;
  readonly changes?: readonly FileChange[];
  readonly statusText?: string;
  /** It changed a shared store. */
  readonly stored?: true;
  /** What of the output loop detectors compare; omitted: the result. */
  readonly compared?: string;
}

/** A call has its outcome; the results of a reply are appended together when the last one is there (SE-3). */
export const callEnded = (draft: Draft, threadId: string, callId: string, settlement: Settlement): void => {
  const call = findCall(runOf(draft, threadId), callId);
  if (call === null || call.status === "done") return;
  const { result, durationMs, cached } = settlement;
  const { name } = call.call;
  if (cached) emit(draft, threadId, "tool_cache_hit", { tool: name, input: inputOf(call) }, { call: callId });
  const { plan } = call;
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
  const noted = resultNoted(draft, threadId, call, settlement);
  changeCall(draft, threadId, callId, {
    status: "done",
    until: null,
    parkedOn: null,
    outcome: { result: noted, durationMs, cached, ...(settlement.missed === true ? { missed: true } : {}) },
  });
  tally(draft, threadId, call, settlement);
};

/** A call ends with a result that took no time. */
export const callClosed = (draft: Draft, threadId: string, result: ToolResultPart): void =>
  callEnded(draft, threadId, result.call, { result, durationMs: 0, cached: false });

const outputOf = (content: CallOutcomeRow["result"]["content"]): Json =>
  content.length === 1 && content[0]?.type === "text" ? content[0].text : (content as unknown as Json);

const tally = (draft: Draft, threadId: string, call: Call, settlement: Settlement): void => {
  const { counters } = runOf(draft, threadId);
  const ran = call.status === "running";
  const { name } = call.call;
  changeCounters(draft, threadId, {
    ...(ran
      ? {
          timings: {
            ...counters.timings,
            [name]: (own(counters.timings, name) ?? 0) + settlement.durationMs,
          },
        }
      : {}),
    ...(settlement.cached ? { cacheHits: counters.cacheHits + 1 } : {}),
    ...(settlement.missed === true ? { cacheMisses: counters.cacheMisses + 1 } : {}),
    ...(settlement.changes === undefined ? {} : { files: filesAfter(counters.files, settlement.changes) }),
  });
};
