import recorded from "./examples.json" with { type: "json" };

/** This file holds what tests recorded at the wire: one example of each answer, event, frame and error. */

export interface Examples {
  /** Holds request bodies by the id of their route. */
  readonly requests: Readonly<Record<string, unknown>>;
  /** Holds answers by route and status: `create 201`. */
  readonly answers: Readonly<Record<string, unknown>>;
  readonly events: Readonly<Record<string, unknown>>;
  /** Holds frames by who sends them and type: `client hello`. */
  readonly frames: Readonly<Record<string, unknown>>;
  /** Holds the `bye` frames by the code that they announce. */
  readonly closes: Readonly<Record<string, unknown>>;
  readonly problems: Readonly<Record<string, unknown>>;
}

export const examples: Examples = recorded;
