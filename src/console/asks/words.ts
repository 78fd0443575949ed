import type { Json } from "../../chat/message.ts";
import { describeCall } from "../calls/verbs.ts";
import { escapeUnseen } from "../parts/escape.ts";
import type { Subject } from "./subject.ts";

/** Says what an approval is about, and who wants it. */

export interface ProposalWords {
  /** What the agent wants to do: "run this", "write". */
  readonly verb: string;
  /** What it would be done to; empty where the verb says all. */
  readonly object: string;
  /** The object is prose, not code. */
  readonly isProse: boolean;
}

const verbs = {
  command: "run this",
  patch: "change these files",
  plan: "go by this plan",
} as const;

/** A tool of a server has that server's name in front. */
const nameTool = (tool: string): string => {
  const [, server, name] = /^(.+?)__(.+)$/s.exec(tool) ?? [];
  return name === undefined ? tool : `${name} of ${server}`;
};

const describeValues = (tool: string, input: Json): ProposalWords => {
  const call = { tool, input, state: "planned", outcome: null } as const;
  const { verb, isName, subject, isProse } = describeCall(call, "infinitive");
  if (isName) return { verb: "use", object: escapeUnseen(nameTool(tool)), isProse: false };
  return { verb, object: subject, isProse };
};

/** Says what an agent wants to do, so that it fits behind "May guide". */
export const describeProposal = (subject: Subject, tool: string, input: Json): ProposalWords => {
  if (subject.kind === "values") return describeValues(tool, input);
  if (subject.kind !== "file") return { verb: verbs[subject.kind], object: "", isProse: false };
  const verb = subject.before === null ? "write" : "change";
  return { verb, object: escapeUnseen(subject.path), isProse: false };
};

/** Says why a person is asked: the reason that a rule gives, else whose rule it is. */
export const describeRule = (rule: string, reason: string | undefined): string => {
  if (reason !== undefined) return `Rule: ${reason}`;
  const preset = /^preset (.+)$/s.exec(rule)?.[1];
  if (preset !== undefined) return `The team’s preset “${preset}” lets a person decide about this.`;
  const found = /^rule ask (?:act )?\S+(?: (?<match>.+))?$/s.exec(rule);
  if (found === null) return `Rule: ${rule}`;
  const match = found.groups?.["match"];
  return `A rule of the team lets a person decide about ${match === undefined ? "this" : `“${match}”`}.`;
};
