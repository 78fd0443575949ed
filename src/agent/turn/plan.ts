import type { Part } from "../../chat/message.ts";
import { hasContent, textOf } from "../../chat/text.ts";
import type { Completion } from "../../model/completer.ts";
import { openAsk } from "../asks/asks.ts";
import { changePlan } from "../hooks/plan.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, appendMessage, emit, runOf, threadOf } from "../transaction/draft.ts";
import { expireAsk } from "./ask-answers.ts";
import { finishHandlers, isCutReply } from "./finish.ts";
import { isSteeredByPerson } from "../state/thread.ts";

/** Keeps or drops the reply of a model that was asked for a plan, which is no turn. */

/** Rule that a person sees beside a plan. */
const planRule = "plan_before_execute";

const mostDiscarded = 1;

const noPlanText = "two replies contained no plan to approve";

/**
 * Drops an empty or cut plan, which is made once more; if that is no better, the run goes on without, unless
 * a person decides.
 */
const dropPlan = (draft: Draft, threadId: string, isCut: boolean): void => {
  const { plan } = runOf(draft, threadId);
  if (plan === null) return;
  if (isCut) {
    const message = "a plan was cut off, and dropped";
    emit(draft, threadId, "error", { code: "output_truncated", message, retryable: true });
  }
  if (plan.discarded < mostDiscarded) return changePlan(draft, threadId, { discarded: plan.discarded + 1 });
  changePlan(draft, threadId, { stage: { at: "done" } });
  if (isApprovedByPerson(draft, threadId))
    runOf(draft, threadId).ending = { state: "failed", reason: "output_invalid", error: noPlanText };
};

const isApprovedByPerson = (draft: Draft, threadId: string): boolean =>
  agentOf(draft, threadId).planBeforeExecute === "approve";

/**
 * Lets the run wait until a person decides on the plan; without an interactive person the default holds at
 * once.
 */
const askForApproval = (draft: Draft, threadId: string, plan: string): void => {
  const { timeoutMs } = agentOf(draft, threadId).approvalTimeout(planRule);
  const approval = { tool: "plan", input: { plan }, rule: planRule };
  const ask = openAsk(draft, threadId, "", timeoutMs, { approval });
  changePlan(draft, threadId, { stage: { at: "asked", ask: ask.id } });
  if (!draft.state.interactive) expireAsk(draft, ask);
};

/**
 * Returns whether a person is asked about the plan: not for a run that ends, or that a person steers and that
 * makes another plan.
 */
const isApprovalNeeded = (draft: Draft, threadId: string): boolean => {
  const { cancel, stop } = runOf(draft, threadId);
  return cancel === null && stop === null && !isSteeredByPerson(threadOf(draft, threadId));
};

const keepPlan = (draft: Draft, threadId: string, parts: readonly Part[]): void => {
  const approves = isApprovedByPerson(draft, threadId);
  const asks = approves && isApprovalNeeded(draft, threadId);
  const isFollowed = asks || !approves;
  const said = { role: "assistant", origin: "agent", parts } as const;
  const { id } = appendMessage(draft, threadId, isFollowed ? { ...said, marks: ["plan"] } : said);
  changePlan(draft, threadId, { discarded: 0 });
  emit(draft, threadId, "plan_created", { message: id });
  if (asks) askForApproval(draft, threadId, textOf(parts));
  else if (!approves) changePlan(draft, threadId, { stage: { at: "approved", text: null } });
};

/** Applies a reply with a plan. Calls in the reply are dropped: nothing of a plan is executed. */
export const applyPlanReply = (
  draft: Draft,
  threadId: string,
  attempt: number,
  { finish, category: given }: Completion,
  cleaned: readonly Part[],
): void => {
  const parts = cleaned.filter(({ type }) => type !== "tool_call");
  const visible = hasContent({ parts });
  const category = given ?? null;
  runOf(draft, threadId).phase = { at: "ready" };
  if (finish === "refusal" || finish === "filtered") {
    if (visible) appendMessage(draft, threadId, { role: "assistant", origin: "agent", parts });
    finishHandlers[finish](draft, threadId, { calls: [], visible, category, attempt });
  } else if (finish === "context_full")
    finishHandlers[finish](draft, threadId, { calls: [], visible: false, category, attempt });
  else if (visible && !isCutReply(finish)) keepPlan(draft, threadId, parts);
  else dropPlan(draft, threadId, isCutReply(finish));
};
