import type { BudgetScope, LimitKind } from "./budget.ts";

/** A notice is given once, to watchers or to the model: the lists `said` of a run and of a session name those given. */
export type Notice =
  /** The run's turns run out, or it reached the checkpoint at this place of the agent's list. */
  | "turns_run_out"
  | `checkpoint ${number}`
  /** A limit is near or was reached. */
  | `near ${BudgetScope} ${LimitKind}`
  | `reached ${BudgetScope} ${LimitKind}`
  /** The server may have cut the run's input. */
  | "input_truncated"
  /** The model's window is small, its price is unknown, or it does not take a parameter. */
  | "small_window"
  | `unpriced ${string}`
  | `dropped ${string}`;
