import { cleanText, textOf } from "../../chat/text.ts";
import type { MiddlewareRun, StartHook, StartResult } from "../definition/guard.ts";
import { hasPlanned } from "../state/phase.ts";
import { findTaskMessage } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import {
  agentOf,
  changeChild,
  runOf,
  threadOf,
  appendMessage,
  emit,
  retireMessages,
  runHook,
} from "../transaction/draft.ts";
import type { WorkReport } from "../../tools/session-request.ts";
import { answerOf, isUnanswered, answerText, formatCompletion } from "../context/reports.ts";
import { removeMessages } from "../context/edits.ts";
import { removeLeaks } from "../definition/guard.ts";

/** Lets the middleware of an agent act at the start of a run, and guard the answer that the run ends with. */

/** Returns the facts of an active run, which are the same at its start and at its end. */
const middlewareRunOf = (draft: Draft, threadId: string): MiddlewareRun => {
  const thread = threadOf(draft, threadId);
  const { id, startedAt } = runOf(draft, threadId);
  const task = findTaskMessage(thread, runOf(draft, threadId));
  return {
    id,
    agent: thread.agent,
    depth: thread.depth,
    task: task === null ? "" : textOf(task.parts),
    startedAt,
  };
};

const callStart = (
  draft: Draft,
  threadId: string,
  { kind, start }: StartHook,
  run: MiddlewareRun,
): StartResult => {
  const started = runHook(draft, threadId, kind, () => start(run));
  return "thrown" in started ? { fail: started.thrown } : started.given;
};

/** Gives a run the notes of its middleware once, the outermost first. Returns false if one of them failed it. */
export const startMiddleware = (draft: Draft, threadId: string): boolean => {
  const { startHooks } = agentOf(draft, threadId);
  const run = runOf(draft, threadId);
  if (startHooks.length === 0 || run.turn > 0 || hasPlanned(run)) return true;
  const facts = middlewareRunOf(draft, threadId);
  for (const hook of startHooks) {
    const { note = "", fail } = callStart(draft, threadId, hook, facts);
    if (fail !== undefined) {
      run.stop = { reason: "effect_failed", error: `${hook.kind}: ${fail}` };
      return false;
    }
    if (/\S/.test(cleanText(note))) run.notes = [...run.notes, { kind: hook.kind, text: note }];
  }
  return true;
};

/** What the guardrails decide about a final text. */
type GuardrailDecision =
  | { readonly do: "accept" }
  | { readonly do: "retry"; readonly what: "answer" | "report"; readonly why: string }
  | {
      readonly do: "fail";
      readonly reason: "output_invalid" | "effect_failed";
      readonly error: string;
    };

/** Takes the answer out of the view but keeps it stored; drops its events from this commit or else retracts them. */
const dropAnswer = (draft: Draft, threadId: string): void => {
  const { chat } = threadOf(draft, threadId);
  const gone = answerOf(chat, runOf(draft, threadId));
  const ids = new Set(gone.map(({ id }) => id));
  const fresh = new Set<string>();
  const otherEvents = draft.events.filter((event) => {
    if (event.type !== "message_added" || !ids.has(event.data.message.id)) return true;
    fresh.add(event.data.message.id);
    return false;
  });
  draft.events.splice(0, draft.events.length, ...otherEvents);
  retireMessages(draft, threadId, gone, { reason: "guardrail" });
  const messages = [...ids].filter((id) => !fresh.has(id));
  if (messages.length > 0) emit(draft, threadId, "messages_retired", { messages, by: "guardrail" });
  removeMessages(draft, threadId, gone);
};

/** Answer that a run ends with, and how to replace it by another text. */
interface FinalAnswer {
  readonly name: "answer" | "report";
  readonly text: string;
  readonly replace: (text: string | null, failed: boolean) => void;
}

/** Makes `instead` the run's answer; without visible text there is none, whatever the agent said before. */
const withholdAnswer = (draft: Draft, threadId: string, instead: string | null): void => {
  const { counters } = runOf(draft, threadId);
  const text = cleanText(instead ?? "");
  counters.withheld = !/\S/.test(text);
  if (counters.withheld) return;
  counters.empty = 0;
  appendMessage(
    draft,
    threadId,
    { role: "assistant", origin: "system", parts: [{ type: "text", text }] },
    true,
  );
};

/** Replaces the report of a called agent; a run that fails reports nothing. */
const replaceReport = (
  draft: Draft,
  threadId: string,
  { status, files_modified }: WorkReport,
  text: string | null,
  failed: boolean,
): void => {
  const completion = failed ? null : { status, files_modified, summary: text ?? "" };
  changeChild(draft, threadId, { completion });
  if (failed) withholdAnswer(draft, threadId, text);
};

/** A terminal call leaves a report, or else the text beside it, as the answer; a hand-over leaves none. */
const findTerminalAnswer = (draft: Draft, threadId: string): FinalAnswer => {
  const { completion = null, handover = null } = threadOf(draft, threadId).child ?? {};
  if (completion !== null && handover === null)
    return {
      name: "report",
      text: formatCompletion(completion),
      replace: (text, failed) => replaceReport(draft, threadId, completion, text, failed),
    };
  const text = handover === null ? answerText(threadOf(draft, threadId), runOf(draft, threadId)) : "";
  return { name: "answer", text, replace: (instead) => withholdAnswer(draft, threadId, instead) };
};

/** Finds the answer that the run is about to give; its text is empty if the agent said nothing. */
const findAnswer = (draft: Draft, threadId: string, reason: "end_turn" | "terminal_tool"): FinalAnswer => {
  if (isUnanswered(runOf(draft, threadId)))
    return { name: "answer", text: "", replace: (text) => withholdAnswer(draft, threadId, text) };
  if (reason === "terminal_tool") return findTerminalAnswer(draft, threadId);
  return {
    name: "answer",
    text: answerText(threadOf(draft, threadId), runOf(draft, threadId)),
    replace: (text) => {
      dropAnswer(draft, threadId);
      withholdAnswer(draft, threadId, text);
    },
  };
};

/** Withholds text beside a report or a hand-over if it reveals what is forbidden; such text is no answer. */
const guardAside = (draft: Draft, threadId: string): void => {
  const { child } = threadOf(draft, threadId);
  if (child === null || (child.completion === null && child.handover === null)) return;
  const aside = answerText(threadOf(draft, threadId), runOf(draft, threadId));
  if (removeLeaks(agentOf(draft, threadId).guardrails, aside) !== aside)
    withholdAnswer(draft, threadId, null);
};

/** Passes, replaces or rejects what a run ends with, as the guardrails decide. */
export const guardAnswer = (
  draft: Draft,
  threadId: string,
  reason: "end_turn" | "terminal_tool",
): GuardrailDecision => {
  const { guardrails } = agentOf(draft, threadId);
  if (guardrails.length === 0) return { do: "accept" };
  runOf(draft, threadId).counters.withheld = false;
  const accepted = checkAnswer(draft, threadId, reason);
  if (accepted.do === "accept") guardAside(draft, threadId);
  return accepted;
};

/** Checks an answer, the innermost guardrail first. */
const checkAnswer = (
  draft: Draft,
  threadId: string,
  reason: "end_turn" | "terminal_tool",
): GuardrailDecision => {
  const { guardrails } = agentOf(draft, threadId);
  for (const [place, guardrail] of [...guardrails.entries()].toReversed()) {
    const answer = findAnswer(draft, threadId, reason);
    const { turn, counters } = runOf(draft, threadId);
    const retries = counters.rejected[place] ?? 0;
    const outcome = { text: answer.text, reason, turns: turn, retries };
    const judged = runHook(draft, threadId, guardrail.kind, () =>
      guardrail.judge(outcome, middlewareRunOf(draft, threadId)),
    );
    if ("thrown" in judged) {
      answer.replace(guardrail.text, true);
      return { do: "fail", reason: "effect_failed", error: `${guardrail.kind}: ${judged.thrown}` };
    }
    const verdict = judged.given;
    if (verdict.do === "retry") {
      counters.rejected = { ...counters.rejected, [place]: retries + 1 };
      return { do: "retry", what: answer.name, why: verdict.why };
    }
    if (verdict.do !== "accept") answer.replace(verdict.text, verdict.do === "fail");
    if (verdict.do !== "fail") continue;
    const error = `the ${answer.name} was not accepted: ${verdict.why}`;
    return { do: "fail", reason: "output_invalid", error };
  }
  return { do: "accept" };
};
