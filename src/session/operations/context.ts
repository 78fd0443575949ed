import * as z from "zod";
import { buildTurnRequest, createContextSnapshot } from "../../agent/context/request.ts";
import type { Agent, ModelTarget } from "../../agent/definition/agent.ts";
import { findNamedTarget } from "../../agent/definition/agent.ts";
import type { CallerConstraints } from "../../agent/state/child.ts";
import type { ContextSnapshot, LedgerRow } from "../../agent/state/records.ts";
import { buildView } from "../../chat/view.ts";
import type { ModelRequest } from "../../model/completer.ts";
import type { CommandAnswer, ReadContext } from "../define-operation.ts";
import type { CallWithChat, RecordedCall } from "../context-view.ts";
import { formatContextView, contextView } from "../context-view.ts";
import { defineRead, jsonAnswer, okAnswer } from "../define-operation.ts";
import { wholeNumberSchema } from "../paging.ts";
import { refuse, refuseField } from "../problems.ts";

const contextSchema = z.strictObject({
  run: z.string().max(64),
  turn: wholeNumberSchema(0, Number.MAX_SAFE_INTEGER),
  call: wholeNumberSchema(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("Which of the turn's model calls; omitted: the newest that is no repair."),
  format: z
    .enum(["json", "provider", "text"])
    .default("json")
    .describe("As fields, as the provider got it, or as a text for people."),
});

const callWithChatAt = ({ archive }: ReadContext, row: RecordedCall, saw: ContextSnapshot): CallWithChat => ({
  row,
  chat: archive.chatThen(row.thread, saw.edit, saw.pos),
});

const rebuildRequest = (
  { archive, state }: ReadContext,
  { row, chat }: CallWithChat,
  saw: ContextSnapshot,
  agent: Agent,
  target: ModelTarget,
): ModelRequest => {
  const first = state.threads[row.thread]?.firstInput ?? null;
  return buildTurnRequest({
    agent,
    target,
    depth: saw.depth,
    light: saw.light,
    hidden: saw.hidden,
    schema: saw.schema,
    previous: saw.previous,
    refusedBefore: saw.refused_before,
    messages: buildView(chat.shown, first).messages,
    input: saw.size,
    maxTokens: saw.max_tokens,
    media: (blob) => archive.media(blob),
    context: {
      session: state.id,
      agent: row.agent,
      thread: row.thread,
      run: row.run,
      turn: row.turn,
      call: 0,
      attempt: row.attempt,
      purpose: row.purpose,
    },
  });
};

/** Call of a turn with its place among all calls of the session. */
interface NumberedCall {
  readonly row: RecordedCall;
  readonly n: number;
}

const recordBooked = ({ usage, estimated, cost, ...row }: LedgerRow): RecordedCall => ({
  ...row,
  spent: { usage, estimated, cost },
});

/** Lists the call under way in a turn; the list is empty if there is none. */
const findCallInFlight = (
  { state, agentOf }: ReadContext,
  runId: string,
  turn: number,
): readonly NumberedCall[] => {
  const thread = Object.values(state.threads).find(({ run }) => run?.id === runId && run.turn === turn);
  if (thread?.run?.phase.at !== "thinking") return [];
  const { run, agent: name } = thread;
  const { phase } = thread.run;
  const agent = agentOf(name, phase.from.override, thread.child?.callerConstraints ?? null);
  const { attempt, purpose, target, startedAt } = phase.call;
  const row: RecordedCall = {
    at: startedAt,
    thread: thread.id,
    agent: name,
    run: run.id,
    turn,
    attempt,
    purpose,
    ...target,
    outcome: "in_flight",
    saw: createContextSnapshot(agent, thread, run, phase),
  };
  return [{ row, n: Number.MAX_SAFE_INTEGER }];
};

/** The requested call, all calls of its turn, and the answered call before it. */
interface RequestedCall {
  readonly row: RecordedCall;
  readonly saw: ContextSnapshot;
  readonly calls: readonly RecordedCall[];
  readonly before: RecordedCall | null;
}

/** Finds the call of a turn by its number, or else its newest call that is no repair. */
const findRequestedCall = (
  parts: ReadContext,
  run: string,
  turn: number,
  number: number | undefined,
): RequestedCall => {
  const { archive } = parts;
  const booked = archive.seen(run, turn).map(({ n, row }) => ({ n, row: recordBooked(row) }));
  const calls: readonly NumberedCall[] = [...booked, ...findCallInFlight(parts, run, turn)];
  const found =
    number === undefined ? calls.findLast(({ row }) => row.purpose !== "repair") : calls[number - 1];
  if (found?.row.saw === undefined)
    return calls.length === 0
      ? refuse("not_found", "This run has no such turn, or none of its requests was sent.")
      : refuseField(
          "not_found",
          "/call",
          `the turn has ${calls.length} model call${calls.length === 1 ? "" : "s"}`,
        );
  const { row, n } = found;
  return {
    row,
    saw: found.row.saw,
    calls: calls.map((each) => each.row),
    before: archive.answered(row.thread, n),
  };
};

/** Returns the caller's constraints of a call's run, or else the current ones of its thread. */
const callerConstraintsOf = (
  { archive, state }: ReadContext,
  { run, thread }: RecordedCall,
): CallerConstraints | null =>
  archive.callerConstraints(run) ?? state.threads[thread]?.child?.callerConstraints ?? null;

/** Returns whether a rebuilt request is the one that was sent; null if that cannot be known. */
const isSentRequest = (
  { completer }: ModelTarget,
  request: ModelRequest,
  { hash }: ContextSnapshot,
): boolean | null =>
  completer.digest === undefined || hash === null ? null : completer.digest(request) === hash;

/** Shows a call in context with the call before it, or its body as it was sent. */
const showContext = (
  parts: ReadContext,
  { row, saw, calls, before }: RequestedCall,
  format: "json" | "provider" | "text",
): CommandAnswer => {
  const now = callWithChatAt(parts, row, saw);
  const agent = parts.agentOf(row.agent, saw.override, callerConstraintsOf(parts, row));
  if (agent.missing !== null)
    return refuse("not_found", `This deployment lacks what this turn was made with: ${agent.missing}.`);
  const target = findNamedTarget(agent.targets, saw.target);
  if (target === undefined)
    return refuse("not_found", "This deployment no longer has the model of this turn.");
  const request = rebuildRequest(parts, now, saw, agent, target);
  const body = target.completer.body?.(request) ?? null;
  if (format === "provider")
    return body === null
      ? refuse("not_found", "This provider does not expose its wire format.")
      : jsonAnswer(body);
  const verified = isSentRequest(target, request, saw);
  const previous = before?.saw === undefined ? null : callWithChatAt(parts, before, before.saw);
  const shown = contextView(calls, previous, now, request, verified);
  return okAnswer(format === "json" ? shown : { text: formatContextView(shown) });
};

export const contextOperation = defineRead({
  name: "context",
  summary: "Shows what the model saw in a turn, and why.",
  scopes: ["context:read"],
  path: "/v1/sessions/:session/runs/:run/turns/:turn/context",
  params: contextSchema,
  run: (parts, { run, turn, call, format }) =>
    showContext(parts, findRequestedCall(parts, run, turn, call), format),
});
