import * as z from "zod";
import { recordSignIn } from "../../agent/hooks/servers.ts";
import { advanceSession } from "../../agent/loop/advance.ts";
import type { Ask } from "../../agent/state/ask.ts";
import type { CallPlan } from "../../agent/state/call.ts";
import { interruptRule } from "../../agent/state/call.ts";
import type { Grant, Session } from "../../agent/state/session.ts";
import type { Draft, DraftCall } from "../../agent/transaction/draft.ts";
import { threadOf, selectThread } from "../../agent/transaction/draft.ts";
import type { AnswerAction } from "../../agent/turn/ask-answers.ts";
import { approveCall, answerAsk, askedCallOf, isPlanAsk, rejudgeCall } from "../../agent/turn/ask-answers.ts";
import { ownEntry } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { canonicalJson } from "../../tools/canonical.ts";
import type { QuestionSpec } from "../../tools/define-tool.ts";
import type { CommandAnswer, WriteContext } from "../define-operation.ts";
import { refuseAnswer, acceptedAnswer, wellFormedText, defineWrite } from "../define-operation.ts";
import { refuse, refuseField, refuseScope } from "../problems.ts";
import { answerScopeOf } from "../rpc.ts";
import { resolveRaise, answerRaises } from "./budget.ts";
import { jsonSchema } from "./send.ts";
import type { LoginSettlement } from "../rpc.ts";

const answerSchema = z.strictObject({
  ask: z.string(),
  decision: z.enum(["approve", "deny", "edit", "answer", "result", "cancel"]),
  text: wellFormedText(1_048_576).optional(),
  selections: z.array(wellFormedText(4_096)).max(64).optional(),
  input: jsonSchema.optional(),
  output: jsonSchema.optional(),
  is_error: z.boolean().optional(),
  limit: z
    .number()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("New limit of a budget, in the ask's unit."),
  message: wellFormedText(4_096).optional(),
  remember: z
    .enum(["once", "session", "agent"])
    .optional()
    .describe("How far an approval holds: for this call, or for what the ask's approval.remember names."),
});

type GivenAnswer = Omit<z.output<typeof answerSchema>, "ask">;

const checkCount = ({ multi_select, max_selections }: QuestionSpec, said: readonly string[]): void => {
  const most = multi_select ? (max_selections ?? 64) : 1;
  if (said.length > most) refuseAnswer("/selections", `at most ${most} may be chosen`);
  if (new Set(said).size < said.length) refuseAnswer("/selections", "name each choice once");
};

/** Checks the answer to a question and returns its text if it fits. */
const checkSelections = (
  question: QuestionSpec,
  { text, selections = [] }: GivenAnswer,
): readonly string[] => {
  const { options, strict } = question;
  const said = text === undefined ? selections : [...selections, text];
  if (said.every((each) => !/\S/.test(each))) refuseAnswer("/text", "give a text or selections");
  const listed = options.join(", ");
  if (options.length > 0 && !selections.every((choice) => options.includes(choice)))
    refuseAnswer("/selections", `choose among: ${listed}`);
  if (strict && text !== undefined && !options.includes(text))
    refuseAnswer("/text", `only these answers are allowed: ${listed}`);
  checkCount(question, said);
  return said;
};

const resolveQuestion = ({ question }: Ask, given: GivenAnswer): AnswerAction => {
  if (given.decision !== "answer" || question === undefined)
    return refuseAnswer("/decision", "a question takes answer or cancel");
  const said = checkSelections(question, given);
  return {
    do: "settle",
    status: "ok",
    text: question.multi_select ? JSON.stringify(said) : said.join("\n"),
  };
};

const resolveEdit = (draft: Draft, ask: Ask, call: DraftCall, input: Json | undefined): AnswerAction => {
  if (input === undefined) return refuseAnswer("/input", "give the changed arguments");
  const args = JSON.stringify(input);
  const plan = rejudgeCall(selectThread(draft, ask.thread), { ...call, edited: args, moved: null });
  if (plan.refusal !== undefined) return refuseAnswer("/input", plan.refusal.problem ?? plan.refusal.text);
  return { do: "start", call, changed: { edited: args, moved: null, plan } };
};

const longestPlan = 100_000;

/** Returns the plan that a person puts in the place of the one that they were shown. */
const editedPlanOf = ({ input }: GivenAnswer): string => {
  const plan = typeof input === "object" && input !== null && "plan" in input ? input["plan"] : null;
  if (typeof plan !== "string" || !/\S/.test(plan))
    return refuseAnswer("/input/plan", "give the changed plan");
  return plan.length > longestPlan
    ? refuseAnswer("/input/plan", `longer than ${longestPlan} characters; shorten it`)
    : plan;
};

const resolvePlan = (given: GivenAnswer): AnswerAction => {
  const { decision, message = "", remember = "once" } = given;
  if (remember !== "once") return refuseAnswer("/remember", "a plan is approved once; leave remember out");
  if (decision === "deny")
    return { do: "plan", decision: { approved: false, message: /\S/.test(message) ? message : null } };
  if (decision === "edit") return { do: "plan", decision: { approved: true, text: editedPlanOf(given) } };
  if (decision !== "approve")
    return refuseAnswer("/decision", "an approval takes approve, deny, edit or cancel");
  if (given.input !== undefined)
    return refuseAnswer("/input", "approve takes the plan as it is; write decision edit to change it");
  return { do: "plan", decision: { approved: true, text: null } };
};

const resolveApproval = (draft: Draft, ask: Ask, call: DraftCall, given: GivenAnswer): AnswerAction => {
  const { decision, message = "the person did not approve this call" } = given;
  if (decision === "deny") return { do: "settle", status: "denied", text: `denied: ${message}` };
  if (decision === "edit") return resolveEdit(draft, ask, call, given.input);
  if (decision === "approve" && given.input !== undefined)
    return refuseAnswer("/input", "approve runs the call as it is; write decision edit to change it");
  if (decision === "approve") return approveCall(selectThread(draft, ask.thread), call);
  return refuseAnswer("/decision", "an approval takes approve, deny, edit or cancel");
};

/** Most bytes of a client tool's output. */
const longestOutput = 1_048_576;

const resolveClientResult = (given: GivenAnswer): AnswerAction => {
  if (given.decision !== "result") return refuseAnswer("/decision", "a client tool takes result or cancel");
  if (given.output === undefined) return refuseAnswer("/output", "give the tool's output");
  const text = typeof given.output === "string" ? given.output : JSON.stringify(given.output);
  if (utf8Length(text) > longestOutput) return refuseAnswer("/output", "longer than 1 MiB; send less");
  return { do: "settle", status: given.is_error === true ? "error" : "ok", text };
};

/** Resolves an authorization: the server learns of the login by itself; the answer says whether the person agreed. */
const resolveAuthorization = ({ decision }: GivenAnswer): AnswerAction =>
  decision === "approve" || decision === "deny"
    ? { do: "settle", status: "ok", text: decision }
    : refuseAnswer("/decision", "an authorization takes approve, deny or cancel");

const resolveAnswer = (draft: Draft, ask: Ask, given: GivenAnswer): AnswerAction => {
  if (given.decision === "cancel") return { do: "default" };
  if (ask.kind === "question") return resolveQuestion(ask, given);
  if (ask.kind === "client_tool") return resolveClientResult(given);
  if (ask.kind === "authorization") return resolveAuthorization(given);
  if (ask.kind === "budget") return resolveRaise(ask, given);
  if (isPlanAsk(draft, ask)) return resolvePlan(given);
  const call = askedCallOf(draft, ask);
  return call === null
    ? refuse("ask_expired", "the call of this ask is over")
    : resolveApproval(draft, ask, call, given);
};

/** Fields that each decision takes beside it, by the kind of its ask. */
const decisionFields: Readonly<Record<string, readonly string[]>> = {
  "question answer": ["text", "selections"],
  "client_tool result": ["output", "is_error"],
  "budget approve": ["limit"],
  "budget answer": ["limit"],
  "approval approve": ["remember"],
  "approval deny": ["message"],
  "approval edit": ["input", "remember"],
};

/** Refuses fields that would be ignored, since their sender meant something by them. */
const refuseMisplaced = ({ kind }: Ask, { decision, ...given }: GivenAnswer): void => {
  const taken = decisionFields[`${kind} ${decision}`] ?? [];
  for (const [name, value] of Object.entries(given)) {
    const isDefault = name === "remember" && value === "once";
    if (value === undefined || isDefault || taken.includes(name)) continue;
    const others = taken.length === 0 ? "nothing" : taken.join(" or ");
    refuseAnswer(`/${name}`, `${decision} takes ${others} here; leave ${name} out`);
  }
};

/** Answers a repeat of the winning answer with 200 again; any other answer comes too late. */
const answerClosedAsk = (draft: Draft, ask: Ask, given: GivenAnswer): CommandAnswer => {
  const { status, resolution } = ask;
  if (status === "expired") return refuse("ask_expired", "the ask expired; its default was applied");
  if (resolution === undefined)
    return refuse(
      "ask_already_resolved",
      "nobody has to answer this any more: its run is over, or needs no answer",
    );
  if (canonicalJson(resolution.body) === canonicalJson(given)) return acceptedAnswer(draft, ask);
  const { decision, by } = resolution;
  return refuse("ask_already_resolved", `another answer came first: ${decision} by ${by}`);
};

type LastingGrant = Pick<Grant, "scope" | "tool" | "pattern">;

/** Returns the grant that an ask offered, or null if it offered none or the call was edited to something else. */
const offeredBy = ({ approval }: Ask, { remember: now }: CallPlan): CallPlan["remember"] => {
  const shown = approval?.remember ?? null;
  return shown !== null && now?.tool === shown.tool && now.pattern === shown.pattern ? shown : null;
};

/** Returns the lasting permission that an answer gives; null if it is for this call only. */
const lastingOf = (
  { principal }: WriteContext,
  ask: Ask,
  given: GivenAnswer,
  effect: AnswerAction,
): LastingGrant | null => {
  const { remember = "once" } = given;
  if (remember === "agent" && principal.session !== undefined)
    return refuseField(
      "scope_missing",
      "/remember",
      "a browser token decides for its own session alone: send session, or answer with a key",
    );
  if (effect.do !== "start" || remember === "once") return null;
  const offered = offeredBy(ask, effect.changed.plan ?? effect.call.plan);
  return offered === null ? null : { scope: remember, ...offered };
};

/** Answers the other open approvals that grants now cover. */
const settleCovered = ({ draft, principal }: WriteContext): void => {
  for (const other of Object.values(draft.state.asks)) {
    const waiting = askedCallOf(draft, other);
    // The repetition of an interrupted call needs its own answer, whatever grants allow.
    if (other.kind !== "approval" || waiting === null || waiting.plan.by === interruptRule) continue;
    const asking = selectThread(draft, other.thread);
    const { verdict, refusal } = rejudgeCall(asking, waiting);
    if (verdict !== "allow" || refusal !== undefined) continue;
    const effect = approveCall(asking, waiting);
    const answer = { decision: "approve", by: principal.by, body: { decision: "approve" } } as const;
    answerAsk(draft, other, answer, effect);
  }
};

/** Stores a lasting permission and settles the other open approvals that it covers. */
const rememberApproval = (context: WriteContext, ask: Ask, { scope, tool, pattern }: LastingGrant): void => {
  const { draft, principal } = context;
  const grant: Grant = {
    id: `grant_${draft.context.random()}`,
    scope,
    agent: threadOf(draft, ask.thread).agent,
    tool,
    pattern,
    by: principal.by,
    at: draft.context.now,
  };
  draft.state.grants = [...draft.state.grants, grant];
  settleCovered(context);
};

/** Finds the ask that an answer names, if its sender may answer asks of that kind. */
const findAsk = ({ draft, archive, principal }: WriteContext, id: string): Ask => {
  const ask =
    ownEntry(draft.state.asks, id) ?? archive.ask(id) ?? refuse("not_found", "This session has no such ask.");
  const scope = answerScopeOf(ask.kind);
  return principal.scopes.includes(scope) ? ask : refuseScope(scope);
};

const answerOpenAsk = (
  context: WriteContext,
  { ask: id, ...given }: z.output<typeof answerSchema>,
): CommandAnswer => {
  const { draft, principal } = context;
  const ask = findAsk(context, id);
  if (ask.status !== "open") return answerClosedAsk(draft, ask, given);
  if (ask.expires_at <= draft.context.now)
    return refuse("ask_expired", "the ask expired; its default was applied");
  const effect = resolveAnswer(draft, ask, given);
  refuseMisplaced(ask, given);
  const lasting = lastingOf(context, ask, given, effect);
  const answer = {
    decision: given.decision,
    by: principal.by,
    ...(lasting !== null && { remember: lasting.scope }),
    body: given as Json,
  };
  answerAsk(draft, ask, answer, effect);
  if (lasting !== null) rememberApproval(context, ask, lasting);
  if (effect.do === "raise") answerRaises(draft, principal.by);
  advanceSession(draft, "ask");
  return acceptedAnswer(draft, draft.asks.find((each) => each.id === id) ?? ask);
};

export const answerOperation = defineWrite({
  name: "answer",
  summary: "Answers an ask; the first valid answer wins.",
  scopes: ["asks:answer", "approvals:decide"],
  method: "POST",
  path: "/v1/sessions/:session/asks/:ask",
  params: answerSchema,
  frame: { body: "answer" },
  run: answerOpenAsk,
});

/** Answers a session's asks to sign in at a server, once a person has signed in there or refused to. */

/** Stands for whoever signed in, since the deployment does not know who it was. */
const signer = "login";

const loginAsks = ({ asks }: Pick<Session, "asks">, server: string): readonly Ask[] =>
  Object.values(asks).filter(
    ({ authorization }) => authorization?.login === true && authorization.server === server,
  );

/** Returns whether the session waits for a person to sign in at this server. */
export const awaitsLogin = (session: Pick<Session, "asks">, server: string): boolean =>
  loginAsks(session, server).length > 0;

/** Answers every open ask of the session to sign in at this server. */
export const settleLogins = (draft: Draft, { server, granted }: LoginSettlement): void => {
  const decision = granted ? "approve" : "deny";
  if (granted) recordSignIn(draft, server);
  for (const ask of loginAsks(draft.state, server))
    answerAsk(
      draft,
      ask,
      { decision, by: signer, body: { decision } },
      { do: "settle", status: "ok", text: decision },
    );
  advanceSession(draft, "ask");
};
