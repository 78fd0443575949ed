import recorded from "./examples.json" with { type: "json" };

/** Examples that tests recorded at the wire: one of each answer, event, frame and error. */

export interface Examples {
  /** Request bodies by the id of their route. */
  readonly requests: Readonly<Record<string, unknown>>;
  /** Answers by route and status: `create 201`. */
  readonly answers: Readonly<Record<string, unknown>>;
  readonly events: Readonly<Record<string, unknown>>;
  /** Frames by sender and type: `client hello`. */
  readonly frames: Readonly<Record<string, unknown>>;
  /** `bye` frames by the code that they announce. */
  readonly closes: Readonly<Record<string, unknown>>;
  readonly problems: Readonly<Record<string, unknown>>;
}

export const examples: Examples = recorded;
