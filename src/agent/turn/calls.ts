import { ownEntry, parseJson } from "../../chat/json.ts";
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
import { endCallAtOnce, findCall, callInputOf, permissionOf, parkCall } from "../calls/tool-calls.ts";
import type { ReachedLimit } from "../state/budget.ts";
import type { Approval, Call } from "../state/call.ts";
import type { DraftCall, ThreadDraft } from "../transaction/draft.ts";
import { emit, runOf, draftCallsOf, assign, agentOf, runHook } from "../transaction/draft.ts";
import { judgeAtTurn, parkCallOnAsk, denialOf, handleReachedLimit } from "./ask-answers.ts";
import { pauseAfter } from "../state/ask.ts";
import { loseModelCall, pauseStep } from "../calls/model-call.ts";
import { interruptRule, sanitizeToolName } from "../state/call.ts";
import {
  failRunByGuard,
  guardState,
  putGuardState,
  stopRunByGuard,
  reportLoop,
  recordsForGuard,
  recordsSinceInput,
} from "../calls/after-guards.ts";
import { argsDigest } from "../context/history.ts";
import type { Agent } from "../definition/agent.ts";
import { checkVerdict } from "../definition/checks.ts";
import type { BoundGuard, GuardFacts, JudgedCall, GuardVerdict } from "../definition/guard.ts";
import type { CallRecord } from "../state/records.ts";

/** Starts planned calls: answers refusals, parks what needs a person; `request` does what calls ask of the session. */
export const startCalls = (
  draft: ThreadDraft,
  ids: readonly string[],
  request: (call: DraftCall) => void,
): void => {
  for (const id of ids) {
    const call = findCall(draft.thread.run, id);
    if (call?.status === "planned" && runOf(draft).stop === null) startCall(draft, call, request);
  }
};

const approvalOf = (call: Call, { workingDir: directory, approvalTimeout }: Agent): Approval => {
  const { by: rule, reason, remember, workspace } = call.plan;
  const { onTimeout } = approvalTimeout(rule);
  return {
    tool: call.call.name,
    input: callInputOf(call),
    ...(workspace === "none" || directory === "." ? {} : { directory }),
    rule,
    ...(reason === undefined ? {} : { reason }),
    ...(onTimeout === "deny" ? {} : { on_timeout: onTimeout }),
    ...(remember === null ? {} : { remember }),
  };
};

const startCall = (draft: ThreadDraft, call: DraftCall, request: (call: DraftCall) => void): void => {
  judgeAtTurn(draft, call);
  const { plan } = call;
  if (plan.refusal !== undefined) {
    const { status, text } = plan.refusal;
    stopCommand(draft, call);
    endCallAtOnce(draft, call, textResult(call.call, ...denialOf(call, status, text)));
    return;
  }
  const reached = call.attempts === 0 ? findCallLimit(draft) : null;
  if (reached !== null) {
    handleCallLimit(draft, call, reached);
    return;
  }
  if (plan.verdict === "ask" && !call.approved) {
    parkCallOnAsk(draft, call, { approval: approvalOf(call, agentOf(draft)) });
    return;
  }
  if (call.attempts === 0) {
    emitCallStart(draft, call);
    countCall(draft, call.call.name);
  }
  const { now, epoch } = draft.context;
  call.startedAt = now;
  if (plan.client === true) {
    parkCallOnAsk(draft, call, {
      client_tool: { tool: call.call.name, input: callInputOf(call) },
    });
    return;
  }
  if (plan.session === true) {
    request(call);
    return;
  }
  assign(call, { status: "running", attempts: call.attempts + 1, epoch, wait: null });
};

/** The run ends after so many turns whose calls were refused. */
const mostRefusals = 2;

/**
 * Handles a used-up budget of calls, which forbids calls but not answers: a person is asked for more while
 * the call waits; otherwise it is answered without a run, and the run ends if the model insists in a further
 * turn.
 */
const handleCallLimit = (draft: ThreadDraft, call: DraftCall, reached: ReachedLimit): void => {
  if (reached.ask && runOf(draft).cancel === null) {
    handleReachedLimit(draft, reached);
    return;
  }
  reportReachedLimit(draft, reached);
  const why = describeLimit(reached);
  const text = `limit: ${why}, so this call was not run. Answer without further calls.`;
  endCallAtOnce(draft, call, textResult(call.call, "error", text));
  const { turn, budget } = runOf(draft);
  const refusals = [...new Set([...budget.refusals, turn])];
  changeRunBudget(draft, { refusals });
  if (refusals.length >= mostRefusals) stopRun(draft, { thread: draft.thread.id, kind: reached.kind }, why);
};

const emitCallStart = (draft: ThreadDraft, call: Call): void => {
  const { plan } = call;
  const data = {
    tool: call.call.name,
    toolbox: plan.toolbox,
    input: callInputOf(call),
    safety: plan.safety,
    permission: permissionOf(call),
  };
  emit(draft, "tool_call_start", data, { call: call.call.id, item: call.call.id });
};

/** Counts a call for its run and every run above it. */
const countCall = (draft: ThreadDraft, tool: string): void => {
  runOf(draft).counters.toolRan = true;
  for (const { run } of lineageOf(draft.state, draft.thread.id)) {
    if (run === null) continue;
    const { counters } = run;
    counters.toolCounts = { ...counters.toolCounts, [tool]: (ownEntry(counters.toolCounts, tool) ?? 0) + 1 };
  }
  bookSpending(draft, { toolCalls: 1 });
};

/** Recovers the work of an older isolate. */

const deadLimit = 10;
const mostReruns = 3;

/** Recovers calls that an older isolate was running, by their safety class. */
const recoverCalls = (draft: ThreadDraft): void => {
  const { epoch } = draft.context;
  const agent = agentOf(draft);
  for (const call of draftCallsOf(runOf(draft))) {
    if (call.status !== "running" || call.epoch === epoch) continue;
    const rule =
      ownEntry(agent.onInterrupt, call.call.name) ?? (call.plan.safety === "unsafe" ? "unknown" : "rerun");
    if (rule === "rerun" && call.reruns < mostReruns) {
      assign(call, { status: "planned", reruns: call.reruns + 1 });
    } else if (rule === "ask") {
      const plan = { ...call.plan, verdict: "ask", by: interruptRule } as const;
      assign(call, { status: "planned", approved: false, plan });
    } else {
      endCallAtOnce(draft, call, syntheticResult(call.call, "unknown"));
      if (rule === "fail")
        runOf(draft).stop = { reason: "internal", error: `${call.call.name} was interrupted` };
    }
  }
};

/** Recovers a run whose work in an older isolate is lost: its attempt is discarded, its calls by their class. */
export const recoverRun = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  const { phase, counters } = run;
  if (phase.at === "acting") recoverCalls(draft);
  if (phase.at !== "thinking" && phase.at !== "preparing") return;
  const dead = counters.deadAttempts + 1;
  const until = draft.context.now + (dead < 3 ? 0 : pauseAfter(dead - 3, 1_000, 60_000));
  loseModelCall(draft, "interrupted", until);
  const attempt = phase.at === "thinking" ? phase.call.attempt + 1 : phase.attempt;
  pauseStep(draft, { on: "retry", until }, { attempt });
  counters.deadAttempts = dead;
  if (dead >= deadLimit)
    run.stop = {
      reason: "poisoned",
      error: `${dead} attempts died before anything was stored`,
    };
};

/** Runs guards in the commit that stores a reply, before any of its calls starts. */

type GuardRefusal = Extract<GuardVerdict, { do: "veto" | "stop" }>;

const isRefusal = (verdict: GuardVerdict): verdict is GuardRefusal =>
  verdict.do === "veto" || verdict.do === "stop";

/** Says why no call of the reply may run; without a refusal, a guard failed and the run ends anyway. */
interface ReplyRefusal {
  readonly bound: BoundGuard;
  readonly refusal: GuardRefusal | null;
}

/** What the guards say of a call. */
interface Judgement {
  readonly notes: readonly string[];
  /** When the call may start; 0 means at once. */
  readonly until: number;
  /** Refusal that ends the judging; null if the call may run. */
  readonly end: ReplyRefusal | null;
}

const toJudgedCall = ({ call, record }: Call): JudgedCall => ({
  id: call.id,
  tool: sanitizeToolName(call.name),
  args: record?.args ?? argsDigest(call.args),
  poll: record?.poll ?? false,
  get input() {
    return parseJson(call.args) ?? call.args;
  },
});

const guardFactsOf = (draft: ThreadDraft, calls: readonly JudgedCall[], at: number): GuardFacts => {
  const { id, turn } = runOf(draft);
  const { agent, recordMarks } = draft.thread;
  return {
    earlier: calls.slice(0, at),
    later: calls.length - at - 1,
    agent,
    run: id,
    turn,
    iteration: Math.max(0, turn - 1),
    compacted: recordMarks.compaction,
    now: draft.context.now,
  };
};

/** What guards know of a call besides itself: earlier calls, and its place in the run. */
interface JudgingFacts {
  readonly window: readonly CallRecord[];
  readonly facts: GuardFacts;
}

/** Returns one guard's verdict; null if the guard failed, which ends the run. */
const verdictOf = (
  draft: ThreadDraft,
  bound: BoundGuard,
  call: JudgedCall,
  { window, facts }: JudgingFacts,
): GuardVerdict | null => {
  const { guard, params } = bound;
  const state = guardState(draft.thread, bound);
  const judged = runHook(draft, guard.kind, () =>
    checkVerdict(guard.before(call, recordsForGuard(bound, window), { ...facts, params, state })),
  );
  if ("thrown" in judged) {
    failRunByGuard(draft, bound, judged.thrown);
    return null;
  }
  return putGuardState(draft, bound, judged.given.state) ? judged.given : null;
};

/** Denies all calls of the reply, with `now` at once; frees their record numbers, so the history has no gap. */
const denyCalls = (draft: ThreadDraft, kind: string, reason: string, now: boolean): void => {
  const text = `denied: ${reason}`;
  const refusal = { status: "denied", text } as const;
  const calls = draftCallsOf(runOf(draft));
  const { thread } = draft;
  const { recordMarks } = thread;
  const next = recordMarks.next - calls.filter(({ record }) => record !== null).length;
  thread.recordMarks = { ...recordMarks, next };
  for (const call of calls) {
    call.plan = { ...call.plan, verdict: "deny", by: `guard ${kind}`, refusal, vetoed: true };
    if (now) endCallAtOnce(draft, call, textResult(call.call, "denied", text));
  }
};

const guardFailureText = "a guard failed, so this was not run.";

const applyRefusal = (draft: ThreadDraft, { bound: { guard }, refusal }: ReplyRefusal): void => {
  denyCalls(draft, guard.kind, refusal?.reason ?? guardFailureText, refusal?.do !== "veto");
  if (refusal?.do === "stop") stopRunByGuard(draft, refusal);
};

/** Judges a call by every guard; of several refusals the first `stop` holds, or else the first `veto`. */
const judgeCall = (draft: ThreadDraft, call: JudgedCall, known: JudgingFacts): Judgement => {
  const notes: string[] = [];
  let until = 0;
  let end: ReplyRefusal | null = null;
  for (const bound of agentOf(draft).guards) {
    const verdict = verdictOf(draft, bound, call, known);
    if (verdict === null) return { notes, until, end: { bound, refusal: null } };
    if (isRefusal(verdict)) {
      reportLoop(draft, call, "critical", verdict.loop);
      if (end === null || (verdict.do === "stop" && end.refusal?.do === "veto"))
        end = { bound, refusal: verdict };
      continue;
    }
    until = Math.max(until, verdict.until ?? 0);
    if (verdict.do === "allow") continue;
    reportLoop(draft, call, "warning", verdict.loop);
    if (verdict.note !== null) notes.push(verdict.note);
  }
  return { notes, until, end };
};

/** Adds the notes; a call that may run waits until the time that the guards ask for. */
const applyRemarks = (
  draft: ThreadDraft,
  call: DraftCall,
  { notes, until }: Judgement,
  isRefused: boolean,
): void => {
  if (notes.length > 0) call.note = notes.join("\n");
  if (!isRefused && until > draft.context.now && call.plan.refusal === undefined)
    parkCall(draft, call, { on: "time", until });
};

/** Judges the planned calls of a reply in order before any starts. A veto keeps the warnings. */
export const judgeCalls = (draft: ThreadDraft): void => {
  if (agentOf(draft).guards.length === 0) return;
  const planned = draftCallsOf(runOf(draft));
  const calls = planned.map(toJudgedCall);
  const window = recordsSinceInput(draft.thread);
  const judgements: Judgement[] = [];
  for (const [at, call] of calls.entries()) {
    const facts = guardFactsOf(draft, calls, at);
    const judgement = judgeCall(draft, call, { window, facts });
    judgements.push(judgement);
    if (judgement.end !== null) break;
  }
  const end = judgements.at(-1)?.end ?? null;
  for (const [at, call] of planned.entries()) {
    const judgement = judgements[at];
    if (judgement !== undefined) applyRemarks(draft, call, judgement, end !== null);
  }
  if (end !== null) applyRefusal(draft, end);
};
