import type { CallEntry } from "../../client/transcript.ts";
import type { Json } from "../../chat/message.ts";
import { escapeInLine } from "../parts/escape.ts";
import { formatBytes } from "../parts/format.ts";
import type { IconName } from "../parts/icon-paths.ts";
import { fieldsOf, listOf, numberOf, outputText, textOf } from "../parts/json.ts";
import { exitOf, verbsOf, wholeWorkspace } from "./tool-verbs.ts";

/** Says in words what a call does or did, and what came of it. */

export interface CallWords {
  readonly icon: IconName;
  readonly verb: string;
  /** True if the verb is the name of an unknown tool. */
  readonly isName: boolean;
  readonly subject: string;
  readonly isProse: boolean;
}

/** The first text among the arguments, or else the first number. */
const firstText = (input: Json): string => {
  const values = Object.values(fieldsOf(input));
  return (
    values.map(textOf).find((text) => text !== null) ??
    String(values.map(numberOf).find((number) => number !== null) ?? "")
  );
};

type DescribedCall = Pick<CallEntry, "tool" | "input" | "state" | "outcome"> &
  Partial<Pick<CallEntry, "started_at">>;

/** A call that was stopped before it began did nothing. */
const didNothing = ({ outcome, started_at: from }: DescribedCall): boolean =>
  outcome === "denied" || outcome === "skipped" || (outcome === "cancelled" && from === null);

/** Says what a call does, did, or would have done. */
export const describeCall = (
  call: DescribedCall,
  tense?: "infinitive" | "past" | "present" | "denied",
): CallWords => {
  const verbs = verbsOf(call.tool);
  if (verbs === undefined)
    return {
      icon: "tool",
      verb: escapeInLine(call.tool),
      isName: true,
      subject: escapeInLine(firstText(call.input)),
      isProse: false,
    };
  const own = call.state === "done" ? (didNothing(call) ? "denied" : "past") : "present";
  const subject =
    verbs.subject === undefined ? firstText(call.input) : (verbs.subject(fieldsOf(call.input)) ?? "");
  return {
    icon: verbs.icon,
    verb: verbs[tense ?? own],
    isName: false,
    // The lines of a script must not read as one command.
    subject: escapeInLine(subject.trim().replace(/\n+/g, " ⏎ ")),
    isProse: verbs.prose || subject === wholeWorkspace,
  };
};

const outcomeWords: Readonly<Record<string, string>> = {
  denied: "denied",
  cancelled: "stopped",
  skipped: "not needed",
  unknown: "nobody knows how it ended",
  error: "failed",
};

/** A call that nothing forbade and nobody denied was held back by a guard. */
const deniedWords = ({ asks, permission }: CallEntry): string => {
  const ask = asks.at(-1);
  if (ask?.applied === "deny") return "denied, since nobody decided in time";
  if (ask?.resolution?.decision === "deny") return "denied by you";
  return permission === null || permission.verdict === "deny"
    ? "denied by a rule"
    : "held back by the team’s settings";
};

const mediaWords = (output: Json): string | null => {
  const media = listOf(output)
    .map(fieldsOf)
    .find(({ type }) => type === "image" || type === "document");
  if (media === undefined) return null;
  const bytes = numberOf(media["bytes"]);
  const kind = textOf(media["type"]) ?? "";
  return bytes === null ? kind : `${formatBytes(bytes)} ${kind}`;
};

const successOf = (call: CallEntry): string => {
  const verbs = verbsOf(call.tool);
  const result = mediaWords(call.output) ?? verbs?.result?.(outputText(call.output), call) ?? "";
  const parts = call.cached ? [result, "from cache"] : [result];
  return escapeInLine(parts.filter((each) => each !== "").join(" · "));
};

/** Says in a few words what came of a call; empty if there is nothing to say. */
export const resultOf = (call: CallEntry): string => {
  if (call.state !== "done") return escapeInLine(call.note ?? "");
  if (call.outcome === "denied") return deniedWords(call);
  if (call.outcome === "ok") return successOf(call);
  const exit = call.tool.startsWith("exec_") ? exitOf("", call) : null;
  return exit ?? outcomeWords[call.outcome ?? ""] ?? "";
};

/** A call failed if it was to do something and could not; what people or rules refused did not fail. */
export const hasFailed = ({ outcome, children }: Pick<CallEntry, "outcome" | "children">): boolean =>
  children.length === 0 && (outcome === "error" || outcome === "unknown");
