/** Check of the workspace by the operator's command: after edits, and before a run ends that used up its turns. */

/** What follows a check of edits: another turn, or the end that the check holds up. */
export type AfterVerification = "turn" | "end_turn" | "terminal_tool";

export type Verification =
  | {
      readonly of: "edits";
      /** Number of repair turns that followed the edits. */
      readonly repairs: number;
      /** Null while the model repairs. */
      readonly next: AfterVerification | null;
    }
  /** The run used up its turns; `outcome` is null until the check has ended. */
  | { readonly of: "breach"; readonly outcome: "passed" | "failed" | null }
  /** The command could not be run, so edits of this run are not checked any more. */
  | { readonly of: "nothing" };

/** Command that is known and about to start, or runs already. */
export interface CheckCommand {
  readonly text: string;
  /** Id under which the sandbox starts the command at most once. */
  readonly exec: string;
  /** Sandbox instance whose memory knows the command if it has arrived. */
  readonly instance: string;
}

/** Work of a check: the first command checks edits or a breach; the broad one follows a first that passed. */
export interface VerificationWork {
  readonly kind: "verification";
  readonly what: "edits" | "broad" | "breach";
  /** Null until the command is about to start. */
  readonly command: CheckCommand | null;
}

type Checked = { readonly verification: Verification | null };

/** Returns whether the run, which used up its turns, has yet to be checked before it ends. */
export const isBreachOpen = ({ verification }: Checked): boolean =>
  verification?.of === "breach" && verification.outcome === null;

/** Returns whether a check has to begin or to end before anything else follows. */
export const isVerificationOpen = (run: Checked): boolean =>
  isBreachOpen(run) || (run.verification?.of === "edits" && run.verification.next !== null);

/** Returns whether the model is repairing what a check found. */
export const isRepairing = ({ verification }: Checked): boolean =>
  verification?.of === "edits" && verification.next === null;
