/** The place of a model call at its provider's gate (MO-29). */
export interface GatePlace {
  readonly provider: string;
  readonly id: string;
  /** It is the call's: the gate need not be asked again. */
  readonly booked: boolean;
}

/** Names a call for its provider's gate. */
export const placeId = (session: string, thread: string, call: string): string =>
  `${session}:${thread}:${call}`;
