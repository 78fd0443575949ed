import * as z from "zod";
import type { Json } from "../../chat/message.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { canonicalJson } from "../../tools/canonical.ts";
import { clockTicked } from "../advance.ts";
import { askAnswered } from "../asks.ts";
import type { AnswerEffect } from "../asks.ts";
import { agentOf, threadOf } from "../draft.ts";
import type { Draft } from "../draft.ts";
import type { Ask } from "../events.ts";
import { findCall } from "../outcomes.ts";
import { refuse } from "../problem.ts";
import type { Call, Grant } from "../state.ts";
import { ok, wellFormed, write } from "./command.ts";
import type { Answer, Command, WriteContext } from "./command.ts";
import { jsonSchema } from "./send.ts";

const answerSchema = z.strictObject({
  ask: z.string(),
  decision: z.enum(["approve", "deny", "edit", "answer", "result", "cancel"]),
  text: wellFormed(1_048_576).optional(),
  selections: z.array(wellFormed(4_096)).max(64).optional(),
  input: jsonSchema.optional(),
  output: jsonSchema.optional(),
  is_error: z.boolean().optional(),
  message: wellFormed(4_096).optional(),
  remember: z.enum(["once", "session", "agent"]).optional(),
});
type Given = z.output<typeof answerSchema>;

const invalid = (pointer: string, message: string): never =>
  refuse("answer_invalid", `${pointer}: ${message}`, {
    errors: [{ pointer, code: "answer_invalid", message }],
  });

const answeredQuestion = (ask: Ask, given: Given): AnswerEffect => {
  if (given.decision !== "answer") return invalid("/decision", "a question takes answer or cancel");
  const question = ask.question;
  const selections = given.selections ?? [];
  const options = question?.options ?? [];
  const said = given.text === undefined ? selections : [...selections, given.text];
  if (said.length === 0 || said.every((text) => !/\S/.test(text)))
    return invalid("/text", "give a text or selections");
  const unknown = selections.find((choice) => !options.includes(choice));
  if (unknown !== undefined && options.length > 0)
    return invalid("/selections", `choose among: ${options.join(", ")}`);
  if (question?.strict === true && given.text !== undefined && !options.includes(given.text))
    return invalid("/text", `only these answers are allowed: ${options.join(", ")}`);
  const most = question?.multi_select === true ? (question.max_selections ?? 64) : 1;
  if (said.length > most) return invalid("/selections", `at most ${most} may be chosen`);
  return {
    do: "settle",
    status: "ok",
    text: question?.multi_select === true ? JSON.stringify(said) : said.join("\n"),
  };
};

const answeredApproval = (draft: Draft, ask: Ask, call: Call, given: Given): AnswerEffect => {
  switch (given.decision) {
    case "deny":
      return {
        do: "settle",
        status: "denied",
        text: `denied: ${given.message ?? "the person did not approve this call"}`,
      };
    case "approve": {
      const plan = agentOf(draft, ask.thread).judge(
        call.call,
        draft.state.grants,
        threadOf(draft, ask.thread).depth,
      );
      if (plan.verdict === "deny")
        return { do: "settle", status: "denied", text: `denied: a rule forbids this call (${plan.by})` };
      return { do: "start", edited: null };
    }
    case "edit": {
      if (given.input === undefined) return invalid("/input", "give the changed arguments");
      const edited = JSON.stringify(given.input);
      const plan = agentOf(draft, ask.thread).judge(
        { name: call.call.name, args: edited },
        draft.state.grants,
        threadOf(draft, ask.thread).depth,
      );
      if (plan.refusal !== undefined) return invalid("/input", plan.refusal.text);
      return { do: "start", edited };
    }
    default:
      return invalid("/decision", "an approval takes approve, deny, edit or cancel");
  }
};

const longestOutput = 1_048_576;

const answeredClient = (given: Given): AnswerEffect => {
  if (given.decision !== "result") return invalid("/decision", "a client tool takes result or cancel");
  if (given.output === undefined) return invalid("/output", "give the tool's output");
  const text = typeof given.output === "string" ? given.output : JSON.stringify(given.output);
  if (utf8Length(text) > longestOutput) return invalid("/output", "longer than 1 MiB; send less");
  return { do: "settle", status: given.is_error === true ? "error" : "ok", text };
};

const effectOf = (draft: Draft, ask: Ask, given: Given): AnswerEffect => {
  if (given.decision === "cancel") return { do: "default" };
  if (ask.kind === "question") return answeredQuestion(ask, given);
  if (ask.kind === "client_tool") return answeredClient(given);
  const call = findCall(threadOf(draft, ask.thread).run, ask.call);
  return call === null
    ? refuse("ask_expired", "the call of this ask is over")
    : answeredApproval(draft, ask, call, given);
};

/** A repeat of the answer that won is 200 again, any other comes too late (SE-29). */
const closedAnswer = (ask: Ask, given: Given): Answer => {
  if (ask.status === "expired") return refuse("ask_expired", "the ask expired; its default was applied");
  const { ask: _, ...body } = given;
  if (ask.status === "resolved" && canonicalJson(ask.resolution?.body) === canonicalJson(body))
    return ok(ask as unknown as Json);
  return refuse("ask_already_resolved", "another answer came first");
};

/** A permission that stays, and the other open approvals it settles (TB-8, TB-9). */
const remembered = (context: WriteContext, ask: Ask, scope: "session" | "agent"): void => {
  const { draft, principal } = context;
  const thread = threadOf(draft, ask.thread);
  const call = findCall(thread.run, ask.call);
  if (call === null || call.plan.remember === null) return;
  const { tool, pattern } = call.plan.remember;
  const grant: Grant = {
    id: `grant_${draft.moment.random()}`,
    scope,
    agent: thread.agent,
    tool,
    pattern,
    by: principal.by,
    at: draft.moment.now,
  };
  draft.state = { ...draft.state, grants: [...draft.state.grants, grant] };
  for (const other of Object.values(draft.state.asks)) {
    const waiting = findCall(draft.state.threads[other.thread]?.run ?? null, other.call);
    if (other.kind !== "approval" || waiting === null) continue;
    const plan = agentOf(draft, other.thread).judge(
      waiting.call,
      draft.state.grants,
      threadOf(draft, other.thread).depth,
    );
    if (plan.verdict === "allow")
      askAnswered(
        draft,
        other,
        "approve",
        principal.by,
        { decision: "approve" },
        { do: "start", edited: null },
      );
  }
};

export const answer: Command = write(answerSchema, (context, given) => {
  const { draft, archive, principal } = context;
  const ask = draft.state.asks[given.ask] ?? archive.ask(given.ask);
  if (ask === null) return refuse("not_found", "no such ask");
  const approval = ask.kind === "approval" || ask.kind === "authorization" || ask.kind === "budget";
  if (!principal.scopes.includes(approval ? "approvals:decide" : "asks:answer"))
    return refuse("scope_missing", `this needs the scope ${approval ? "approvals:decide" : "asks:answer"}`);
  if (ask.status !== "open") return closedAnswer(ask, given);
  if (ask.expires_at <= draft.moment.now)
    return refuse("ask_expired", "the ask expired; its default was applied");
  const { ask: _, ...body } = given;
  const effect = effectOf(draft, ask, given);
  askAnswered(draft, ask, given.decision, principal.by, body as Json, effect);
  const scope = given.remember ?? "once";
  if (effect.do === "start" && scope !== "once") remembered(context, ask, scope);
  clockTicked(draft, "ask");
  return ok(draft.asks.find(({ id }) => id === ask.id) as unknown as Json);
});
