export interface GraphTask {
  readonly id: string;
  readonly agent: string;
  readonly message: string;
  readonly context: string;
  readonly depends_on: readonly string[];
  /** Its failure cancels whatever depends on it. */
  readonly blocking: boolean;
  readonly timeout_seconds?: number | undefined;
  /** `{{id.output}}` in message and context stands for that task's output. */
  readonly interpolate: boolean;
}

export type GraphState = "pending" | "running" | "success" | "failed" | "cancelled" | "timeout";

export type GraphStates = Readonly<Record<string, GraphState>>;

/** What to do now; `done` = nothing is running or will start. */
export interface GraphStep {
  readonly start: readonly string[];
  readonly cancel: readonly string[];
  readonly done: boolean;
}

/** What a settled task came to. */
export interface GraphOutcome {
  readonly state: GraphState;
  /** Who did it in the end, if anybody began it. */
  readonly agent?: string;
  /** Output of a success, else the reason. */
  readonly text: string;
  readonly ms: number;
}
