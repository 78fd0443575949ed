import { agentOf, callsOfRun, changeRun, emit, runOf, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { WaitReason } from "./events.ts";
import { leaseClosed } from "./lease.ts";
import { heldBy } from "./limits.ts";
import type { Step } from "./next.ts";
import { runFinished } from "./runs.ts";
import type { Preparing, Run, Session, Thread } from "./state.ts";
import { openChildren } from "./threads.ts";

/** What a run waits for, and that it does so (SE-10). */

/** Milliseconds that a run waits for its agent, and between two looks (CF-34). */
export const missingLimit = 86_400_000;
export const missingCheck = 300_000;

const preparingWaits = ({ ask, until }: Preparing): readonly WaitReason[] => {
  const times = until === null ? {} : { until };
  return [ask === null ? { kind: "retry", ...times } : { kind: "ask", ask: ask.id, ...times }];
};

const callWaits = (run: Run): readonly WaitReason[] =>
  callsOfRun(run)
    .filter(({ status }) => status === "parked")
    .map(({ ask, parkedOn, until }) => ({
      kind: parkedOn ?? "time",
      ...(ask === null ? {} : { ask }),
      ...(until === null ? {} : { until }),
    }));

/** A limit that is to be raised: by an answer to the run's own ask, or to one of a run above it. */
const raiseWaits = (session: Session, threadId: string, run: Run): readonly WaitReason[] => {
  const { ask } = run.budget;
  if (ask !== null) return [{ kind: "ask", ask: ask.id, until: ask.until }];
  const until = heldBy(session, threadId)?.until ?? null;
  return until === null ? [] : [{ kind: "budget", until }];
};

const waitReasons = (session: Session, threadId: string, run: Run): readonly WaitReason[] => {
  const raises = raiseWaits(session, threadId, run);
  if (run.phase.at === "preparing" && (run.phase.ask !== null || raises.length === 0))
    return preparingWaits(run.phase);
  if (run.lingers !== null) return [{ kind: "thread" }];
  if (run.phase.at !== "waiting") return [...raises, ...callWaits(run)];
  return raises.length > 0 ? raises : [{ kind: "retry", until: run.phase.until }];
};

/** What a thread waits for, as the session tells it (AP-17); a limit to be raised stands with the run that asks. */
export const waitsOf = (session: Session, { id, run }: Thread): readonly WaitReason[] => {
  if (run === null || !run.waitingShown) return [];
  if (run.budget.ask !== null) return raiseWaits(session, id, run);
  if (run.missingSince !== null) return [{ kind: "config" }];
  return waitReasons(session, id, run).filter(({ kind }) => kind !== "budget");
};

/** Whether only people can bring a thread on: those that it, a run above it, or all its called agents wait for. */
export const waitsForPeople = (session: Session, threadId: string): boolean => {
  const run = session.threads[threadId]?.run ?? null;
  if (run?.waitingShown !== true) return false;
  return waitReasons(session, threadId, run).every(({ kind }) => {
    if (kind !== "thread") return kind === "ask" || kind === "budget";
    const working = openChildren(session, threadId);
    return working.length > 0 && working.every(({ id }) => waitsForPeople(session, id));
  });
};

/** Says once that a run waits, and for what. */
export const waited = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  if (run.waitingShown) return;
  emit(draft, threadId, "run_waiting", { on: waitReasons(draft.state, threadId, run) });
  changeRun(draft, threadId, { waitingShown: true });
  if (onlyPeopleCanMove(draft.state)) leaseClosed(draft);
};

/** Nothing but answers from outside brings the session on: it may rest for long. */
const onlyPeopleCanMove = (session: Session): boolean =>
  Object.values(session.threads).every(
    ({ run }) =>
      run === null || (run.waitingShown && run.phase.at !== "waiting" && run.phase.at !== "preparing"),
  );

/** Whether a called agent of this thread ended, or asked it something, in this very draft. */
const isChildsDoing = (draft: Draft, threadId: string): boolean =>
  draft.children.some(({ parent, end }) => parent.thread === threadId && end !== null) ||
  draft.events.some(({ type, thread }) => {
    const asking = type === "tool_call_parked" ? draft.state.threads[thread] : undefined;
    return asking?.parent?.thread === threadId && asking.child?.question != null;
  });

/** Whether a task that a call of this run watches changed in this very draft. */
const isTasksDoing = (draft: Draft, run: Run): boolean =>
  draft.events.some(
    (event) =>
      event.type === "task_changed" && callsOfRun(run).some(({ watches }) => watches === event.data.task.id),
  );

/** What moved a run: a called agent, a task, or else what the tick is about. */
const moverOf = (draft: Draft, threadId: string, run: Run, by: string): string => {
  if (isChildsDoing(draft, threadId)) return "thread";
  return by === "time" && isTasksDoing(draft, run) ? "task" : by;
};

/** Says that it goes on. `by` = what the tick is about. */
export const resumed = (draft: Draft, threadId: string, by: string): void => {
  const { run } = threadOf(draft, threadId);
  if (run?.waitingShown !== true) return;
  emit(draft, threadId, "run_resumed", { by: moverOf(draft, threadId, run, by) });
  changeRun(draft, threadId, { waitingShown: false });
};

/** A run whose agent is not deployed waits for a day, then fails (CF-34). Answers whether the thread may go on. */
export const agentPresent = (draft: Draft, threadId: string, step: Step): boolean => {
  const run = runOf(draft, threadId);
  const { missing } = agentOf(draft, threadId);
  if (missing === null) {
    if (run.missingSince !== null) changeRun(draft, threadId, { missingSince: null });
    return true;
  }
  if (step.do === "finish" || step.do === "recover" || step.do === "close") return true;
  const since = run.missingSince ?? draft.moment.now;
  if (draft.moment.now >= since + missingLimit) {
    const error = `this deployment lacks ${missing}`;
    runFinished(draft, threadId, { state: "failed", reason: "config_changed", error });
    return false;
  }
  if (run.missingSince !== null) return false;
  emit(draft, threadId, "run_waiting", { on: [{ kind: "config", missing, until: since + missingLimit }] });
  changeRun(draft, threadId, { missingSince: since, waitingShown: true });
  return false;
};
