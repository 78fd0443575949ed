import { textOf } from "../../chat/text.ts";
import type { WorkReport } from "../../tools/session-request.ts";
import { answerOf, isUnanswered } from "../context/answer.ts";
import { removeMessages } from "../context/edits.ts";
import { formatCompletion } from "../context/reports.ts";
import { applyGuardrail, removeLeaks } from "../definition/guard.ts";
import type { Draft } from "../transaction/draft.ts";
import {
  agentOf,
  appendMessage,
  changeCounters,
  changeThread,
  emit,
  retireMessages,
  runOf,
  threadOf,
} from "../transaction/draft.ts";

/** Middleware of an agent's runs: what guards its answers, and what its log says. */

/** What becomes of a final text. */
type GuardrailDecision =
  | { readonly do: "accept" }
  | { readonly do: "retry"; readonly what: "answer" | "report"; readonly why: string }
  | {
      readonly do: "fail";
      readonly reason: "output_invalid" | "effect_failed";
      readonly error: string;
    };

/** The answer leaves the view; of what this commit adds nobody is told, the rest is taken back. It stays stored. */
const dropAnswer = (draft: Draft, threadId: string): void => {
  const { chat } = threadOf(draft, threadId);
  const gone = answerOf(chat, runOf(draft, threadId).id);
  const ids = new Set(gone.map(({ id }) => id));
  const fresh = new Set<string>();
  const untold = draft.events.filter((event) => {
    if (event.type !== "message_added" || !ids.has(event.data.message.id)) return true;
    fresh.add(event.data.message.id);
    return false;
  });
  draft.events.splice(0, draft.events.length, ...untold);
  retireMessages(draft, threadId, gone, { reason: "guardrail" });
  const messages = [...ids].filter((id) => !fresh.has(id));
  if (messages.length > 0) emit(draft, threadId, "messages_retired", { messages, by: "guardrail" });
  removeMessages(draft, threadId, gone);
};

/** What a run ends with, and what another text in its place does. */
interface FinalAnswer {
  readonly name: "answer" | "report";
  readonly text: string;
  readonly replace: (text: string | null, failed: boolean) => void;
}

const appendReplacement = (draft: Draft, threadId: string, text: string | null): void => {
  if (text === null) return;
  appendMessage(
    draft,
    threadId,
    { role: "assistant", origin: "system", parts: [{ type: "text", text }] },
    true,
  );
};

/** A text beside calls stays where it is, since they have results; it is just no answer. */
const withholdAnswer = (draft: Draft, threadId: string, text: string | null): void => {
  if (text === null) changeCounters(draft, threadId, { withheld: true });
  else appendReplacement(draft, threadId, text);
};

/** What a called agent reports; a run that fails reports nothing. */
const replaceReport = (
  draft: Draft,
  threadId: string,
  { status, files_modified }: WorkReport,
  text: string | null,
  failed: boolean,
): void => {
  const completion = failed ? null : { status, files_modified, summary: text ?? "" };
  const { child } = threadOf(draft, threadId);
  if (child !== null) changeThread(draft, threadId, { child: { ...child, completion } });
  if (failed) withholdAnswer(draft, threadId, text);
};

const lastAnswerText = (draft: Draft, threadId: string): string =>
  answerOf(threadOf(draft, threadId).chat, runOf(draft, threadId).id)
    .map(({ parts }) => textOf(parts))
    .join("");

/** What a terminal call leaves as the answer: a report, or the text beside it; null if there is neither. */
const findTerminalAnswer = (draft: Draft, threadId: string): FinalAnswer | null => {
  const { child } = threadOf(draft, threadId);
  if (child !== null && child.handover !== null) return null;
  const completion = child?.completion ?? null;
  if (completion !== null)
    return {
      name: "report",
      text: formatCompletion(completion),
      replace: (text, failed) => replaceReport(draft, threadId, completion, text, failed),
    };
  const text = lastAnswerText(draft, threadId);
  return /\S/.test(text)
    ? { name: "answer", text, replace: (instead) => withholdAnswer(draft, threadId, instead) }
    : null;
};

/** What the run is about to answer; null if that is nothing. */
const findAnswer = (
  draft: Draft,
  threadId: string,
  reason: "end_turn" | "terminal_tool",
): FinalAnswer | null => {
  if (isUnanswered(runOf(draft, threadId))) return null;
  if (reason === "terminal_tool") return findTerminalAnswer(draft, threadId);
  return {
    name: "answer",
    text: lastAnswerText(draft, threadId),
    replace: (text) => {
      dropAnswer(draft, threadId);
      appendReplacement(draft, threadId, text);
    },
  };
};

/** Words beside a report or a hand-over are no answer: if they tell what must not be told, there are none. */
const guardAside = (draft: Draft, threadId: string): void => {
  const { child } = threadOf(draft, threadId);
  if (child === null || (child.completion === null && child.handover === null)) return;
  const aside = lastAnswerText(draft, threadId);
  if (removeLeaks(agentOf(draft, threadId).guardrails, aside) !== aside)
    withholdAnswer(draft, threadId, null);
};

/** What a run ends with as the guardrails leave it. */
export const guardAnswer = (
  draft: Draft,
  threadId: string,
  reason: "end_turn" | "terminal_tool",
): GuardrailDecision => {
  const { guardrails } = agentOf(draft, threadId);
  if (guardrails.length === 0) return { do: "accept" };
  if (runOf(draft, threadId).counters.withheld === true) changeCounters(draft, threadId, { withheld: false });
  const accepted = checkAnswer(draft, threadId, reason);
  if (accepted.do === "accept") guardAside(draft, threadId);
  return accepted;
};

/** The innermost checks first. */
const checkAnswer = (
  draft: Draft,
  threadId: string,
  reason: "end_turn" | "terminal_tool",
): GuardrailDecision => {
  const { guardrails } = agentOf(draft, threadId);
  for (const [place, guardrail] of [...guardrails.entries()].toReversed()) {
    const { onFail, maxRetries, text } = guardrail;
    const answer = findAnswer(draft, threadId, reason);
    if (answer === null) return { do: "accept" };
    const judged = applyGuardrail(guardrail.problem, answer.text);
    if ("thrown" in judged) {
      answer.replace(text, true);
      return { do: "fail", reason: "effect_failed", error: `output_guardrail: ${judged.thrown}` };
    }
    const { why } = judged;
    if (why === null) continue;
    const { rejected = {} } = runOf(draft, threadId).counters;
    const retries = rejected[place] ?? 0;
    if (onFail === "retry" && retries < maxRetries) {
      changeCounters(draft, threadId, { rejected: { ...rejected, [place]: retries + 1 } });
      return { do: "retry", what: answer.name, why };
    }
    answer.replace(text, onFail !== "replace");
    if (onFail === "replace") continue;
    return { do: "fail", reason: "output_invalid", error: `the ${answer.name} was not accepted: ${why}` };
  }
  return { do: "accept" };
};
