export interface GraphTask {
  readonly id: string;
  readonly agent: string;
  readonly message: string;
  readonly context: string;
  readonly depends_on: readonly string[];
  /** If it fails, whatever depends on it is cancelled. */
  readonly blocking: boolean;
  readonly timeout_seconds?: number | undefined;
  /** `{{id.output}}` in message and context stands for that task's output. */
  readonly interpolate: boolean;
}

export type GraphState = "pending" | "running" | "success" | "failed" | "cancelled" | "timeout";

export type GraphStates = Readonly<Record<string, GraphState>>;

/** A step says what to do now; `done` means that nothing is running or will start. */
export interface GraphStep {
  readonly start: readonly string[];
  readonly cancel: readonly string[];
  readonly done: boolean;
}

/** A settled task has this outcome. */
export interface GraphOutcome {
  readonly state: GraphState;
  /** This agent did it in the end, if any began it. */
  readonly agent?: string;
  /** It is the output of a success, otherwise the reason. */
  readonly text: string;
  readonly ms: number;
}
