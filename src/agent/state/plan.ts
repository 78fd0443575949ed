import type { Message } from "../../chat/message.ts";
import type { Run } from "./run.ts";

/** Plan of a run, which it may ask its model for before its first turn, and which a person may have to approve. */
export interface RunPlan {
  readonly stage:
    /** The model is asked for a plan next. */
    | { readonly at: "due" }
    /** The run waits for the answer to this ask. */
    | { readonly at: "asked"; readonly ask: string }
    /** Another plan follows once the model knows why this one was denied. */
    | { readonly at: "denied"; readonly message: string }
    /** The model is told to carry out the plan, or the text that a person put in its place. */
    | { readonly at: "approved"; readonly text: string | null }
    | { readonly at: "done" };
  /** Number of attempts at plans, over all requests, so that each attempt has its own name. */
  readonly attempts: number;
  /** Number of empty or cut plans that were dropped. */
  readonly discarded: number;
  readonly denied: number;
}

export const newPlan: RunPlan = { stage: { at: "due" }, attempts: 0, discarded: 0, denied: 0 };

/** Returns whether the next model call of a run with this plan is for one. */
export const isPlanning = (plan: RunPlan | null): boolean => plan !== null && plan.stage.at !== "done";

/** Returns whether the run has asked its model for a plan. */
export const hasPlanned = (run: Run | null): boolean => (run?.plan?.attempts ?? 0) > 0;

/** Returns the ask about its plan that the run waits for; null if it waits for none. */
export const planAskOf = ({ plan }: Pick<Run, "plan">): string | null =>
  plan?.stage.at === "asked" ? plan.stage.ask : null;

/** Returns the message without its pin, as one that no run follows as its plan. */
export const unpinPlanMessage = (message: Message): Message =>
  message.marks?.includes("plan") === true
    ? { ...message, marks: message.marks.filter((mark) => mark !== "plan") }
    : message;
