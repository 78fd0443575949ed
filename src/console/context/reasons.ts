import { countOf, formatShare } from "../parts/format.ts";
import type { ContextRow } from "./view.ts";

/** Says in plain words why an effect changed what the model saw, and how. */

/** Who changed something: the kind of an effect, and the code of its reason; null where the runtime did. */
export interface ChangeCause {
  readonly by: string | null;
  readonly reason: string | null;
}

/** Effects that act from the share of the window that the agent's description tells. */
const shrinking: ReadonlySet<string | null> = new Set(["compact", "sliding_window"]);

/** Stages that an effect reaches because the context fills. */
const fillingStages: ReadonlySet<string | null> = new Set([
  "mask",
  "trim",
  "window",
  "full",
  "partial",
  "note",
]);

const reasonWords: Readonly<Record<string, string>> = {
  hard_clear: "nothing gentler made the request fit",
  overflow: "the model refused the request as too long",
  api: "somebody asked for it",
  guardrail: "the answer did not pass its check",
  rollback: "the run was taken back",
  rewind: "the conversation went back to an earlier message",
  localize: "these files may belong to the task",
};

/** The phase of an effect says nothing to people; what the effect looks at does. */
const effectWords: Readonly<Record<string, string>> = {
  trim_tool_results: "newer results came",
  offload: "the context was filling up",
  loop_detect: "the same calls were made again and again",
  stall_detect: "the run went round in circles",
  progress: "a note on the progress was due",
  reflection: "calls failed one after the other",
};

/** Says why; null if the code says nothing to people. The share is where the agent's context is made smaller. */
export const describeReason = ({ by, reason }: ChangeCause, shrinksAt: number | null): string | null => {
  if (fillingStages.has(reason))
    return shrinksAt !== null && shrinking.has(by)
      ? `the context was over ${formatShare(shrinksAt)} full`
      : "the context was filling up";
  return reasonWords[reason ?? ""] ?? effectWords[by ?? ""] ?? null;
};

/** Says why messages were left out: an effect that makes room begins with the oldest. */
export const describeRetirement = (cause: ChangeCause, shrinksAt: number | null): string | null => {
  const why = describeReason(cause, shrinksAt);
  return why !== null && fillingStages.has(cause.reason) ? `${why}, the oldest first` : why;
};

/** What the model got in place of a whole text. */
const overlayWords = ({ by, reason }: ChangeCause): string => {
  if (reason === "mask") return "one line";
  if (by === "trim_tool_results" || by === "sliding_window") return "only the beginning";
  if (by === "compact") return "only the beginning and the end";
  return by === "offload" ? "one line, with which it can read the whole text again" : "another text";
};

const because = (why: string | null, begin = ", because"): string => (why === null ? "" : `${begin} ${why}`);

/** Says of an opened row what was done to it, and why. */
export const describeRow = (row: ContextRow, shrinksAt: number | null): string => {
  const why = describeReason(row, shrinksAt);
  switch (row.state) {
    case "overlaid":
      return `The model got ${overlayWords(row)}${because(why)}. The whole text stays in the session.`;
    case "retired": {
      const [subject, stay] = row.messages.length === 1 ? ["It is", "It stays"] : ["They are", "They stay"];
      return `${subject} no longer sent${because(describeRetirement(row, shrinksAt))}. ${stay} in the session.`;
    }
    case "summary": {
      const [count, are] =
        row.stands === 0
          ? ["older messages", "are"]
          : [countOf(row.stands, "message"), row.stands === 1 ? "is" : "are"];
      return `It stands for ${count}, which ${are} no longer sent${because(why, " because")}.`;
    }
    case "note":
      return `A note to the model${because(why)}.`;
    case "full":
      return "It was sent as it is.";
  }
};

/** Begins a sentence with a capital. */
export const startSentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
