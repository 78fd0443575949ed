import type { Json } from "../../chat/message.ts";
import type { TranscriptAsk } from "../../client/transcript.ts";
import { escapeInLine } from "../parts/escape.ts";
import type { IconName } from "../parts/icon-paths.ts";
import { listOf, outputText, parseJson, textOf } from "../parts/json.ts";

/** What became of an ask, in one line. */

export interface ClosedWords {
  readonly icon: IconName;
  readonly good: boolean;
  /** Who did what: "You approved". */
  readonly who: string;
  /** What a person said beside it. */
  readonly said: string;
}

/** Who answered without a key of the team's own: who came back from a login or needs no key, the operator, and the clock. */
const keyless: ReadonlyMap<string, string> = new Map([
  ["login", "Somebody"],
  ["operator", "The operator"],
  ["clock", "The clock"],
  ["dev", "Somebody"],
]);

/** Names who answered, for the one at this page. */
export const nameOf = (by: string, own: string): string =>
  by === own ? "You" : (keyless.get(by) ?? by.replace(/^key[_:]/, "Key "));

/** The log does not repeat what a person said: the result that the model got has it. */
const answerText = (output: Json): string => {
  const text = outputText(output);
  const chosen = listOf(parseJson(text)).flatMap((each) => textOf(each) ?? []);
  return chosen.length > 0 ? chosen.join(", ") : text;
};

const reasonText = (output: Json): string => {
  const reason = /^denied: (.+)/s.exec(outputText(output))?.[1] ?? "";
  return reason === "" || reason === noReason ? "" : `“${reason}”`;
};

/** What the server says where a person gave no reason. */
const noReason = "the person did not approve this call";

const verbs: Readonly<Record<string, string>> = {
  approve: "approved",
  edit: "approved with changes",
  deny: "denied",
  answer: "answered",
  result: "answered",
  cancel: "let the default apply",
};

/** What a decision means for these kinds of asks. */
const verbsOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  budget: { approve: "allowed more", answer: "allowed more", deny: "stopped here" },
  authorization: { approve: "signed in" },
  client_tool: { cancel: "went on without it" },
};

/** What was done when nobody answered in time. */
const expiredVerbs: Readonly<Record<string, string>> = {
  approve: "Approved",
  deny: "Denied",
  fail: "Stopped",
  stop: "Stopped",
};

const reachWords = { session: " for this session", agent: " for every session with this agent" } as const;

const saidOf = ({ kind, resolution, authorization }: TranscriptAsk, output: Json): string => {
  if (kind === "question") return answerText(output);
  if (kind === "authorization") return authorization?.server ?? "";
  return resolution?.decision === "deny" ? reasonText(output) : "";
};

/** Tells whether what became of an ask says all that came of its call. */
export const isSaidByAnswer = ({ kind, resolution, applied }: TranscriptAsk): boolean =>
  kind === "question" || applied === "deny" || resolution?.decision === "deny";

/** Says what became of an ask; `own` is the key of this page, `output` what its call came to. */
export const describeClosed = (ask: TranscriptAsk, own: string, output: Json): ClosedWords => {
  const { status, resolution, kind } = ask;
  if (status === "expired") {
    const what = expiredVerbs[textOf(ask.applied) ?? ""] ?? "Went on";
    return { icon: "clock", good: false, who: `${what} by itself`, said: "nobody answered in time" };
  }
  if (status === "cancelled" || resolution === undefined)
    return { icon: "close", good: false, who: "Dropped", said: "before there was an answer" };
  const { decision, by, remember } = resolution;
  const verb = verbsOf[kind]?.[decision] ?? verbs[decision] ?? decision;
  const isNo = decision === "deny" || decision === "cancel";
  return {
    icon: isNo ? "close" : "check",
    good: !isNo,
    who: escapeInLine(`${nameOf(by, own)} ${verb}`) + (remember === undefined ? "" : reachWords[remember]),
    said: escapeInLine(saidOf(ask, output)),
  };
};
