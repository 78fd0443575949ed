import { ownEntry, parseJson } from "../../chat/json.ts";
import type { ContentPart, Json, ResultStatus, ToolResultPart } from "../../chat/message.ts";
import { cleanText, preview, textOf } from "../../chat/text.ts";
import type { FileChange } from "../../sandbox/contract.ts";
import type { Tool } from "../../tools/define-tool.ts";
import type { Refusal } from "../../tools/errors.ts";
import { errorText } from "../../tools/errors.ts";
import { limitOutput } from "../../tools/output.ts";
import type { Call, CallCompletion } from "../state/call.ts";
import { argsOf, isReport, willRunAgain } from "../state/call.ts";
import { applyFileChanges } from "../state/files.ts";
import type { CallWait, Ask } from "../state/ask.ts";
import { isForCaller, childrenOf, isDue } from "../state/ask.ts";
import type { Draft, DraftCall, DraftRun, ThreadDraft } from "../transaction/draft.ts";
import {
  agentOf,
  changeChild,
  emit,
  keepForRecall,
  runOf,
  assign,
  draftCallsOf,
} from "../transaction/draft.ts";
import { runAfterGuards } from "./after-guards.ts";
import { syntheticResult } from "../../chat/results.ts";
import { cancelAsk } from "../asks/asks.ts";

/** Parks, wakes and ends calls of tools, whatever the reason. */

export const findCall = (run: DraftRun | null, callId: string): DraftCall | null =>
  draftCallsOf(run).find((call) => call.call.id === callId) ?? null;

/** Returns the arguments for events: parsed if they are JSON, otherwise as the raw text. */
export const callInputOf = (call: Call): Json => parseJson(argsOf(call)) ?? call.call.args;

/** Parks a call that waits for a person, the clock, or others. */
export const parkCall = (
  draft: ThreadDraft,
  call: DraftCall,
  wait: CallWait,
  change: Partial<Call> = {},
): void => {
  const { id, name } = call.call;
  const until = wait.on === "ask" ? (draft.state.asks[wait.ask]?.expires_at ?? null) : wait.until;
  emit(draft, "tool_call_parked", { tool: name, on: wait.on, until }, { call: id });
  assign(call, { status: "parked", wait, ...change });
};

/** Plans parked calls again whose time has come. */
export const wakeCalls = (draft: ThreadDraft): void => {
  const { now } = draft.context;
  for (const call of draftCallsOf(draft.thread.run))
    if (call.status === "parked" && call.wait?.on !== "thread" && isDue(call.wait, now))
      call.status = "planned";
};

/** Returns the milliseconds that the call has been running. */
export const elapsedOf = ({ context: { now } }: Draft, { startedAt }: Call): number =>
  Math.max(0, now - (startedAt ?? now));

/** What a tool returned, ready to be stored. */
export interface CallSettlement extends CallCompletion {
  readonly details?: Json;
  readonly changes?: readonly FileChange[];
  readonly statusText?: string;
  /** Whether the call changed a shared store. */
  readonly stored?: true;
  /** Part of the output that loop detectors compare; if omitted, the result. */
  readonly compared?: string;
}

/** Ends a call with its outcome; the results of a reply are appended together when the last one is there. */
export const endCall = (draft: ThreadDraft, call: DraftCall, settlement: CallSettlement): void => {
  if (call.status === "done") return;
  const { result, durationMs, cached } = settlement;
  const { id, name } = call.call;
  if (cached) emit(draft, "tool_cache_hit", { tool: name, input: callInputOf(call) }, { call: id });
  const permission = permissionOf(call);
  const place = draft.events.length;
  emit(
    draft,
    "tool_call_end",
    {
      tool: name,
      outcome: result.status,
      output: shownOutput(result.content),
      ...(settlement.details === undefined ? {} : { details: settlement.details }),
      duration_ms: durationMs,
      cached,
      truncated: result.omitted !== undefined,
      permission,
      ...(permission.verdict === "deny" ? { input: callInputOf(call) } : {}),
    },
    { call: id, item: id },
  );
  reportWork(draft, call, settlement);
  const noted = runAfterGuards(draft, call, settlement);
  if (noted !== result) reportNotes(draft, place, noted);
  tallyCall(draft, call, settlement);
  call.status = "done";
  call.wait = null;
  call.outcome = {
    result: noted,
    durationMs,
    cached,
    ...(settlement.missed === true ? { missed: true } : {}),
  };
};

/** Returns the permission of a call: its newest verdict; an approval stands against everything but a deny. */
export const permissionOf = ({
  approved,
  plan: { verdict, by },
}: Call): { readonly verdict: string; readonly by: string } => ({
  verdict: approved && verdict !== "deny" ? "approved" : verdict,
  by,
});

/** Reports the episode, the status text and the changed files of a call after its end. */
const reportWork = (draft: ThreadDraft, call: Call, settlement: CallSettlement): void => {
  const { cached, result, statusText, changes = [] } = settlement;
  const { id, name: tool } = call.call;
  if (cached || wasExecuted(call, settlement)) recordEpisode(draft, call, result);
  if (statusText !== undefined) emit(draft, "status_update", { text: statusText }, { call: id });
  for (const change of changes) emit(draft, "file_change", { ...change, tool, message: null }, { call: id });
};

/** Adds the notes of guards, which judge the ended call, to the output at the call's end, as the model sees it. */
const reportNotes = (draft: Draft, place: number, { content }: ToolResultPart): void => {
  const event = draft.events[place];
  if (event?.type === "tool_call_end")
    draft.events[place] = { ...event, data: { ...event.data, output: shownOutput(content) } };
};

/** Ends a call with a result that took no time. */
export const endCallAtOnce = (draft: ThreadDraft, call: DraftCall, result: ToolResultPart): void =>
  endCall(draft, call, { result, durationMs: 0, cached: false });

/** Returns the output as events show it: a single text as it is, other content as parts. */
export const shownOutput = (content: CallCompletion["result"]["content"]): Json =>
  content.length === 1 && content[0]?.type === "text" ? content[0].text : (content as unknown as Json);

const tallyCall = (draft: ThreadDraft, call: Call, settlement: CallSettlement): void => {
  const { counters } = runOf(draft);
  const { name } = call.call;
  if (call.status === "running")
    counters.timings = {
      ...counters.timings,
      [name]: (ownEntry(counters.timings, name) ?? 0) + settlement.durationMs,
    };
  if (settlement.cached) counters.cacheHits += 1;
  if (settlement.missed === true) counters.cacheMisses += 1;
  recordWork(draft, call, settlement);
  if (settlement.changes !== undefined) counters.files = applyFileChanges(counters.files, settlement.changes);
};

/** Returns whether a call waits for an answer to its own question. */
const isQuestion = ({ plan, wait }: Call): boolean =>
  wait?.on === "ask" ? plan.client !== true : isForCaller(wait);

/** Returns whether a call was executed: its tool, its client or the session began what it asks. */
const wasExecuted = (call: Call, { cached, result: { status } }: CallSettlement): boolean => {
  if (cached || call.startedAt === null || status === "denied" || status === "skipped") return false;
  return status !== "cancelled" || !isQuestion(call);
};

/** Records that the run's turn changed a file, by a call of its own or by a child. */
export const recordEdit = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  run.counters.hasEdited = true;
  run.counters.idleTurns = 0;
  run.turnWork = { ...run.turnWork, changed: true };
};

const changedFiles = ({ changes = [], result }: CallSettlement): boolean =>
  changes.length > 0 && result.status === "ok";

/** Returns whether a call may have changed files that nobody names: it ran a command. */
const mayHaveChanged = (tool: Tool | undefined, { changes }: CallSettlement): boolean =>
  changes === undefined && tool?.does?.includes("exec") === true;

/** Records what a call did in the work of the turn. */
const recordWork = (draft: ThreadDraft, call: Call, settlement: CallSettlement): void => {
  if (!wasExecuted(call, settlement)) return;
  const run = runOf(draft);
  const tool = agentOf(draft).tools.get(call.call.name)?.tool;
  const isEdit = changedFiles(settlement);
  const work = run.turnWork;
  run.turnWork = {
    ran: work.ran || tool?.progress !== false,
    edited: work.edited || (isEdit && call.plan.toolbox !== "exec"),
    changed: work.changed || mayHaveChanged(tool, settlement),
  };
  if (isEdit) recordEdit(draft);
  // An error may hold words from outside as well as a result.
  if (call.plan.foreign === true) run.counters.untrusted = true;
};

const defaultLimit = 32_000;

/** Cuts the text of a result to its limit and keeps the whole for `recall`. */
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

/** Adds a note that shows the arguments that were run, if an approver changed them. */
const withEditNote = (parts: readonly ContentPart[], edited: string | null): readonly ContentPart[] => {
  if (edited === null) return parts;
  const said = `[arguments changed by the approver: ${edited}]`;
  const [first, ...rest] = parts;
  return first?.type === "text"
    ? [{ ...first, text: `${said}\n${first.text}` }, ...rest]
    : [{ type: "text", text: said }, ...parts];
};

/** Cleans a result, also one of a person or client, marks an approver's change, and cuts it to the tool's limit. */
export const createCallResult = (
  draft: ThreadDraft,
  { call: { id, name }, edited }: Call,
  status: ResultStatus,
  content: string | readonly ContentPart[],
): ToolResultPart => {
  const { outputLimits, tools } = agentOf(draft);
  const limit = ownEntry(outputLimits, name) ?? tools.get(name)?.tool.limit ?? defaultLimit;
  const given: readonly ContentPart[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  const parts = cleanContent(withEditNote(given, edited));
  return { type: "tool_result", call: id, name, status, ...limitContent(draft, parts, limit) };
};

/** Answers a call that no tool runs for. */
export const answerCall = (
  draft: ThreadDraft,
  call: DraftCall,
  content: string | readonly ContentPart[],
  ok = true,
): void => endCallAtOnce(draft, call, createCallResult(draft, call, ok ? "ok" : "error", content));

/** Refuses a call that no tool runs for. */
export const refuseCall = (draft: ThreadDraft, call: DraftCall, { code, sentence }: Refusal): void =>
  answerCall(draft, call, errorText(code, sentence), false);

/** An episode is a call in short. The events hold those of a run, so that no compaction removes them. */

const longestArgs = 200;

const longestOutcome = 160;

/** Reports a call that ran, or that the cache answered, right after its end. */
const recordEpisode = (
  draft: ThreadDraft,
  { call, edited }: Pick<Call, "call" | "edited">,
  { status, content }: ToolResultPart,
): void => {
  const { id, name: tool, args } = call;
  const success = status === "ok";
  const shown = {
    args: preview(edited ?? args, longestArgs),
    summary: preview(textOf(content), longestOutcome),
  };
  emit(draft, "episode_recorded", { tool, success, ...shown }, { call: id });
  runOf(draft).counters.episodes += 1;
};

/** Returns whether a steer skips an open call: it has not begun, or waits for an answer. */
const isSkippable = (call: Call): boolean => {
  const { status, attempts, wait } = call;
  if (status === "planned" || wait?.on === "time") return attempts === 0;
  return wait?.on === "ask" || isForCaller(wait);
};

/** Returns whether a call goes on by itself: its tool runs, or will again, or its children do. */
const isOngoing = (call: Call): boolean =>
  call.status === "running" ||
  willRunAgain(call) ||
  (call.status === "parked" && childrenOf(call.wait) !== null);

/** Returns the kind of question that a parked call has asked a person or client; undefined if none. */
const askKindOf = ({ state }: Draft, { wait }: Call): Ask["kind"] | undefined =>
  wait?.on === "ask" ? state.asks[wait.ask]?.kind : undefined;

/** Returns whether the tool of an open call may have acted; a call that only asked a question has not. */
const hasActed = (draft: Draft, call: Call): boolean => {
  const { status, attempts, wait } = call;
  if (status === "running") return true;
  if (wait?.on === "thread") return wait.children !== null;
  const asked = wait?.on === "ask" && askKindOf(draft, call) !== "approval";
  return attempts > 0 && !asked;
};

/** Returns the result of an ended call. A client may have acted on its call, unless a steer skips it. */
const endResultOf = (draft: Draft, call: Call, how: "cancelled" | "skipped"): ToolResultPart => {
  const isGiven = how === "cancelled" && askKindOf(draft, call) === "client_tool";
  if (!isGiven && !hasActed(draft, call)) return syntheticResult(call.call, how);
  if (how === "skipped") return syntheticResult(call.call, "unknown");
  return syntheticResult(call.call, "cancelledRunning");
};

/** Lists the calls that a stop cuts off; a graceful one leaves a report that stands for all the reply has begun. */
const callsToEnd = (draft: ThreadDraft, which: "all" | "unstarted"): readonly DraftCall[] => {
  const { run } = draft.thread;
  const open = draftCallsOf(run).filter(({ status }) => status !== "done");
  if (which === "all") return open;
  const unstarted = open.filter((call) => !isOngoing(call));
  return run?.cancel?.mode === "after_turn" && unstarted.every(isReport) ? [] : unstarted;
};

/** Ends the open calls of a thread: unstarted ones are cancelled or skipped, others may have taken effect. */
export const endOpenCalls = (
  draft: ThreadDraft,
  how: "cancelled" | "skipped",
  which: "all" | "unstarted",
): void => {
  for (const call of callsToEnd(draft, which)) {
    if (how === "skipped" && !isSkippable(call)) continue;
    const result = endResultOf(draft, call, how);
    if (call.wait?.on === "ask") cancelAsk(draft, call.wait.ask);
    if (isForCaller(call.wait)) changeChild(draft, { question: null });
    endCallAtOnce(draft, call, result);
  }
};
