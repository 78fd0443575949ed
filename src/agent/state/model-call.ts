import type { Purpose } from "../../model/completer.ts";
import type { BudgetReservation } from "./budget.ts";
import type { Run } from "./run.ts";

/** A ticket holds the position of a model call at its provider's gate. */
export interface Ticket {
  readonly provider: string;
  readonly id: string;
  /** The gate has granted it and need not be asked again. */
  readonly booked: boolean;
}

/** The id names a call for its provider's gate. */
export const ticketId = (session: string, thread: string, call: string): string =>
  `${session}:${thread}:${call}`;

/** A model call is stored from the intent to make it until its outcome, whoever makes it. */
export interface ModelCall {
  readonly purpose: Purpose;
  readonly target: { readonly provider: string; readonly model: string };
  /** Attempts count from 1. */
  readonly attempt: number;
  /** The request has this many estimated tokens. */
  readonly input: number;
  /** What is reserved in every account that pays for the call. */
  readonly reservation: BudgetReservation;
  readonly ticket: Ticket;
  readonly startedAt: number;
}

/** The model call that a run is making; null if it makes none. */
export const modelCallOf = (run: Run | null): ModelCall | null =>
  run?.phase.at === "thinking" || run?.phase.at === "preparing" ? run.phase.call : null;

/** The run's model attempt or prepared work waits for this ticket; null if it waits for none. */
export const awaitedTicketOf = (run: Run | null): Ticket | null =>
  run?.phase.at === "waiting" || run?.phase.at === "preparing" ? run.phase.ticket : null;

/** An attempt is named within its session; a repair turn is not counted, so its number is separate. */
export const attemptId = ({ id, turn, repair, counters }: Run, attempt: number): string =>
  `${id}.${turn}${repair ? `r${counters.repairs}` : ""}.${attempt}`;
