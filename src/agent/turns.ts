import {
  agentOf,
  append,
  callsOfRun,
  changeCounters,
  changeRun,
  changeThread,
  emit,
  runOf,
  threadOf,
} from "./draft.ts";
import type { Draft } from "./draft.ts";
import { inputApplied, steersOf } from "./inputs.ts";
import { usd, utilizationOf } from "./result.ts";
import { laneAt } from "./agent.ts";
import type { Agent } from "./agent.ts";
import { startLanes } from "../model/retry.ts";
import type { Lanes } from "../model/retry.ts";
import { addUsage, noUsage } from "./state.ts";
import type { Phase, Run, Thread } from "./state.ts";
import type { LedgerRow } from "./records.ts";

/** Transitions of a turn: thinking, aborted, closed. */

type Thinking = Extract<Phase, { at: "thinking" }>;

const turnLanes = (draft: Draft, threadId: string): Lanes => {
  const { health, now } = draft.moment;
  const { lanes } = agentOf(draft, threadId);
  return startLanes(
    lanes.map(({ provider, model }) => ({ provider, model, ...health(provider, model) })),
    now,
  );
};

/** Whether the lanes that a wait was begun with are still the agent's: a model override takes others (MO-38). */
const sameLanes = ({ list }: Lanes, lanes: Agent["lanes"]): boolean =>
  list.length === lanes.length &&
  list.every(({ provider, model }, at) => provider === lanes[at]?.provider && model === lanes[at].model);

const attemptOf = (
  draft: Draft,
  threadId: string,
  { phase }: Run,
): Pick<Thinking, "attempt" | "lanes" | "booked"> => {
  if (phase.at === "waiting" && sameLanes(phase.lanes, agentOf(draft, threadId).lanes)) return phase;
  const attempt = phase.at === "waiting" ? phase.attempt : 1;
  return { attempt, lanes: turnLanes(draft, threadId), booked: false };
};

const steersJoined = (draft: Draft, threadId: string): void => {
  for (const input of steersOf(draft, threadId)) {
    changeRun(draft, threadId, { inputs: [...runOf(draft, threadId).inputs, input.id] });
    inputApplied(draft, input, true);
  }
};

const turnOpened = (draft: Draft, threadId: string): void => {
  const { turn } = runOf(draft, threadId);
  changeRun(draft, threadId, {
    turn: turn + 1,
    turnOpen: true,
    turnStartedAt: draft.moment.now,
    reply: null,
  });
  emit(draft, threadId, "turn_start", {});
};

/** Estimated tokens of a request: system prompt, tools and chat, from stored figures (MO-34). */
export const requestTokens = (agent: Agent, { chat, depth }: Thread, { light }: Run): number =>
  chat.reduce((sum, { tokens }) => sum + tokens, agent.system({ depth, light }).tokens);

/** The intent to ask the model, stored before anything leaves (SE-9 row 10). */
export const thinkingStarted = (draft: Draft, threadId: string): void => {
  const before = runOf(draft, threadId);
  if (before.phase.at === "ready") steersJoined(draft, threadId);
  if (before.phase.at === "ready" && !before.repair) turnOpened(draft, threadId);
  const thread = threadOf(draft, threadId);
  const { attempt, lanes, booked } = attemptOf(draft, threadId, before);
  const agent = agentOf(draft, threadId);
  const lane = laneAt(agent, lanes.current);
  const { provider, model } = lane;
  const { now, epoch } = draft.moment;
  changeRun(draft, threadId, {
    phase: { at: "thinking", attempt, epoch, startedAt: now, lanes, booked, items: [] },
    lane,
  });
  const purpose = before.repair ? "repair" : "turn";
  emit(draft, threadId, "llm_request_preparing", { purpose, provider, model }, { attempt });
  const tokens = requestTokens(agent, thread, before);
  const request = {
    messages: thread.chat.length,
    tools: agent.specs.length,
    estimated_tokens: tokens,
    bytes: tokens * 4,
  };
  emit(draft, threadId, "llm_request_start", { provider, model, purpose, ...request }, { attempt });
};

/** Items a reply opens while it streams, in their order. */
export interface OpenedItem {
  readonly id: string;
  readonly kind: "text" | "reasoning" | "tool_input";
  readonly preview: string;
  readonly call: { readonly id: string; readonly name: string } | null;
}

/** Names an attempt within its session; a repair turn is not counted, so its number stands apart. */
export const attemptId = ({ id, turn, repair, counters }: Run, attempt: number): string =>
  `${id}.${turn}${repair ? `r${counters.repairs}` : ""}.${attempt}`;

export const itemId = (run: Run, attempt: number, index: number): string =>
  `${attemptId(run, attempt)}.${index}`;

/** The stream shows something new of the current attempt (AP-20). */
export const itemsOpened = (draft: Draft, threadId: string, items: readonly OpenedItem[]): void => {
  const run = runOf(draft, threadId);
  if (run.phase.at !== "thinking") return;
  const { phase } = run;
  const fresh = items.filter(({ id }) => !phase.items.includes(id));
  if (fresh.length === 0) return;
  const { attempt } = phase;
  for (const { id, kind, preview, call } of fresh) {
    if (kind === "text") emit(draft, threadId, "llm_text", { preview }, { attempt, item: id });
    else if (kind === "reasoning") emit(draft, threadId, "llm_reasoning", { preview }, { attempt, item: id });
    else
      emit(
        draft,
        threadId,
        "llm_tool_prepare",
        { call: call?.id ?? "", tool: call?.name ?? "" },
        { attempt, item: id, call: call?.id ?? "" },
      );
  }
  changeRun(draft, threadId, { phase: { ...phase, items: [...phase.items, ...fresh.map(({ id }) => id)] } });
};

/** Books the attempt of the current phase: in the ledger, and on the session and its run (MO-33). */
export const ledgered = (
  draft: Draft,
  threadId: string,
  row: Pick<LedgerRow, "outcome" | "usage" | "estimated" | "cost"> &
    Partial<Pick<LedgerRow, "model" | "provider">>,
): void => {
  const thread = threadOf(draft, threadId);
  const run = runOf(draft, threadId);
  const attempt = run.phase.at === "thinking" ? run.phase.attempt : 0;
  const { provider, model } = run.lane;
  const purpose = run.repair ? "repair" : "turn";
  const at = draft.moment.now;
  draft.ledger.push({
    at,
    thread: threadId,
    agent: thread.agent,
    run: run.id,
    turn: run.turn,
    attempt,
    purpose,
    provider,
    model,
    ...row,
  });
  const { cumulative, cost, calls, estimated } = draft.state.usage;
  const usage = {
    cumulative: addUsage(cumulative, row.usage),
    cost: cost === null || row.cost === null ? null : cost + row.cost,
    calls: calls + 1,
    estimated: estimated || row.estimated,
  };
  draft.state = { ...draft.state, usage };
  const { counters } = run;
  changeRun(draft, threadId, {
    usage: addUsage(run.usage, row.usage),
    counters: {
      ...counters,
      tokens: counters.tokens + row.usage.total,
      cost: counters.cost === null || row.cost === null ? null : counters.cost + row.cost,
      estimated: counters.estimated || row.estimated,
    },
  });
};

/** An attempt ended without a reply: what it showed is void. */
export const attemptAborted = (
  draft: Draft,
  threadId: string,
  code: string,
  retryAt: number | null,
): void => {
  const { phase } = runOf(draft, threadId);
  if (phase.at !== "thinking") return;
  const place = { attempt: phase.attempt };
  emit(draft, threadId, "attempt_aborted", { items: phase.items, code, retry_at: retryAt }, place);
  if (code === "interrupted" || code === "cancelled") lostAttempt(draft, threadId, code, phase);
  const spent = Math.max(0, draft.moment.now - phase.startedAt);
  const { counters } = runOf(draft, threadId);
  changeCounters(draft, threadId, { modelMs: counters.modelMs + spent });
};

/** What an attempt cost whose reply nobody saw: at least its prompt (MO-32). */
const lostAttempt = (
  draft: Draft,
  threadId: string,
  outcome: "interrupted" | "cancelled",
  phase: Thinking,
): void => {
  const { chat } = threadOf(draft, threadId);
  const input = chat.reduce((sum, { tokens }) => sum + tokens, 0);
  const usage = { ...noUsage, input, total: input };
  const cost = agentOf(draft, threadId).lanes[phase.lanes.current]?.cost(usage) ?? null;
  ledgered(draft, threadId, { outcome, usage, estimated: true, cost });
};

/** The results of a reply, in call order, once every call is done (SE-3); a second time nothing happens. */
export const resultsAppended = (draft: Draft, threadId: string): void => {
  const calls = callsOfRun(runOf(draft, threadId));
  const newest = threadOf(draft, threadId).chat.at(-1)?.parts[0];
  if (newest?.type === "tool_result" && newest.call === calls.at(-1)?.call.id) return;
  for (const { outcome } of calls) {
    if (outcome !== null) append(draft, threadId, { role: "tool", origin: "agent", parts: [outcome.result] });
  }
};

/** The open turn ends, with the metrics of its reply unless the run was broken off. A repair turn has no events of its own. */
export const turnClosed = (draft: Draft, threadId: string, brokenOff = false): void => {
  const thread = threadOf(draft, threadId);
  const run = runOf(draft, threadId);
  if (!run.turnOpen) {
    if (run.repair) changeRun(draft, threadId, { repair: false, phase: { at: "ready" } });
    return;
  }
  const duration = Math.max(0, draft.moment.now - run.turnStartedAt);
  const calls = callsOfRun(run);
  if (run.reply !== null && !brokenOff) {
    emit(draft, threadId, "turn_metrics", {
      provider: run.reply.provider,
      model: run.reply.model,
      usage: run.reply.usage,
      cost_usd: usd(run.reply.cost),
      estimated: run.reply.estimated,
      utilization: utilizationOf(thread, run.lane.window),
      cache_hits: calls.filter(({ outcome }) => outcome?.cached === true).length,
      cache_misses: calls.filter(({ outcome }) => outcome?.missed === true).length,
      duration_ms: duration,
    });
  }
  emit(draft, threadId, "turn_end", { calls: calls.length });
  const { counters } = run;
  changeThread(draft, threadId, {
    run: {
      ...run,
      turnOpen: false,
      repair: false,
      phase: { at: "ready" },
      counters: { ...counters, longestTurnMs: Math.max(counters.longestTurnMs, duration) },
    },
  });
};
