/**
 * Defines a tool's requests to its session, which the commit that starts the call carries out, since they need
 * nothing outside.
 */

/** Task for a called agent. */
export interface ChildTask {
  /** Agent as written; "auto" = the best match for the task; null = a nameless agent. */
  readonly agent: string | null;
  readonly task: string;
  readonly context: string;
  readonly task_id?: string | undefined;
  readonly async?: boolean | undefined;
  readonly mode?: "blocking" | "interactive" | undefined;
  readonly persistent?: boolean | undefined;
  readonly provider?: string | undefined;
  readonly timeout_seconds?: number | undefined;
  readonly writable_paths?: readonly string[] | undefined;
  /** Problem of the task as written: it is not started, and its item states the problem. */
  readonly invalid?: string | undefined;
  /** System prompt of a nameless agent. */
  readonly system_prompt?: string | undefined;
  readonly max_turns?: number | undefined;
}

/** Called agent's report about its own work. */
export interface WorkReport {
  readonly status: "completed" | "failed";
  readonly summary: string;
  readonly files_modified?: readonly string[] | undefined;
  readonly tests_run?: readonly string[] | undefined;
  readonly caveats?: readonly string[] | undefined;
}

/** Children to start, and the call's result when they have ended. */
export interface StartChildren {
  readonly tasks: readonly ChildTask[];
  /** Whether one task that fails or cannot start ends the others. */
  readonly on_error: "cancel" | "collect";
  /** Result of the call: the only child's result text, or a JSON array of items. */
  readonly answer: "text" | "items";
}

export type SessionRequest =
  | ({ readonly do: "start_children" } & StartChildren)
  /** A task graph as the model wrote it. */
  | { readonly do: "dispatch_tasks"; readonly graph: unknown }
  | { readonly do: "list_agents"; readonly task: string | null }
  | { readonly do: "check_children"; readonly child: string | null }
  | { readonly do: "steer_child"; readonly child: string; readonly message: string }
  | { readonly do: "cancel_child"; readonly child: string; readonly reason: string | null }
  | {
      readonly do: "answer_child";
      readonly child: string;
      readonly question: string;
      readonly answer: string;
    }
  | { readonly do: "complete"; readonly completion: WorkReport }
  | {
      readonly do: "hand_over";
      readonly agent: string;
      readonly reason: string;
      readonly context: string;
    }
  | { readonly do: "request_input"; readonly question: string; readonly options: readonly string[] };
