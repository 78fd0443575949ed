import type { Message } from "../../chat/message.ts";
import type { Run } from "./run.ts";

/** Before its first turn a run may ask its model for a plan, which a person may have to approve. */
export interface RunPlan {
  readonly stage:
    /** The model is asked for a plan next. */
    | { readonly at: "due" }
    /** The run waits for the answer to this ask. */
    | { readonly at: "asked"; readonly ask: string }
    /** Another plan follows once the model is told why. */
    | { readonly at: "denied"; readonly message: string }
    /** The model is told to carry the plan out, or the text that a person put in its place. */
    | { readonly at: "approved"; readonly text: string | null }
    | { readonly at: "done" };
  /** The requests for plans count their attempts on, so that each has a name of its own. */
  readonly attempts: number;
  /** So many empty or cut plans were dropped. */
  readonly discarded: number;
  readonly denied: number;
}

export const newPlan: RunPlan = { stage: { at: "due" }, attempts: 0, discarded: 0, denied: 0 };

/** Returns whether the next model call of a run with this plan is for one. */
export const isPlanning = (plan: RunPlan | undefined): boolean =>
  plan !== undefined && plan.stage.at !== "done";

/** Returns whether the run has asked its model for a plan. */
export const hasPlanned = (run: Run | null): boolean => (run?.plan?.attempts ?? 0) > 0;

/** The run waits for the answer to this ask about its plan; null if for none. */
export const planAskOf = ({ plan }: Pick<Run, "plan">): string | null =>
  plan?.stage.at === "asked" ? plan.stage.ask : null;

/** The message as one that no run follows as its plan, so that it is pinned no more. */
export const unpinPlanMessage = (message: Message): Message =>
  message.marks?.includes("plan") === true
    ? { ...message, marks: message.marks.filter((mark) => mark !== "plan") }
    : message;
