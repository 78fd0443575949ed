import * as z from "zod";
import { createThreadJudge } from "../agent/calls/grants.ts";
import type { GrantsUpdate } from "../agent/calls/grants.ts";
import type { Agent } from "../agent/definition/agent.ts";
import type { Ask } from "../agent/state/ask.ts";
import type { CallPlan } from "../agent/state/call.ts";
import type { SessionEvent } from "../agent/state/events.ts";
import type { Session } from "../agent/state/session.ts";
import type { Json } from "../chat/message.ts";
import { digestJson } from "../tools/canonical.ts";
import type { EventText } from "./event-lines.ts";
import { refuseField } from "./problems.ts";

/** Describes decisions about a session's calls: past ones for the tenant's audit, and how its rules would decide. */

/** Decision about a call, a plan or a budget, under the number and the time of its event. */
export interface Decision {
  readonly seq: number;
  readonly at: number;
  readonly thread: string;
  readonly agent: string;
  readonly run: string | null;
  readonly call: string | null;
  readonly tool: string | null;
  /** Result of the permissions; a call that a person approved is `approved` when it starts. */
  readonly verdict: "allow" | "approved" | "ask" | "deny" | null;
  /** Rule, grant, preset or budget that decided. */
  readonly rule: string | null;
  /** Ask with its answer, who gave it, and how far it holds; `clock` answers an ask that expires. */
  readonly ask: string | null;
  readonly answer: Json;
  readonly who: string | null;
  readonly remember: Json;
  /** SHA-256 of the arguments as canonical JSON in hexadecimal, without secrets; null if there are none. */
  readonly input_sha256: string | null;
  /** Action outside sessions, like `revoke_key`, and its object; null for decisions in sessions. */
  readonly action: string | null;
  readonly subject: string | null;
}

type EventData<Type extends SessionEvent["type"]> = Extract<SessionEvent, { type: Type }>["data"];
type AskReader = (id: string) => Ask | null;
type Outcome = Omit<Decision, "seq" | "at" | "thread" | "agent" | "run" | "call">;

export const noOutcome: Outcome = {
  tool: null,
  verdict: null,
  rule: null,
  ask: null,
  answer: null,
  who: null,
  remember: null,
  input_sha256: null,
  action: null,
  subject: null,
};

/** Verdicts of permissions, since an event holds one as text. */
const verdicts: readonly string[] = ["allow", "approved", "ask", "deny"] satisfies Decision["verdict"][];
const isVerdict = (text: string): text is NonNullable<Decision["verdict"]> => verdicts.includes(text);

interface JudgedCall {
  readonly tool: string;
  readonly input?: Json;
  readonly input_sha256?: string;
  readonly permission?: { readonly verdict: string; readonly by: string };
}

/** Returns whether only the preset allows a call: then there is no decision, and its event says so. */
const isAllowedByPreset = ({ verdict, by }: { readonly verdict: string; readonly by: string }): boolean =>
  verdict === "allow" && by.startsWith("preset ");

const verdictOn = ({ tool, input = null, input_sha256, permission }: JudgedCall): Outcome | null =>
  permission === undefined || isAllowedByPreset(permission) || !isVerdict(permission.verdict)
    ? null
    : {
        ...noOutcome,
        tool,
        verdict: permission.verdict,
        rule: permission.by,
        input_sha256: input_sha256 ?? digestJson(input),
      };

/** Returns what an ask is about; null if it is no request for permission. */
const subjectOf = (ask: Ask | null): Outcome | null => {
  if (ask?.authorization !== undefined) {
    const { server, login } = ask.authorization;
    return { ...noOutcome, rule: `${login === true ? "login" : "address"} ${server}`, ask: ask.id };
  }
  if (ask?.approval !== undefined) {
    const { tool, input, rule } = ask.approval;
    return { ...noOutcome, tool, rule, ask: ask.id, input_sha256: digestJson(input) };
  }
  return ask?.budget === undefined
    ? null
    : { ...noOutcome, rule: `budget ${ask.budget.scope} ${ask.budget.kind}`, ask: ask.id };
};

const rememberedBy = (ask: Ask | null): Json => {
  const body = ask?.resolution?.body;
  return typeof body === "object" && body !== null && "remember" in body ? (body["remember"] ?? null) : null;
};

const answerTo = (ask: Ask | null, answer: Json, who: string): Outcome | null => {
  const subject = subjectOf(ask);
  return subject && { ...subject, answer, who, remember: rememberedBy(ask) };
};

const readers: {
  readonly [Type in SessionEvent["type"]]?: (data: EventData<Type>, askOf: AskReader) => Outcome | null;
} = {
  tool_call_start: verdictOn,
  tool_call_end: (data) => (data.permission?.verdict === "deny" ? verdictOn(data) : null),
  ask_user: ({ ask: { id } }, askOf) => {
    const subject = subjectOf(askOf(id));
    return subject && { ...subject, verdict: "ask" };
  },
  ask_resolved: ({ ask, decision, by }, askOf) => answerTo(askOf(ask), decision, by),
  ask_expired: ({ ask, applied }, askOf) => answerTo(askOf(ask), applied, "clock"),
};

const readerOf = (type: string): ((data: never, askOf: AskReader) => Outcome | null) | undefined =>
  Object.hasOwn(readers, type) ? readers[type as keyof typeof readers] : undefined;

/** Returns whether events of this type may hold a decision. */
export const mayDecide = (type: string): boolean => readerOf(type) !== undefined;

/** Returns whether an event may hold a decision: most calls are allowed by the preset alone. */
export const hasDecision = ({ type, data }: SessionEvent): boolean => {
  if (type === "tool_call_start") return !isAllowedByPreset(data.permission);
  if (type === "tool_call_end") return data.permission?.verdict === "deny";
  return mayDecide(type);
};

/** Fields of an event that say where it happened. */
interface EventPlace {
  readonly thread: string;
  readonly agent: { readonly name: string };
  readonly run?: string;
  readonly call?: string;
}

/** Returns the decision in an event, or null; `askOf` reads an ask as it is now. */
export const decisionOf = (
  { type, scope, own, data }: EventText,
  { seq, at }: Pick<Decision, "seq" | "at">,
  askOf: AskReader,
): Decision | null => {
  const outcome = readerOf(type)?.(JSON.parse(data) as never, askOf) ?? null;
  if (outcome === null) return null;
  const { thread, agent, run = null, call = null } = JSON.parse(`{${scope}${own}}`) as EventPlace;
  return { seq, at, thread, agent: agent.name, run, call, ...outcome };
};

const decisionsPerRow = 500;

/** Splits decisions into lists that fit a row. */
export const chunkDecisions = (decisions: readonly Decision[]): readonly (readonly Decision[])[] =>
  Array.from({ length: Math.ceil(decisions.length / decisionsPerRow) }, (_, at) =>
    decisions.slice(at * decisionsPerRow, (at + 1) * decisionsPerRow),
  );

/** Explains what rules and grants decide about a call, which is not run. */

export const explainedCallSchema = z.strictObject({
  agent: z.string().max(64),
  tool: z.string().max(128),
  input: z.json().default({}),
});

export type ExplainedCall = z.output<typeof explainedCallSchema>;

/** Describes a verdict as the API shows it; of a call with missing or wrong arguments there is none. */
export const describePlan = ({ verdict, by, reason, remember, refusal }: CallPlan): Json => {
  if (refusal !== undefined && by === "arguments")
    return refuseField("invalid_request", "/input", refusal.text.replace("invalid_arguments: ", ""));
  return {
    verdict: refusal === undefined ? verdict : "deny",
    by,
    ...(by.startsWith("rule ") ? { rule: by.slice("rule ".length) } : {}),
    ...(reason === undefined ? {} : { reason }),
    ...(verdict === "ask" && remember !== null ? { remember: { ...remember } } : {}),
    ...(refusal === undefined ? {} : { error: refusal.text }),
  };
};

/** Judges a call of the newest thread in which the agent works, with the grants that hold there. */
export const explainCall = (
  state: Session,
  agentOf: (thread: string, tool: string) => Agent,
  { agents, revoked }: GrantsUpdate,
  { agent: name, tool, input }: ExplainedCall,
  now: number,
): Json => {
  const threads = Object.values(state.threads);
  const thread = threads.findLast(({ agent }) => agent === name);
  if (thread === undefined) {
    const known = [...new Set(threads.map(({ agent }) => agent))].join(", ");
    return refuseField("unknown_agent", "/agent", `Agents at work in this session: ${known}.`);
  }
  const session = { ...state, grants: state.grants.filter(({ id }) => !revoked.includes(id)) };
  const judge = createThreadJudge(session, thread.id, agentOf(thread.id, tool), { grants: agents, now });
  return describePlan(judge({ name: tool, args: JSON.stringify(input) }));
};
