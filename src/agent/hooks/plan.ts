import { cancelAsk } from "../asks/asks.ts";
import type { RunPlan } from "../state/phase.ts";
import { planAskOf, unpinPlanMessage } from "../state/phase.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { appendNote, runOf } from "../transaction/draft.ts";

/** Moves the plan of a run between the replies of its model and the answers of a person. */

export const changePlan = (draft: ThreadDraft, change: Partial<RunPlan>): void => {
  const run = runOf(draft);
  if (run.plan !== null) run.plan = { ...run.plan, ...change };
};

/** Removes the pin of a plan, which holds while its run may follow it. */
const unpinPlan = (draft: ThreadDraft): void => {
  const { thread } = draft;
  thread.chat = thread.chat.map(unpinPlanMessage);
};

/** Withdraws the plan and its ask: the run would make another plan. */
export const withdrawPlan = (draft: ThreadDraft): void => {
  const ask = planAskOf(runOf(draft));
  if (ask === null) return;
  cancelAsk(draft, ask);
  unpinPlan(draft);
  changePlan(draft, { stage: { at: "due" } });
};

/** Closes the plan of a run that ends: its ask is cancelled, and it is a message like others. */
export const closePlan = (draft: ThreadDraft): void => {
  if (runOf(draft).plan === null) return;
  withdrawPlan(draft);
  unpinPlan(draft);
};

/** Number of plans that a person may deny with reasons and get another. */
const mostDenials = 3;

/** A person's decision on a plan: `text` takes its place, `message` says why another one is to be made. */
export type PlanDecision =
  | { readonly approved: true; readonly text: string | null }
  | { readonly approved: false; readonly message: string | null };

/** Carries the plan out, makes it anew, or ends the run. */
export const settlePlan = (draft: ThreadDraft, decision: PlanDecision): void => {
  const run = runOf(draft);
  if (run.plan === null) return;
  if (decision.approved) return changePlan(draft, { stage: { at: "approved", text: decision.text } });
  const { message } = decision;
  const denied = run.plan.denied + 1;
  unpinPlan(draft);
  if (message !== null && denied <= mostDenials)
    return changePlan(draft, { stage: { at: "denied", message }, denied });
  changePlan(draft, { stage: { at: "done" }, denied });
  run.ending = { state: "cancelled", reason: "plan_denied", error: "the plan was not approved" };
};

/** Tells the model the decision about its plan before it goes on. */
export const tellPlanDecision = (draft: ThreadDraft): void => {
  const { stage } = runOf(draft).plan ?? {};
  if (stage?.at === "denied") {
    const text = `The plan was not approved: ${stage.message}\nMake another plan.`;
    appendNote(draft, text, "plan");
    changePlan(draft, { stage: { at: "due" } });
  } else if (stage?.at === "approved") {
    const text =
      stage.text === null
        ? "Carry out the plan now."
        : `The plan was changed. Carry out this one now:\n${stage.text}`;
    appendNote(draft, text, "plan");
    changePlan(draft, { stage: { at: "done" } });
  }
};
