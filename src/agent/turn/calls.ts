import { ownEntry } from "../../chat/json.ts";
import { textResult, syntheticResult } from "../../chat/results.ts";
import { findCallLimit, lineageOf } from "../budgets/bounds.ts";
import {
  changeRunBudget,
  reportReachedLimit,
  describeLimit,
  bookSpending,
  stopRun,
} from "../budgets/spend.ts";
import { stopCommand } from "../calls/background-commands.ts";
import { endCallAtOnce, findCall, callInputOf, permissionOf } from "../calls/finish.ts";
import type { ReachedLimit } from "../state/budget.ts";
import type { Call } from "../state/call.ts";
import type { Draft } from "../transaction/draft.ts";
import { emit, runOf, threadOf, callOf, assign, agentOf } from "../transaction/draft.ts";
import { judgeAtTurn, parkCallOnAsk, denialOf, handleReachedLimit } from "./ask-answers.ts";
import { pauseAfter } from "../state/wait.ts";
import { loseModelCall, pauseStep } from "../calls/model-call.ts";
import { interruptRule } from "../state/call.ts";
import { callsOfRun } from "../state/run.ts";

/** Starts planned calls: answers refusals, parks what needs a person; `request` does what calls ask of the session. */
export const startCalls = (
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
    stopCommand(draft, call);
    endCallAtOnce(draft, threadId, textResult(call.call, ...denialOf(call, status, text)));
    return;
  }
  const reached = call.attempts === 0 ? findCallLimit(draft, threadId) : null;
  if (reached !== null) {
    handleCallLimit(draft, threadId, call, reached);
    return;
  }
  if (plan.verdict === "ask" && !call.approved) {
    const { by: rule, reason, remember } = plan;
    parkCallOnAsk(draft, threadId, call, {
      approval: {
        tool: call.call.name,
        input: callInputOf(call),
        rule,
        ...(reason === undefined ? {} : { reason }),
        ...(remember === null ? {} : { remember }),
      },
    });
    return;
  }
  if (call.attempts === 0) emitCallStart(draft, threadId, call);
  if (call.attempts === 0) countCall(draft, threadId, call.call.name);
  const { now, epoch } = draft.context;
  callOf(draft, threadId, id).startedAt = now;
  if (plan.client === true) {
    parkCallOnAsk(draft, threadId, call, {
      client_tool: { tool: call.call.name, input: callInputOf(call) },
    });
    return;
  }
  if (plan.session === true) {
    request(call);
    return;
  }
  assign(callOf(draft, threadId, id), {
    status: "running",
    attempts: call.attempts + 1,
    epoch,
    wait: null,
  });
};

/** The run ends after so many turns whose calls were refused. */
const mostRefusals = 2;

/**
 * Handles a used-up budget of calls, which forbids calls but not answers: a person is asked for more while
 * the call waits; otherwise it is answered without a run, and the run ends if the model insists in a further
 * turn.
 */
const handleCallLimit = (draft: Draft, threadId: string, call: Call, reached: ReachedLimit): void => {
  if (reached.ask) {
    handleReachedLimit(draft, reached);
    return;
  }
  reportReachedLimit(draft, reached);
  const why = describeLimit(reached);
  const text = `limit: ${why}, so this call was not run. Answer without further calls.`;
  endCallAtOnce(draft, threadId, textResult(call.call, "error", text));
  const { turn, budget } = runOf(draft, threadId);
  const refusals = [...new Set([...budget.refusals, turn])];
  changeRunBudget(draft, threadId, { refusals });
  if (refusals.length >= mostRefusals) stopRun(draft, { thread: threadId, kind: reached.kind }, why);
};

const emitCallStart = (draft: Draft, threadId: string, call: Call): void => {
  const { plan } = call;
  const data = {
    tool: call.call.name,
    toolbox: plan.toolbox,
    input: callInputOf(call),
    safety: plan.safety,
    permission: permissionOf(call),
  };
  emit(draft, threadId, "tool_call_start", data, { call: call.call.id, item: call.call.id });
};

/** Counts a call for its run and every run above it. */
const countCall = (draft: Draft, threadId: string, tool: string): void => {
  runOf(draft, threadId).counters.toolRan = true;
  for (const { id } of lineageOf(draft.state, threadId)) {
    const counters = threadOf(draft, id).run?.counters;
    if (counters === undefined) continue;
    counters.toolCounts = { ...counters.toolCounts, [tool]: (ownEntry(counters.toolCounts, tool) ?? 0) + 1 };
  }
  bookSpending(draft, threadId, { toolCalls: 1 });
};

/** Recovers the work of an older isolate. */

const deadLimit = 10;
const mostReruns = 3;

/** Recovers calls that an older isolate was running, by their safety class. */
const recoverCalls = (draft: Draft, threadId: string): void => {
  const { epoch } = draft.context;
  const agent = agentOf(draft, threadId);
  for (const call of callsOfRun(runOf(draft, threadId))) {
    if (call.status !== "running" || call.epoch === epoch) continue;
    const rule =
      ownEntry(agent.onInterrupt, call.call.name) ?? (call.plan.safety === "unsafe" ? "unknown" : "rerun");
    if (rule === "rerun" && call.reruns < mostReruns) {
      assign(callOf(draft, threadId, call.call.id), { status: "planned", reruns: call.reruns + 1 });
    } else if (rule === "ask") {
      assign(callOf(draft, threadId, call.call.id), {
        status: "planned",
        approved: false,
        plan: { ...call.plan, verdict: "ask", by: interruptRule },
      });
    } else {
      endCallAtOnce(draft, threadId, syntheticResult(call.call, "unknown"));
      if (rule === "fail")
        runOf(draft, threadId).stop = { reason: "internal", error: `${call.call.name} was interrupted` };
    }
  }
};

/** Recovers a run whose work in an older isolate is lost: its attempt is discarded, its calls by their class. */
export const recoverRun = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { phase, counters } = run;
  if (phase.at === "acting") recoverCalls(draft, threadId);
  if (phase.at !== "thinking" && phase.at !== "preparing") return;
  const dead = counters.deadAttempts + 1;
  const until = draft.context.now + (dead < 3 ? 0 : pauseAfter(dead - 3, 1_000, 60_000));
  loseModelCall(draft, threadId, "interrupted", until);
  const attempt = phase.at === "thinking" ? phase.call.attempt + 1 : phase.attempt;
  pauseStep(draft, threadId, { on: "retry", until }, { attempt });
  counters.deadAttempts = dead;
  if (dead >= deadLimit)
    run.stop = {
      reason: "poisoned",
      error: `${dead} attempts died before anything was stored`,
    };
};
