import { parseJson } from "../../chat/json.ts";
import { textResult } from "../../chat/results.ts";
import {
  guardFailed,
  guardState,
  guardStatePut,
  guardStopped,
  loopSaid,
  seenBy,
  windowOf,
} from "../calls/after-guards.ts";
import { callClosed, callParked } from "../calls/finish.ts";
import { argsDigest } from "../context/history.ts";
import { checkedVerdict } from "../definition/checks.ts";
import type { BoundGuard, GuardFacts, JudgedCall, Verdict } from "../definition/guard.ts";
import type { Call } from "../state/call.ts";
import { recordedName } from "../state/call.ts";
import type { CallRecord } from "../state/records.ts";
import { callsOfRun } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, changeCall, changeThread, runOf, threadOf } from "../transaction/draft.ts";

/** Guards at work in the commit that stores a reply, before any of its calls starts. */

type Refusal = Extract<Verdict, { do: "veto" | "stop" }>;

/** What guards said of a call that may run. */
interface Remarks {
  readonly notes: readonly string[];
  readonly until: number;
}

const judgedCall = ({ call, record }: Call): JudgedCall => ({
  id: call.id,
  tool: recordedName(call.name),
  args: record?.args ?? argsDigest(call.args),
  poll: record?.poll ?? false,
  get input() {
    return parseJson(call.args) ?? call.args;
  },
});

const factsOf = (draft: Draft, threadId: string, calls: readonly JudgedCall[], at: number): GuardFacts => {
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
    now: draft.moment.now,
  };
};

/** One guard's verdict; null if it failed, which ends the run. */
const verdictOf = (
  draft: Draft,
  threadId: string,
  bound: BoundGuard,
  call: JudgedCall,
  window: readonly CallRecord[],
  facts: GuardFacts,
): Verdict | null => {
  const { guard, params } = bound;
  const state = guardState(threadOf(draft, threadId), bound);
  let verdict: Verdict;
  try {
    verdict = checkedVerdict(guard.before(call, seenBy(bound, window), { ...facts, params, state }));
  } catch (error) {
    guardFailed(draft, threadId, bound, error instanceof Error ? error.message : String(error));
    return null;
  }
  return guardStatePut(draft, threadId, bound, verdict.state) ? verdict : null;
};

/** Every call of the reply is denied; with `now` each has its result at once. They leave no gap in the history: a veto is no progress. */
const refused = (draft: Draft, threadId: string, kind: string, reason: string, now: boolean): void => {
  const text = `denied: ${reason}`;
  const refusal = { status: "denied", text } as const;
  const calls = callsOfRun(runOf(draft, threadId));
  const { recordMarks } = threadOf(draft, threadId);
  const next = recordMarks.next - calls.filter(({ record }) => record !== undefined).length;
  changeThread(draft, threadId, { recordMarks: { ...recordMarks, next } });
  for (const { call, plan } of calls) {
    const denied = { ...plan, verdict: "deny", by: `guard ${kind}`, refusal, vetoed: true } as const;
    changeCall(draft, threadId, call.id, { plan: denied });
    if (now) callClosed(draft, threadId, textResult(call, "denied", text));
  }
};

/** Why no call of the reply may run; without a refusal a guard failed, and the run ends anyway. */
interface End {
  readonly bound: BoundGuard;
  readonly refusal: Refusal | null;
}

const guardBroken = "a guard failed, so this was not run.";

const ended = (draft: Draft, threadId: string, { bound: { guard }, refusal }: End): void => {
  refused(draft, threadId, guard.kind, refusal?.reason ?? guardBroken, refusal?.do !== "veto");
  if (refusal?.do === "stop") guardStopped(draft, threadId, refusal);
};

/** The call waits for a moment that is worth it, as a row and no timer. */
const applied = (draft: Draft, threadId: string, call: Call, { notes, until }: Remarks): void => {
  if (notes.length > 0) changeCall(draft, threadId, call.call.id, { note: notes.join("\n") });
  if (until > draft.moment.now && call.plan.refusal === undefined)
    callParked(draft, threadId, call, "time", until);
};

interface Given {
  readonly bound: BoundGuard;
  readonly verdict: Verdict;
}

const refusalIn = (given: readonly Given[], what: Refusal["do"]): Given | undefined =>
  given.find(({ verdict }) => verdict.do === what);

const remarksIn = (given: readonly Given[]): Remarks => ({
  notes: given.flatMap(({ verdict }) =>
    verdict.do === "warn" && verdict.note !== null ? [verdict.note] : [],
  ),
  until: Math.max(0, ...given.map(({ verdict }) => ("until" in verdict ? (verdict.until ?? 0) : 0))),
});

interface Judgement {
  readonly remarks: Remarks;
  /** Null: the call may run. */
  readonly end: End | null;
}

/** What all guards say of one call. */
const judgedBy = (
  draft: Draft,
  threadId: string,
  call: JudgedCall,
  window: readonly CallRecord[],
  facts: GuardFacts,
): Judgement => {
  const given: Given[] = [];
  for (const bound of agentOf(draft, threadId).guards) {
    const verdict = verdictOf(draft, threadId, bound, call, window, facts);
    if (verdict === null) return { remarks: remarksIn(given), end: { bound, refusal: null } };
    if (verdict.do !== "allow")
      loopSaid(draft, threadId, call, verdict.do === "warn" ? "warning" : "critical", verdict.loop);
    given.push({ bound, verdict });
  }
  const worst = refusalIn(given, "stop") ?? refusalIn(given, "veto");
  const end = worst === undefined ? null : { bound: worst.bound, refusal: worst.verdict as Refusal };
  return { remarks: remarksIn(given), end };
};

/** Judges the planned calls of a reply in their order: none of them has started. What a warning says is not lost in a veto. */
export const judged = (draft: Draft, threadId: string): void => {
  if (agentOf(draft, threadId).guards.length === 0) return;
  const planned = callsOfRun(runOf(draft, threadId));
  const calls = planned.map(judgedCall);
  const window = windowOf(threadOf(draft, threadId));
  const remarks: Remarks[] = [];
  let end: End | null = null;
  for (const [at, call] of calls.entries()) {
    const judgement = judgedBy(draft, threadId, call, window, factsOf(draft, threadId, calls, at));
    remarks.push(judgement.remarks);
    ({ end } = judgement);
    if (end !== null) break;
  }
  for (const [at, call] of planned.entries()) {
    const remark = remarks[at];
    if (remark !== undefined) applied(draft, threadId, call, end === null ? remark : { ...remark, until: 0 });
  }
  if (end !== null) ended(draft, threadId, end);
};
