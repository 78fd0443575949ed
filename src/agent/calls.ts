import type { ToolResultPart } from "../chat/message.ts";
import { synthesised, textResult } from "../chat/results.ts";
import { judgeAtTurn, opened, outcomeOf } from "./asks.ts";
import {
  agentOf,
  callsOfRun,
  changeCall,
  changeCounters,
  changeRun,
  changeThread,
  emit,
  runOf,
  threadOf,
} from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { Ask } from "./events.ts";
import { callsReached } from "./budget.ts";
import { exceeded } from "./budget-ask.ts";
import type { Reached } from "./budget-types.ts";
import { stopCommand } from "./left-commands.ts";
import { callClosed, callParked, findCall, inputOf } from "./outcomes.ts";
import { own } from "./own.ts";
import { preparingOf, preparingPaused } from "./preparing.ts";
import { changeBudget, reachedSaid, sentenceOf, spent, stopped } from "./spending.ts";
import { runsAgain } from "./call.ts";
import type { Call } from "./call.ts";

/** Transitions of tool calls: planned → running → done, from either to parked and back or to done (SE-11). */

const mostReruns = 3;

/**
 * Starts planned calls: refusals are answered, calls that need a person are parked, the rest run. `request` carries out
 * what a call asks of the session itself.
 */
export const callsStarted = (
  draft: Draft,
  threadId: string,
  ids: readonly string[],
  request: (call: Call) => void,
): void => {
  for (const id of ids) {
    const call = findCall(threadOf(draft, threadId).run, id);
    if (call?.status === "planned" && runOf(draft, threadId).stop === null)
      startCall(draft, threadId, call, request);
  }
};

const startCall = (draft: Draft, threadId: string, given: Call, request: (call: Call) => void): void => {
  const call = judgeAtTurn(draft, threadId, given);
  const { plan } = call;
  const id = call.call.id;
  if (plan.refusal !== undefined) {
    const { status, text } = plan.refusal;
    callClosed(draft, threadId, textResult(call.call, ...outcomeOf(call, status, text)));
    stopCommand(draft, call);
    return;
  }
  const reached = call.attempts === 0 ? callsReached(draft, threadId) : null;
  if (reached !== null) {
    callUnpaid(draft, threadId, call, reached);
    return;
  }
  if (plan.verdict === "ask" && !call.approved) {
    const { by: rule, reason, remember } = plan;
    opened(draft, threadId, call, "approval", {
      approval: {
        tool: call.call.name,
        input: inputOf(call),
        rule,
        ...(reason === undefined ? {} : { reason }),
        ...(remember === null ? {} : { remember }),
      },
    });
    return;
  }
  if (call.attempts === 0) emitStart(draft, threadId, call);
  if (plan.client === true) {
    countCall(draft, threadId);
    opened(draft, threadId, call, "client_tool", {
      client_tool: { tool: call.call.name, input: inputOf(call) },
    });
    return;
  }
  if (plan.session === true) {
    countCall(draft, threadId);
    request(call);
    return;
  }
  const { now, epoch } = draft.moment;
  changeCall(draft, threadId, id, {
    status: "running",
    attempts: call.attempts + 1,
    epoch,
    startedAt: now,
    until: null,
    parkedOn: null,
  });
  if (call.attempts === 0) countCall(draft, threadId);
};

/** Turns with refused calls after which a model that still wants more is not asked again. */
const mostRefusals = 2;

/**
 * The budget of calls is used up, which forbids calls and not answers (EF-37): a person is asked for more while the call
 * waits; else it is answered and not run, and the run ends when the model insists in a further turn.
 */
const callUnpaid = (draft: Draft, threadId: string, call: Call, reached: Reached): void => {
  if (reached.ask) {
    exceeded(draft, reached);
    return;
  }
  reachedSaid(draft, reached);
  const why = sentenceOf(reached);
  const text = `limit: ${why}, so this call was not run. Answer without further calls.`;
  callClosed(draft, threadId, textResult(call.call, "error", text));
  const { turn, budget } = runOf(draft, threadId);
  const refusals = [...new Set([...budget.refusals, turn])];
  changeBudget(draft, threadId, { refusals });
  if (refusals.length >= mostRefusals) stopped(draft, { thread: threadId, kind: reached.kind }, why);
};

const emitStart = (draft: Draft, threadId: string, call: Call): void => {
  const { plan } = call;
  const permission = { verdict: call.approved ? "approved" : plan.verdict, by: plan.by };
  const data = {
    tool: call.call.name,
    toolbox: plan.toolbox,
    input: inputOf(call),
    safety: plan.safety,
    permission,
  };
  emit(draft, threadId, "tool_call_start", data, { call: call.call.id, item: call.call.id });
};

const countCall = (draft: Draft, threadId: string): void => {
  changeCounters(draft, threadId, {
    toolCalls: runOf(draft, threadId).counters.toolCalls + 1,
    toolRan: true,
  });
  spent(draft, threadId, { calls: 1 });
};

/** A running call waits for the clock: it runs again at `until`. */
export const callPaused = (
  draft: Draft,
  threadId: string,
  callId: string,
  on: "time" | "exec" | "task",
  until: number,
): void => {
  const call = findCall(runOf(draft, threadId), callId);
  if (call?.status === "running") callParked(draft, threadId, call, on, until);
};

/** Parked calls whose time has come are planned again. */
export const callsWoken = (draft: Draft, threadId: string): void => {
  const { now } = draft.moment;
  const { run } = threadOf(draft, threadId);
  for (const call of callsOfRun(run)) {
    const isTimed = call.parkedOn !== "ask" && call.parkedOn !== "thread";
    if (call.status === "parked" && isTimed && call.until !== null && call.until <= now)
      changeCall(draft, threadId, call.call.id, { status: "planned", until: null, parkedOn: null });
  }
};

/** Whether a call asks its caller something (AG-28). */
const asksCaller = ({ parkedOn, waits }: Call): boolean => parkedOn === "thread" && waits === undefined;

/** Whether a steer skips an open call: it has not begun, or waits for an answer (SE-25). */
const isSkipped = (call: Call): boolean => {
  const { status, attempts, parkedOn } = call;
  if (status === "planned" || parkedOn === "time") return attempts === 0;
  return parkedOn === "ask" || asksCaller(call);
};

/** Whether a call goes on by itself for now: its tool is running, or will again, or its children are. */
const goesOn = (call: Call): boolean =>
  call.status === "running" || runsAgain(call) || (call.status === "parked" && call.waits !== undefined);

/** What a parked call asks of the outside; undefined if nothing. */
const askKind = ({ state }: Draft, { parkedOn, ask }: Call): Ask["kind"] | undefined =>
  parkedOn === "ask" ? state.asks[ask ?? ""]?.kind : undefined;

/** Whether the tool of an open call has seen it; one that only asked a question has done nothing. */
const hasActed = (draft: Draft, call: Call): boolean => {
  const { status, attempts, parkedOn } = call;
  if (status === "running") return true;
  if (parkedOn === "thread") return !asksCaller(call);
  const asked = parkedOn === "ask" && askKind(draft, call) !== "approval";
  return attempts > 0 && !asked;
};

/** What a client was given it may have done; a steer settles that as skipped all the same (SE-25). */
const endingOf = (draft: Draft, call: Call, how: "cancelled" | "skipped"): ToolResultPart => {
  const isGiven = how === "cancelled" && askKind(draft, call) === "client_tool";
  if (!isGiven && !hasActed(draft, call)) return textResult(call.call, how, synthesised[how]);
  if (how === "skipped") return textResult(call.call, "unknown", synthesised.unknown);
  return textResult(call.call, "cancelled", synthesised.cancelledRunning);
};

/** Ends open calls of a thread: what had not started was cancelled or skipped, what ran may have taken effect (SE-8). */
export const openCallsEnded = (
  draft: Draft,
  threadId: string,
  how: "cancelled" | "skipped",
  which: "all" | "unstarted",
): void => {
  for (const call of callsOfRun(threadOf(draft, threadId).run)) {
    if (call.status === "done" || (which === "unstarted" && goesOn(call))) continue;
    if (how === "skipped" && !isSkipped(call)) continue;
    const result = endingOf(draft, call, how);
    if (call.ask !== null && call.status === "parked") askDropped(draft, threadId, call.ask);
    callClosed(draft, threadId, result);
    if (asksCaller(call)) questionForgotten(draft, threadId);
  }
};

/** A called agent does not ask its caller any more. */
const questionForgotten = (draft: Draft, threadId: string): void => {
  const { child } = threadOf(draft, threadId);
  if (child !== null) changeThread(draft, threadId, { child: { ...child, question: null } });
};

/** Closes an open ask that nobody need answer any more. */
export const askDropped = (draft: Draft, threadId: string, askId: string): void => {
  const ask = draft.state.asks[askId];
  if (ask === undefined) return;
  const { [askId]: _, ...asks } = draft.state.asks;
  draft.state = { ...draft.state, asks };
  draft.asks.push({ ...ask, status: "cancelled" });
  emit(draft, threadId, "ask_cancelled", { ask: askId }, ask.call === "" ? {} : { call: ask.call });
};

/** A question of an effect is not answered: its default holds, and the effect goes on (SE-25). */
export const questionSkipped = (draft: Draft, threadId: string): void => {
  const ask = preparingOf(threadOf(draft, threadId).run)?.ask ?? null;
  if (ask === null) return;
  askDropped(draft, threadId, ask.id);
  preparingPaused(draft, threadId, draft.moment.now, "ask");
};

/** Calls that an older isolate was running go by their safety class (SE-33). */
export const callsRecovered = (draft: Draft, threadId: string): void => {
  const { epoch } = draft.moment;
  const agent = agentOf(draft, threadId);
  for (const call of callsOfRun(runOf(draft, threadId))) {
    if (call.status !== "running" || call.epoch === epoch) continue;
    const rule =
      own(agent.onInterrupt, call.call.name) ?? (call.plan.safety === "unsafe" ? "unknown" : "rerun");
    if (rule === "rerun" && call.reruns < mostReruns) {
      changeCall(draft, threadId, call.call.id, { status: "planned", reruns: call.reruns + 1 });
    } else if (rule === "ask") {
      changeCall(draft, threadId, call.call.id, {
        status: "planned",
        approved: false,
        plan: { ...call.plan, verdict: "ask", by: "on_interrupt" },
      });
    } else {
      callClosed(draft, threadId, textResult(call.call, "unknown", synthesised.unknown));
      if (rule === "fail")
        changeRun(draft, threadId, {
          stop: { reason: "internal", error: `${call.call.name} was interrupted` },
        });
    }
  }
};
