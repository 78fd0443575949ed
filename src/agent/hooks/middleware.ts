import { cleanText, textOf } from "../../chat/text.ts";
import type { MiddlewareRun, StartHook, StartResult } from "../definition/guard.ts";
import { hasPlanned } from "../state/phase.ts";
import { findTaskMessage } from "../state/run.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import {
  agentOf,
  changeChild,
  runOf,
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
const middlewareRunOf = (draft: ThreadDraft): MiddlewareRun => {
  const { thread } = draft;
  const { id, startedAt } = runOf(draft);
  const task = findTaskMessage(thread, runOf(draft));
  return {
    id,
    agent: thread.agent,
    depth: thread.depth,
    task: task === null ? "" : textOf(task.parts),
    startedAt,
  };
};

const callStart = (draft: ThreadDraft, { kind, start }: StartHook, run: MiddlewareRun): StartResult => {
  const started = runHook(draft, kind, () => start(run));
  return "thrown" in started ? { fail: started.thrown } : started.given;
};

/** Gives a run the notes of its middleware once, the outermost first. Returns false if one of them failed it. */
export const startMiddleware = (draft: ThreadDraft): boolean => {
  const { startHooks } = agentOf(draft);
  const run = runOf(draft);
  if (startHooks.length === 0 || run.turn > 0 || hasPlanned(run)) return true;
  const facts = middlewareRunOf(draft);
  for (const hook of startHooks) {
    const { note = "", fail } = callStart(draft, hook, facts);
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
const dropAnswer = (draft: ThreadDraft): void => {
  const { chat } = draft.thread;
  const gone = answerOf(chat, runOf(draft));
  const ids = new Set(gone.map(({ id }) => id));
  const fresh = new Set<string>();
  const otherEvents = draft.events.filter((event) => {
    if (event.type !== "message_added" || !ids.has(event.data.message.id)) return true;
    fresh.add(event.data.message.id);
    return false;
  });
  draft.events.splice(0, draft.events.length, ...otherEvents);
  retireMessages(draft, gone, { reason: "guardrail" });
  const messages = [...ids].filter((id) => !fresh.has(id));
  if (messages.length > 0) emit(draft, "messages_retired", { messages, by: "guardrail" });
  removeMessages(draft, gone);
};

/** Answer that a run ends with, and how to replace it by another text. */
interface FinalAnswer {
  readonly name: "answer" | "report";
  readonly text: string;
  readonly replace: (text: string | null, failed: boolean) => void;
}

/** Makes `instead` the run's answer; without visible text there is none, whatever the agent said before. */
const withholdAnswer = (draft: ThreadDraft, instead: string | null): void => {
  const { counters } = runOf(draft);
  const text = cleanText(instead ?? "");
  counters.withheld = !/\S/.test(text);
  if (counters.withheld) return;
  counters.empty = 0;
  appendMessage(draft, { role: "assistant", origin: "system", parts: [{ type: "text", text }] }, true);
};

/** Replaces the report of a called agent; a run that fails reports nothing. */
const replaceReport = (
  draft: ThreadDraft,
  { status, files_modified }: WorkReport,
  text: string | null,
  failed: boolean,
): void => {
  const completion = failed ? null : { status, files_modified, summary: text ?? "" };
  changeChild(draft, { completion });
  if (failed) withholdAnswer(draft, text);
};

/** A terminal call leaves a report, or else the text beside it, as the answer; a hand-over leaves none. */
const findTerminalAnswer = (draft: ThreadDraft): FinalAnswer => {
  const { completion = null, handover = null } = draft.thread.child ?? {};
  if (completion !== null && handover === null)
    return {
      name: "report",
      text: formatCompletion(completion),
      replace: (text, failed) => replaceReport(draft, completion, text, failed),
    };
  const text = handover === null ? answerText(draft.thread, runOf(draft)) : "";
  return { name: "answer", text, replace: (instead) => withholdAnswer(draft, instead) };
};

/** Finds the answer that the run is about to give; its text is empty if the agent said nothing. */
const findAnswer = (draft: ThreadDraft, reason: "end_turn" | "terminal_tool"): FinalAnswer => {
  if (isUnanswered(runOf(draft)))
    return { name: "answer", text: "", replace: (text) => withholdAnswer(draft, text) };
  if (reason === "terminal_tool") return findTerminalAnswer(draft);
  return {
    name: "answer",
    text: answerText(draft.thread, runOf(draft)),
    replace: (text) => {
      dropAnswer(draft);
      withholdAnswer(draft, text);
    },
  };
};

/** Withholds text beside a report or a hand-over if it reveals what is forbidden; such text is no answer. */
const guardAside = (draft: ThreadDraft): void => {
  const { child } = draft.thread;
  if (child === null || (child.completion === null && child.handover === null)) return;
  const aside = answerText(draft.thread, runOf(draft));
  if (removeLeaks(agentOf(draft).guardrails, aside) !== aside) withholdAnswer(draft, null);
};

/** Passes, replaces or rejects what a run ends with, as the guardrails decide. */
export const guardAnswer = (draft: ThreadDraft, reason: "end_turn" | "terminal_tool"): GuardrailDecision => {
  const { guardrails } = agentOf(draft);
  if (guardrails.length === 0) return { do: "accept" };
  runOf(draft).counters.withheld = false;
  const accepted = checkAnswer(draft, reason);
  if (accepted.do === "accept") guardAside(draft);
  return accepted;
};

/** Checks an answer, the innermost guardrail first. */
const checkAnswer = (draft: ThreadDraft, reason: "end_turn" | "terminal_tool"): GuardrailDecision => {
  const { guardrails } = agentOf(draft);
  for (const [place, guardrail] of [...guardrails.entries()].toReversed()) {
    const answer = findAnswer(draft, reason);
    const { turn, counters } = runOf(draft);
    const retries = counters.rejected[place] ?? 0;
    const outcome = { text: answer.text, reason, turns: turn, retries };
    const judged = runHook(draft, guardrail.kind, () => guardrail.judge(outcome, middlewareRunOf(draft)));
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
