import type { Part, ToolCallPart } from "../../chat/message.ts";
import { cleanText, hasContent, preview, textOf } from "../../chat/text.ts";
import type { Completion } from "../../model/completer.ts";
import { bookReply, reportTruncatedInput } from "../calls/model-call.ts";
import { runAfterEffects } from "../hooks/effects.ts";
import type { ModelCall } from "../state/phase.ts";
import { modelCallOf } from "../state/phase.ts";
import type { ContextSnapshot } from "../state/records.ts";
import type { Run } from "../state/run.ts";
import { contextTokens } from "../state/budget.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { agentOf, appendMessage, emit, giveNotice, runOf } from "../transaction/draft.ts";
import { utilizationOf } from "../transaction/next-request.ts";
import { finishHandlers, isCutReply } from "./finish.ts";
import type { OpenedItem } from "./attempts.ts";
import { itemId, openItems } from "./attempts.ts";
import { openAsk } from "../asks/asks.ts";
import { changePlan } from "../hooks/plan.ts";
import { expireAsk } from "./ask-answers.ts";
import { isSteeredByPerson } from "../state/thread.ts";

/** Stores a whole reply of the model. */

const itemsOfReply = (run: Run, attempt: number, reply: Completion): readonly OpenedItem[] =>
  reply.parts.flatMap((part, index): OpenedItem[] => {
    const id = itemId(run, attempt, index);
    if (part.type === "text" || part.type === "reasoning")
      return [{ id, kind: part.type, preview: preview(part.text), call: null }];
    if (part.type === "tool_call")
      return [{ id, kind: "tool_input", preview: "", call: { id: part.id, name: part.name } }];
    return [];
  });

/** Counts a reply: every one has usage, cost and events, whatever it says. */
const countReply = (
  draft: ThreadDraft,
  call: ModelCall,
  reply: Completion,
  snapshot: ContextSnapshot,
): void => {
  const run = runOf(draft);
  const { usage, cost, estimated, provider, model } = reply;
  const saw = { ...snapshot, hash: reply.requestHash ?? null };
  bookReply(draft, call, reply, { provider, model, saw });
  const { thread } = draft;
  const newest = thread.chat.at(-1);
  thread.lastUsage = usage;
  thread.removed = 0;
  const hidden = Object.keys(run.hidden);
  if (hidden.length + thread.lastHidden.length > 0) thread.lastHidden = hidden;
  thread.seen = Math.max(thread.seen, newest?.pos ?? thread.seen);
  thread.calls += 1;
  thread.previousNewest = newest?.id ?? null;
  run.reply = { provider, model, usage, cost, estimated };
  run.counters.deadAttempts = 0;
  run.counters.unansweredLeases = 0;
};

const warnOfWindow = (draft: ThreadDraft): void => {
  const { thread } = draft;
  const limit = runOf(draft).target.window;
  const utilization = utilizationOf(thread, limit);
  const threshold = agentOf(draft).warningThreshold;
  const over = limit > 0 && utilization >= threshold;
  if (over && !thread.warnedUtilization)
    emit(draft, "context_window_warning", {
      kind: "utilization",
      utilization,
      tokens: contextTokens(thread.lastUsage),
      limit,
    });
  if (over !== thread.warnedUtilization) thread.warnedUtilization = over;
};

/** Cleans a part for storage; reasoning is signed and stays as it came. */
const cleanPart = (part: Part): Part => {
  if (part.type === "text") return { ...part, text: cleanText(part.text) };
  if (part.type !== "tool_call" || part.args.isWellFormed()) return part;
  return { ...part, args: part.args.toWellFormed() };
};

/** Leaves out calls that may not be used, before anything is stored. */
const usableParts = (draft: ThreadDraft, reply: Completion): Completion["parts"] => {
  const agent = agentOf(draft);
  const clean = reply.parts.map(cleanPart);
  if (!agent.toolsDisabled) return clean;
  const parts = clean.filter((part) => part.type !== "tool_call");
  if (parts.length < clean.length)
    emit(draft, "error", {
      code: "tools_disabled",
      message: "tool_access forbids tools; the calls were dropped",
      retryable: false,
    });
  return parts;
};

const reportDroppedParameters = (draft: ThreadDraft, { droppedParameters = [], model }: Completion): void => {
  const fresh = droppedParameters.filter((name) => giveNotice(draft.state, `dropped ${model}: ${name}`));
  if (fresh.length === 0) return;
  const message = `left out, since the model does not accept the parameter: ${fresh.map((name) => `${model}: ${name}`).join(", ")}`;
  emit(draft, "error", { code: "param_dropped", message, retryable: false });
};

/** Stores a completed attempt of the current phase; any other was refused before. */
export const applyReply = (draft: ThreadDraft, reply: Completion, snapshot: ContextSnapshot): void => {
  const run = runOf(draft);
  const call = modelCallOf(run);
  if (call === null) return;
  const { attempt } = call;
  openItems(draft, itemsOfReply(run, attempt, reply));
  countReply(draft, call, reply, snapshot);
  reportDroppedParameters(draft, reply);
  reportTruncatedInput(draft, call, reply);
  if (call.purpose === "plan") {
    applyPlanReply(draft, attempt, reply, reply.parts.map(cleanPart));
    warnOfWindow(draft);
    return;
  }
  const parts = usableParts(draft, reply);
  const calls = parts.filter((part): part is ToolCallPart => part.type === "tool_call");
  const visible = hasContent({ parts });
  const acts = calls.length > 0;
  const marks = !acts && isCutReply(reply.finish) ? ({ marks: ["truncated"] } as const) : {};
  const said = { role: "assistant", origin: "agent", parts, ...marks } as const;
  if (visible) appendMessage(draft, said, !acts);
  warnOfWindow(draft);
  run.phase = { at: "ready" };
  resetStreaks(draft, reply, acts, visible);
  runAfterEffects(draft);
  finishHandlers[reply.finish](draft, {
    calls,
    visible,
    category: reply.category ?? null,
    attempt,
  });
};

const resetStreaks = (draft: ThreadDraft, reply: Completion, acts: boolean, visible: boolean): void => {
  const { counters } = runOf(draft);
  const wasCut = isCutReply(reply.finish);
  if (!wasCut || !acts) counters.cutCalls = 0;
  if (!wasCut || acts) counters.cutText = 0;
  if (visible) counters.empty = 0;
  if (!acts) counters.reflections = 0;
};

/** Keeps or drops the reply of a model that was asked for a plan, which is no turn. */

/** Rule that a person sees beside a plan. */
const planRule = "plan_before_execute";

const mostDiscarded = 1;

const noPlanText = "two replies contained no plan to approve";

/** Drops an empty or cut plan, which is made once more; then the run goes on without, unless a person decides. */
const dropPlan = (draft: ThreadDraft, isCut: boolean): void => {
  const { plan } = runOf(draft);
  if (plan === null) return;
  if (isCut) {
    const message = "a plan was cut off, and dropped";
    emit(draft, "error", { code: "output_truncated", message, retryable: true });
  }
  if (plan.discarded < mostDiscarded) return changePlan(draft, { discarded: plan.discarded + 1 });
  changePlan(draft, { stage: { at: "done" } });
  if (isApprovedByPerson(draft))
    runOf(draft).ending = { state: "failed", reason: "output_invalid", error: noPlanText };
};

const isApprovedByPerson = (draft: ThreadDraft): boolean => agentOf(draft).planBeforeExecute === "approve";

/** Lets the run wait until a person decides on the plan; without an interactive person the default holds at once. */
const askForApproval = (draft: ThreadDraft, plan: string): void => {
  const { timeoutMs } = agentOf(draft).approvalTimeout(planRule);
  const approval = { tool: "plan", input: { plan }, rule: planRule };
  const ask = openAsk(draft, "", timeoutMs, { approval });
  changePlan(draft, { stage: { at: "asked", ask: ask.id } });
  if (!draft.state.interactive) expireAsk(draft, ask);
};

/** Returns whether a person is asked about the plan: not if the run ends, or makes another since it is steered. */
const isApprovalNeeded = (draft: ThreadDraft): boolean => {
  const { cancel, stop } = runOf(draft);
  return cancel === null && stop === null && !isSteeredByPerson(draft.thread);
};

const keepPlan = (draft: ThreadDraft, parts: readonly Part[]): void => {
  const approves = isApprovedByPerson(draft);
  const asks = approves && isApprovalNeeded(draft);
  const isFollowed = asks || !approves;
  const said = { role: "assistant", origin: "agent", parts } as const;
  const { id } = appendMessage(draft, isFollowed ? { ...said, marks: ["plan"] } : said);
  changePlan(draft, { discarded: 0 });
  emit(draft, "plan_created", { message: id });
  if (asks) askForApproval(draft, textOf(parts));
  else if (!approves) changePlan(draft, { stage: { at: "approved", text: null } });
};

/** Applies a reply with a plan. Calls in the reply are dropped: nothing of a plan is executed. */
const applyPlanReply = (
  draft: ThreadDraft,
  attempt: number,
  { finish, category: given }: Completion,
  cleaned: readonly Part[],
): void => {
  const parts = cleaned.filter(({ type }) => type !== "tool_call");
  const visible = hasContent({ parts });
  const category = given ?? null;
  runOf(draft).phase = { at: "ready" };
  if (finish === "refusal" || finish === "filtered") {
    if (visible) appendMessage(draft, { role: "assistant", origin: "agent", parts });
    finishHandlers[finish](draft, { calls: [], visible, category, attempt });
  } else if (finish === "context_full")
    finishHandlers[finish](draft, { calls: [], visible: false, category, attempt });
  else if (visible && !isCutReply(finish)) keepPlan(draft, parts);
  else dropPlan(draft, isCutReply(finish));
};
