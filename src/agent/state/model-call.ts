import type { Purpose } from "../../model/completer.ts";
import type { BudgetReservation } from "./budget.ts";
import type { Run } from "./run.ts";

/** Position of a model call at its provider's gate. */
export interface Ticket {
  readonly provider: string;
  readonly id: string;
  /** Whether the gate has granted the ticket and need not be asked again. */
  readonly booked: boolean;
}

/** Returns the id of a call for its provider's gate. */
export const ticketId = (session: string, thread: string, call: string): string =>
  `${session}:${thread}:${call}`;

/** Model call, stored from the intent to make it until its outcome, whatever makes it. */
export interface ModelCall {
  readonly purpose: Purpose;
  readonly target: { readonly provider: string; readonly model: string };
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Estimated tokens of the request. */
  readonly input: number;
  /** What is reserved in every account that pays for the call. */
  readonly reservation: BudgetReservation;
  readonly ticket: Ticket;
  readonly startedAt: number;
}

/** Returns the model call that a run is making; null if it makes none. */
export const modelCallOf = (run: Run | null): ModelCall | null =>
  run?.phase.at === "thinking" || run?.phase.at === "preparing" ? run.phase.call : null;

/** Returns the ticket that the run's model attempt or prepared work waits for; null if it waits for none. */
export const awaitedTicketOf = (run: Run | null): Ticket | null =>
  run?.phase.at === "waiting" || run?.phase.at === "preparing" ? run.phase.ticket : null;

/** Names an attempt within its session; a repair turn is not counted, so its number is separate. */
export const attemptId = ({ id, turn, repair, counters }: Run, attempt: number): string =>
  `${id}.${turn}${repair ? `r${counters.repairs}` : ""}.${attempt}`;
