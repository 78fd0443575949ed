import { ownEntry } from "../../chat/json.ts";
import { escapeTags } from "../../chat/render.ts";
import { cleanText, firstCharacters } from "../../chat/text.ts";
import { answerCall, refuseCall } from "../calls/finish.ts";
import { lastTextPreview } from "../context/reports.ts";
import { findInboxLimit, assignInputId, inboxLimits } from "../inputs/inputs.ts";
import { notifyThread } from "../run/notify.ts";
import { stopChild } from "../run/cancel.ts";
import type { Call } from "../state/call.ts";
import type { ChildRecord } from "../state/child.ts";
import type { Thread } from "../state/thread.ts";
import { isAskingCaller } from "../state/thread.ts";
import { noSpending } from "../state/usage.ts";
import type { Draft } from "../transaction/draft.ts";
import { threadOf } from "../transaction/draft.ts";
import { findChildRecord } from "./start.ts";

/** Lets a caller manage the children that it does not wait for. */

/** Returns the child that has the task now: it may have been handed over several times. */
const currentChildOf = (draft: Draft, child: string): string => {
  let id = child;
  while (ownEntry(draft.state.threads, id)?.run == null) {
    const { successor } = findChildRecord(draft, id)?.end ?? {};
    if (successor === undefined) break;
    id = successor;
  }
  return id;
};

const findOwnThread = (draft: Draft, threadId: string, child: string): Thread | null => {
  const thread = ownEntry(draft.state.threads, child);
  return thread !== undefined && thread.parent?.thread === threadId && thread.run !== null ? thread : null;
};

const findOwnRecord = (draft: Draft, threadId: string, child: string): ChildRecord | null => {
  const record = findChildRecord(draft, child);
  return record?.parent.thread === threadId && record.end !== null ? record : null;
};

const refuseUnknownChild = (draft: Draft, threadId: string, call: Call, named: string): void =>
  refuseCall(draft, threadId, call, "child_not_found", `you have no child ${named.slice(0, 64)}`);

/**
 * Does an action with a child that is still at work; otherwise refuses the call and says what is known of the
 * child.
 */
export const withChild = (
  draft: Draft,
  threadId: string,
  call: Call,
  named: string,
  then: (child: Thread) => void,
): void => {
  const child = currentChildOf(draft, named);
  const thread = findOwnThread(draft, threadId, child);
  if (thread !== null) return then(thread);
  const record = findOwnRecord(draft, threadId, child);
  if (record?.end == null) return refuseUnknownChild(draft, threadId, call, named);
  const { state, result, error } = record.end;
  const came = state === "completed" ? result : error;
  refuseCall(draft, threadId, call, "child_ended", `${child} has ended (${state}): ${came ?? ""}`);
};

const openQuestionOf = ({ child }: Thread): object => {
  if (child === null || child.question === null) return {};
  const { id, text, options } = child.question;
  return { question: { id, text, options } };
};

const liveChildView = (draft: Draft, thread: Thread): object => {
  const { id, agent, child, run } = thread;
  const { label, task } = child ?? { label: "", task: "" };
  const { turn: turns, spent } = run ?? { turn: 0, spent: noSpending };
  const state = isAskingCaller(thread) ? "waiting" : "running";
  return {
    child: id,
    agent,
    label,
    state,
    task,
    turns,
    usage: spent.usage,
    last_text: lastTextPreview(draft, thread),
    ...openQuestionOf(thread),
  };
};

const endedChildView = ({ id, agent, label, task, end }: ChildRecord): readonly object[] => {
  if (end === null) return [];
  const { state, turns, usage, last_text, successor } = end;
  const view = { child: id, agent, label, state, task: firstCharacters(task, 200), turns, usage, last_text };
  return [successor === undefined ? view : { ...view, handed_over_to: successor }];
};

/** The newest children of a thread are reported, those at work first. */
const reportAllChildren = (draft: Draft, threadId: string, call: Call): void => {
  const live = Object.values(draft.state.threads).filter(
    ({ parent, run }) => parent?.thread === threadId && run !== null,
  );
  const changed = new Map(draft.children.map((record) => [record.id, record]));
  const ended = draft.context.children
    .of(threadId)
    .filter(({ id }) => !live.some((thread) => thread.id === id))
    .map((record) => changed.get(record.id) ?? record);
  const views = [...live.map((thread) => liveChildView(draft, thread)), ...ended.flatMap(endedChildView)];
  answerCall(draft, threadId, call, JSON.stringify(views));
};

/** The children of a thread are reported, or the one that is named, however old it is. */
export const reportChildren = (draft: Draft, threadId: string, call: Call, named: string | null): void => {
  if (named === null) return reportAllChildren(draft, threadId, call);
  const child = currentChildOf(draft, named);
  const thread = findOwnThread(draft, threadId, child);
  const record = findOwnRecord(draft, threadId, child);
  if (thread !== null) answerCall(draft, threadId, call, JSON.stringify([liveChildView(draft, thread)]));
  else if (record === null) refuseUnknownChild(draft, threadId, call, named);
  else answerCall(draft, threadId, call, JSON.stringify(endedChildView(record)));
};

const inboxLimitTexts = {
  inputs: `${inboxLimits.inputs} messages wait for it; let it read them`,
  characters: `the messages that wait in this session may have ${inboxLimits.characters} characters in all; let them be read, or send less`,
} as const;

/** Sends a message for a child's next model call; its context and work stay. */
export const messageChild = (
  draft: Draft,
  threadId: string,
  call: Call,
  { id: child, agent }: Thread,
  message: string,
): void => {
  const text = escapeTags(cleanText(message));
  const lack = findInboxLimit(draft, { thread: child, content: [{ type: "text", text }] });
  if (lack !== null) return refuseCall(draft, threadId, call, "limit", inboxLimitTexts[lack]);
  notifyThread(draft, child, assignInputId(draft), text);
  const state = isAskingCaller(threadOf(draft, child)) ? "waiting" : "running";
  answerCall(draft, threadId, call, JSON.stringify({ child, agent, state }));
};

/** Stops a child; one that has ended stays as it is. */
export const cancelOwnChild = (
  draft: Draft,
  threadId: string,
  call: Call,
  named: string,
  reason: string | null,
): void => {
  const child = currentChildOf(draft, named);
  const thread = findOwnThread(draft, threadId, child);
  const record = thread === null ? findOwnRecord(draft, threadId, child) : null;
  if (thread === null && record === null) return refuseUnknownChild(draft, threadId, call, named);
  if (thread !== null) stopChild(draft, child, reason ?? "its caller cancelled it", true);
  const state = record?.end?.state ?? "cancelled";
  answerCall(draft, threadId, call, JSON.stringify({ child, state }));
};
