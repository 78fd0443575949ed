import type { Json, ResultStatus } from "../../chat/message.ts";
import { syntheticResult } from "../../chat/results.ts";
import {
  endCall,
  recordEdit,
  parkCall,
  createCallResult,
  elapsedOf,
  findCall,
  answerCall,
} from "../calls/tool-calls.ts";
import { comparableText } from "../context/history.ts";
import { childAnswerText, childName, fitItems, childItemOf, unstartedItem } from "../context/reports.ts";
import { stopChild } from "../run/cancel.ts";
import type { ChildItem, EndedChild, ChildWait, ChildQuestion } from "../state/child.ts";
import { isEnded } from "../state/child.ts";
import type { Run } from "../state/run.ts";
import type { Thread } from "../state/thread.ts";
import { isChildOpen, isAskingCaller, openChildren, workingChildrenOf } from "../state/thread.ts";
import type { RunRecord } from "../state/records.ts";
import type { Draft, DraftCall, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, changeChild, runOf, selectCaller, selectThread } from "../transaction/draft.ts";
import { stripIds, findChildRecord, notifyThread } from "./start.ts";
import { childrenOf, isDue } from "../state/ask.ts";
import { applyFileChanges, changesOf } from "../state/files.ts";
import { escapeTags } from "../../chat/render.ts";
import type { Refusal } from "../../tools/errors.ts";
import { errorText, refuse } from "../../tools/errors.ts";

/** Parks a call that waits for children, notifies it of each end, and answers it. */

const longestDetails = 60_000;

/** Parks a call on its children; it holds no slot. */
export const parkCallOnChildren = (draft: ThreadDraft, call: DraftCall, children: ChildWait): void =>
  parkCall(draft, call, { on: "thread", children, until: null }, { startedAt: draft.context.now });

/** Returns the item that the caller reads of a child at work, with its open question. */
export const liveChildItem = (thread: Thread): ChildItem => {
  const { id, agent, child } = thread;
  const question = child?.question ?? null;
  if (question === null) return { agent, child: id, state: "running" };
  const { id: name, text, options } = question;
  return { agent, child: id, state: "waiting", question: { id: name, text, options } };
};

interface WaitSlot {
  readonly item: ChildItem;
  readonly record: EndedChild | null;
}

const waitSlotOf = (draft: Draft, slot: string | ChildItem): WaitSlot => {
  if (typeof slot !== "string") return { item: slot, record: null };
  const thread = draft.state.threads[slot];
  if (thread !== undefined && isChildOpen(thread)) return { item: liveChildItem(thread), record: null };
  const record = findChildRecord(draft, slot);
  if (record === null)
    return { item: { ...unstartedItem("", "internal", "its record is lost"), child: slot }, record };
  return isEnded(record)
    ? { item: childItemOf(record), record }
    : { item: { agent: record.agent, child: slot, state: "running" }, record: null };
};

const isUnfinished = ({ state }: ChildItem): boolean => state === "running" || state === "waiting";

/** Returns the status of a wait: an error if one did not complete, or with `collect` if none did. */
const waitStatusOf = (items: readonly ChildItem[], onError: ChildWait["on_error"]): ResultStatus => {
  const done = items.filter((item) => item.state === "completed" || isUnfinished(item)).length;
  const failed = onError === "cancel" ? done < items.length : items.length > 0 && done === 0;
  return failed ? "error" : "ok";
};

const contentOf = (draft: Draft, { answer }: ChildWait, slots: readonly WaitSlot[]): string => {
  const [first] = slots;
  if (answer === "text" && first?.record != null) return childAnswerText(first.record);
  if (answer === "text" && first?.item.error !== undefined) return first.item.error;
  const items = fitItems(
    draft,
    slots.map(({ item, record }) => ({ item, end: record?.end ?? null })),
  );
  return JSON.stringify(answer === "items" ? items : items[0]);
};

/** Returns the items as details for events, without what stands in the text. */
const detailsOf = (slots: readonly WaitSlot[]): { readonly details?: Json } => {
  const items = slots.map(({ item: { result: _result, completion: _completion, ...rest } }) => rest);
  const details = { items } as unknown as Json;
  return JSON.stringify(details).length > longestDetails ? {} : { details };
};

/** Returns whether a call that waits for children is cut off with its run; after a graceful cancel it brings what they completed. */
export const isCutOff = ({ cancel }: Run, completed: boolean): boolean =>
  cancel !== null && (cancel.mode === "now" || !completed);

/** Answers a call with the results of its children so far; those still at work go on by themselves. */
export const answerWait = (draft: ThreadDraft, call: DraftCall): void => {
  const children = childrenOf(call.wait);
  if (children === null || call.status === "done") return;
  for (const { id } of workingChildrenOf(draft.state, children))
    changeChild(selectThread(draft, id), { awaitedBy: null });
  const slots = children.slots.map((slot) => waitSlotOf(draft, slot));
  const durationMs = elapsedOf(draft, call);
  const completed = slots.some(({ item }) => item.state === "completed");
  if (isCutOff(runOf(draft), completed)) {
    const result = syntheticResult(call.call, "cancelledRunning");
    endCall(draft, call, { result, durationMs, cached: false, ...detailsOf(slots) });
    return;
  }
  const status = waitStatusOf(
    slots.map(({ item }) => item),
    children.on_error,
  );
  const content = contentOf(draft, children, slots);
  const result = createCallResult(draft, call, status, content);
  const { volatile } = agentOf(draft).tools.get(call.call.name)?.tool ?? {};
  const compared = stripIds(comparableText(content, volatile));
  endCall(draft, call, { result, durationMs, cached: false, compared, ...detailsOf(slots) });
};

/** Counts changes that a child made as its caller's, too. */
export const countChildFiles = (caller: ThreadDraft, files: RunRecord["result"]): void => {
  const { run } = caller.thread;
  if (run === null || files === null) return;
  const { counters } = run;
  const changed = changesOf({
    created: files.files_created,
    modified: files.files_modified,
    deleted: files.files_deleted,
  });
  counters.files = applyFileChanges(counters.files, changed);
  if (changed.length > 0) recordEdit(caller);
};

/** Records the end of a child of a call: with `cancel` a failure stops the others; the last end answers the call. */
export const endWaitSlot = (draft: ThreadDraft, call: DraftCall, ended: EndedChild): void => {
  const children = childrenOf(call.wait);
  if (children === null) return;
  const open = workingChildrenOf(draft.state, children);
  if (open.length === 0) {
    answerWait(draft, call);
    return;
  }
  if (children.on_error !== "cancel" || ended.end.state !== "failed") return;
  const why = `stopped, since ${childName(ended)} failed`;
  for (const { id, run } of open) {
    // If it has just handed its task over, its peer is stopped.
    if (run === null) changeChild(selectThread(draft, id), { stopped: { why, told: true } });
    else stopChild(selectThread(draft, id), why, true);
  }
};

/** Replaces a child by another thread in the call that waits for it. */
export const replaceWaitSlot = (draft: ThreadDraft, callId: string, from: string, to: string): void => {
  const call = findCall(draft.thread.run, callId);
  const children = childrenOf(call?.wait ?? null);
  if (call === null || children === null) return;
  const slots = children.slots.map((slot) => (slot === from ? to : slot));
  call.wait = { on: "thread", children: { ...children, slots }, until: null };
};

/** Lets called agents put questions to their callers, which are answered by id, each with its own clock. */

/** Asks the caller of an agent: the call that waits for the agent returns, or the caller gets a message. */
export const askCaller = (
  draft: ThreadDraft,
  call: DraftCall,
  asked: { readonly question: string; readonly options: readonly string[] },
): Refusal | null => {
  const { child } = draft.thread;
  const caller = selectCaller(draft);
  if (child === null || caller === null)
    return refuse("no_answer", "there is no one to ask; decide yourself");
  if (child.question !== null) return refuse("conflict", "one question at a time; wait for the answer");
  const { now, random } = draft.context;
  const until = now + agentOf(caller).asks.questionTimeoutMs;
  const question: ChildQuestion = {
    id: `q_${random()}`,
    call: call.call.id,
    text: asked.question,
    options: asked.options,
  };
  parkCall(draft, call, { on: "thread", children: null, until }, { startedAt: now });
  changeChild(draft, { question });
  const waiting = findCall(caller.thread.run, child.awaitedBy ?? "");
  if (waiting !== null && waiting.status !== "done") answerWait(caller, waiting);
  else notifyCallerOfQuestion(caller, draft.thread, question);
  return null;
};

/** Sends the question of a child without a waiting call as a message. */
const notifyCallerOfQuestion = (caller: ThreadDraft, child: Thread, { id }: ChildQuestion): void => {
  const item = liveChildItem(child);
  const said = `A child of yours asks a question. Answer it with answer_child.\n${JSON.stringify(item)}`;
  notifyThread(caller, `in_${id}`, escapeTags(said), { question: id });
};

/** Finds the call of a child that waits for the answer to its question. */
const findAskingCall = (draft: ThreadDraft): DraftCall | null => {
  const { child, run } = draft.thread;
  return findCall(run, child?.question?.call ?? "");
};

/** Closes the question; its call gets the answer or the reason why there is none. */
const closeQuestion = (draft: ThreadDraft, text: string, ok: boolean): void => {
  const call = findAskingCall(draft);
  changeChild(draft, { question: null });
  if (call !== null && call.status !== "done") answerCall(draft, call, text, ok);
};

const noAnswerText = (sentence: string): string => errorText("no_answer", sentence);

/** Closes a question that was not answered in time. */
export const expireQuestion = (draft: ThreadDraft): void => {
  const call = findAskingCall(draft);
  if (call?.status !== "parked" || !isDue(call.wait, draft.context.now)) return;
  closeQuestion(draft, noAnswerText("no answer came in time; decide yourself or finish"), false);
};

/** Drops the questions of a called agent's children, since the agent has nothing more to do; true if there was one. */
export const dropQuestions = (draft: ThreadDraft): boolean => {
  const asking = openChildren(draft.state, draft.thread.id).filter(isAskingCaller);
  const text = noAnswerText("your caller will not answer; decide yourself or finish");
  for (const { id } of asking) closeQuestion(selectThread(draft, id), text, false);
  return asking.length > 0;
};

/** Gives a child the caller's answer; the caller's call waits for the result. */
export const answerQuestion = (
  draft: ThreadDraft,
  call: DraftCall,
  child: ThreadDraft,
  asked: { readonly question: string; readonly answer: string },
): Refusal | null => {
  const open = child.thread.child?.question ?? null;
  if (open?.id !== asked.question) {
    const hint = open === null ? "it has no open question" : `its open question is ${open.id}`;
    return refuse("not_found", `${asked.question} is not open; ${hint}`);
  }
  parkCallOnChildren(draft, call, { answer: "item", on_error: "collect", slots: [child.thread.id] });
  changeChild(child, { awaitedBy: call.call.id });
  closeQuestion(child, asked.answer, true);
  return null;
};
