import { catchThrown } from "../../tools/errors.ts";
import { parseJson } from "../../chat/json.ts";
import { textResult } from "../../chat/results.ts";
import {
  failRunByGuard,
  guardState,
  putGuardState,
  stopRunByGuard,
  reportLoop,
  recordsForGuard,
  recordsSinceInput,
} from "../calls/after-guards.ts";
import { endCallAtOnce, parkCall } from "../calls/finish.ts";
import { argsDigest } from "../context/history.ts";
import { checkVerdict } from "../definition/checks.ts";
import type { BoundGuard, GuardFacts, JudgedCall, GuardVerdict } from "../definition/guard.ts";
import type { Call } from "../state/call.ts";
import { sanitizeToolName } from "../state/call.ts";
import type { CallRecord } from "../state/records.ts";
import { callsOfRun } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, runOf, threadOf, callOf } from "../transaction/draft.ts";

/** Runs guards in the commit that stores a reply, before any of its calls starts. */

type GuardRefusal = Extract<GuardVerdict, { do: "veto" | "stop" }>;

/** Remarks that guards add to a call that may run. */
interface Remarks {
  readonly notes: readonly string[];
  readonly until: number;
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

const guardFactsOf = (
  draft: Draft,
  threadId: string,
  calls: readonly JudgedCall[],
  at: number,
): GuardFacts => {
  const { id, turn } = runOf(draft, threadId);
  const { agent, recordMarks } = threadOf(draft, threadId);
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
  draft: Draft,
  threadId: string,
  bound: BoundGuard,
  call: JudgedCall,
  { window, facts }: JudgingFacts,
): GuardVerdict | null => {
  const { guard, params } = bound;
  const state = guardState(threadOf(draft, threadId), bound);
  const judged = catchThrown(() =>
    checkVerdict(guard.before(call, recordsForGuard(bound, window), { ...facts, params, state })),
  );
  if ("thrown" in judged) {
    failRunByGuard(draft, threadId, bound, judged.thrown);
    return null;
  }
  return putGuardState(draft, threadId, bound, judged.given.state) ? judged.given : null;
};

/** Denies all calls of the reply, with `now` at once; frees their record numbers, so the history has no gap. */
const denyCalls = (draft: Draft, threadId: string, kind: string, reason: string, now: boolean): void => {
  const text = `denied: ${reason}`;
  const refusal = { status: "denied", text } as const;
  const calls = callsOfRun(runOf(draft, threadId));
  const thread = threadOf(draft, threadId);
  const { recordMarks } = thread;
  const next = recordMarks.next - calls.filter(({ record }) => record !== null).length;
  thread.recordMarks = { ...recordMarks, next };
  for (const { call, plan } of calls) {
    const denied = { ...plan, verdict: "deny", by: `guard ${kind}`, refusal, vetoed: true } as const;
    callOf(draft, threadId, call.id).plan = denied;
    if (now) endCallAtOnce(draft, threadId, textResult(call, "denied", text));
  }
};

/** Says why no call of the reply may run; without a refusal, a guard failed and the run ends anyway. */
interface ReplyRefusal {
  readonly bound: BoundGuard;
  readonly refusal: GuardRefusal | null;
}

const guardFailureText = "a guard failed, so this was not run.";

const applyRefusal = (draft: Draft, threadId: string, { bound: { guard }, refusal }: ReplyRefusal): void => {
  denyCalls(draft, threadId, guard.kind, refusal?.reason ?? guardFailureText, refusal?.do !== "veto");
  if (refusal?.do === "stop") stopRunByGuard(draft, threadId, refusal);
};

/** Adds the notes, and lets the call wait until the time that the guards ask for. */
const applyRemarks = (draft: Draft, threadId: string, call: Call, { notes, until }: Remarks): void => {
  if (notes.length > 0) callOf(draft, threadId, call.call.id).note = notes.join("\n");
  if (until > draft.context.now && call.plan.refusal === undefined)
    parkCall(draft, threadId, call, { on: "time", until });
};

interface GivenVerdict {
  readonly bound: BoundGuard;
  readonly verdict: GuardVerdict;
}

const findRefusal = (given: readonly GivenVerdict[], what: GuardRefusal["do"]): GivenVerdict | undefined =>
  given.find(({ verdict }) => verdict.do === what);

const collectRemarks = (given: readonly GivenVerdict[]): Remarks => ({
  notes: given.flatMap(({ verdict }) =>
    verdict.do === "warn" && verdict.note !== null ? [verdict.note] : [],
  ),
  until: Math.max(0, ...given.map(({ verdict }) => ("until" in verdict ? (verdict.until ?? 0) : 0))),
});

interface Judgement {
  readonly remarks: Remarks;
  /** Refusal that ends the judging; null if the call may run. */
  readonly end: ReplyRefusal | null;
}

const judgeCall = (draft: Draft, threadId: string, call: JudgedCall, known: JudgingFacts): Judgement => {
  const given: GivenVerdict[] = [];
  for (const bound of agentOf(draft, threadId).guards) {
    const verdict = verdictOf(draft, threadId, bound, call, known);
    if (verdict === null) return { remarks: collectRemarks(given), end: { bound, refusal: null } };
    if (verdict.do !== "allow")
      reportLoop(draft, threadId, call, verdict.do === "warn" ? "warning" : "critical", verdict.loop);
    given.push({ bound, verdict });
  }
  const worst = findRefusal(given, "stop") ?? findRefusal(given, "veto");
  const end = worst === undefined ? null : { bound: worst.bound, refusal: worst.verdict as GuardRefusal };
  return { remarks: collectRemarks(given), end };
};

/** Judges the planned calls of a reply in order before any starts. A veto keeps the warnings. */
export const judgeCalls = (draft: Draft, threadId: string): void => {
  if (agentOf(draft, threadId).guards.length === 0) return;
  const planned = callsOfRun(runOf(draft, threadId));
  const calls = planned.map(toJudgedCall);
  const window = recordsSinceInput(threadOf(draft, threadId));
  const remarks: Remarks[] = [];
  let end: ReplyRefusal | null = null;
  for (const [at, call] of calls.entries()) {
    const judgement = judgeCall(draft, threadId, call, {
      window,
      facts: guardFactsOf(draft, threadId, calls, at),
    });
    remarks.push(judgement.remarks);
    ({ end } = judgement);
    if (end !== null) break;
  }
  for (const [at, call] of planned.entries()) {
    const remark = remarks[at];
    if (remark !== undefined)
      applyRemarks(draft, threadId, call, end === null ? remark : { ...remark, until: 0 });
  }
  if (end !== null) applyRefusal(draft, threadId, end);
};
