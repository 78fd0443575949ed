/** How far an approval reaches, and until when, in words. */

export type Reach = "once" | "session" | "agent";

interface ReachWords {
  readonly id: Reach;
  readonly label: string;
  /** For whom and until when it holds. */
  readonly detail: string;
}

const takenBack = "until it is taken back";

export const reachWords: readonly ReachWords[] = [
  { id: "once", label: "Once", detail: "For this call only" },
  { id: "session", label: "In this session", detail: `For all agents in it, ${takenBack}` },
  {
    id: "agent",
    label: "In every session with this agent",
    detail: `Other people’s too, for 30 days or ${takenBack}`,
  },
];

/** Says what a choice allows from now on, so that the pattern fits behind it. */
export const describeLasting = (reach: Exclude<Reach, "once">): string =>
  reach === "session"
    ? `From now on allowed without asking in this session, for all agents in it, ${takenBack}`
    : `From now on allowed without asking in every session with this agent, other people’s too, for 30 days or ${takenBack}`;
