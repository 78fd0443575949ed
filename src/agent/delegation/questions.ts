import { escapeTags } from "../../chat/render.ts";
import { errorText } from "../../tools/errors.ts";
import { answerCall, parkCall, refuseCall, findCall } from "../calls/finish.ts";
import { notifyThread, changeChild } from "./start.ts";
import type { Call } from "../state/call.ts";
import type { ChildQuestion } from "../state/child.ts";
import { isAskingCaller, openChildren } from "../state/thread.ts";
import { isDue } from "../state/wait.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, threadOf } from "../transaction/draft.ts";
import { parkCallOnChildren, liveChildItem, answerWait } from "./wait.ts";

/** Lets called agents put questions to their callers, which are answered by id, each with its own clock. */

/** Asks the caller of an agent: the call that waits for the agent returns, or the caller gets a message. */
export const askCaller = (
  draft: Draft,
  threadId: string,
  call: Call,
  asked: { readonly question: string; readonly options: readonly string[] },
): void => {
  const { child, parent } = threadOf(draft, threadId);
  if (child === null || parent === null || draft.state.threads[parent.thread] === undefined)
    return refuseCall(draft, threadId, call, "no_answer", "there is no one to ask; decide yourself");
  if (child.question !== null)
    return refuseCall(draft, threadId, call, "conflict", "one question at a time; wait for the answer");
  const { now, random } = draft.context;
  const until = now + agentOf(draft, parent.thread).asks.questionTimeoutMs;
  const question: ChildQuestion = {
    id: `q_${random()}`,
    call: call.call.id,
    text: asked.question,
    options: asked.options,
  };
  parkCall(draft, threadId, call, { on: "thread", children: null, until }, { startedAt: now });
  changeChild(draft, threadId, { question });
  const waiting = findCall(threadOf(draft, parent.thread).run, child.awaitedBy ?? "");
  if (waiting !== null && waiting.status !== "done") answerWait(draft, parent.thread, waiting.call.id);
  else notifyCallerOfQuestion(draft, threadId, parent.thread, question);
};

/** Sends the question of a child without a waiting call as a message. */
const notifyCallerOfQuestion = (
  draft: Draft,
  threadId: string,
  parentId: string,
  { id }: ChildQuestion,
): void => {
  const item = liveChildItem(threadOf(draft, threadId));
  const said = `A child of yours asks a question. Answer it with answer_child.\n${JSON.stringify(item)}`;
  notifyThread(draft, parentId, `in_${id}`, escapeTags(said), { question: id });
};

/** Closes the question; its call gets the answer or the reason why there is none. */
const closeQuestion = (draft: Draft, threadId: string, text: string, ok: boolean): void => {
  const { child, run } = threadOf(draft, threadId);
  const call = findCall(run, child?.question?.call ?? "");
  changeChild(draft, threadId, { question: null });
  if (call !== null && call.status !== "done") answerCall(draft, threadId, call, text, ok);
};

const noAnswerText = (sentence: string): string => errorText("no_answer", sentence);

/** Closes a question that was not answered in time. */
export const expireQuestion = (draft: Draft, threadId: string): void => {
  const { child, run } = threadOf(draft, threadId);
  const call = findCall(run, child?.question?.call ?? "");
  if (call?.status !== "parked" || !isDue(call.wait, draft.context.now)) return;
  closeQuestion(draft, threadId, noAnswerText("no answer came in time; decide yourself or finish"), false);
};

/** Drops the questions of a called agent's children, since the agent has nothing more to do; true if there was one. */
export const dropQuestions = (draft: Draft, parentId: string): boolean => {
  const asking = openChildren(draft.state, parentId).filter(isAskingCaller);
  const text = noAnswerText("your caller will not answer; decide yourself or finish");
  for (const { id } of asking) closeQuestion(draft, id, text, false);
  return asking.length > 0;
};

/** Gives a child the caller's answer; the caller's call waits for the result. */
export const answerQuestion = (
  draft: Draft,
  threadId: string,
  call: Call,
  asked: { readonly child: string; readonly question: string; readonly answer: string },
): void => {
  const open = threadOf(draft, asked.child).child?.question ?? null;
  if (open?.id !== asked.question) {
    const hint = open === null ? "it has no open question" : `its open question is ${open.id}`;
    return refuseCall(draft, threadId, call, "not_found", `${asked.question} is not open; ${hint}`);
  }
  parkCallOnChildren(draft, threadId, call, { answer: "item", on_error: "collect", slots: [asked.child] });
  changeChild(draft, asked.child, { awaitedBy: call.call.id });
  closeQuestion(draft, asked.child, asked.answer, true);
};
