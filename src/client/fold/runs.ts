import type { StoredEvent } from "../../agent/state/events.ts";
import type { Usage } from "../../model/completer.ts";
import type {
  ModelCallFacts,
  TranscriptRun,
  TranscriptThread,
  TranscriptUsage,
  TurnFacts,
} from "../transcript.ts";
import { pickDefined } from "../plain.ts";
import { addChild } from "./calls.ts";
import type { FoldDraft, FoldHandler } from "./draft.ts";
import { addNote, changeThread, entriesOf, on } from "./draft.ts";
import { dropUnstored } from "./messages.ts";

/** This file folds runs with their turns and model calls, threads, and what they use. */

/** Changes the run of an event, if the transcript has it. */
export const changeRun = (
  draft: FoldDraft,
  { run }: StoredEvent,
  change: (run: TranscriptRun) => Partial<TranscriptRun>,
): void => {
  if (!draft.runs.some(({ id }) => id === run)) return;
  draft.runs = draft.runs.map((each) => (each.id === run ? { ...each, ...change(each) } : each));
};

/** Changes the turn of an event, which begins here if its beginning has not been seen. */
const changeTurn = (
  draft: FoldDraft,
  event: StoredEvent,
  change: (turn: TurnFacts) => Partial<TurnFacts>,
): void => {
  const { turn = 0, at } = event;
  changeRun(draft, event, ({ timeline }) => {
    const place = timeline.findLastIndex((each) => each.turn === turn);
    const known = timeline[place] ?? newTurn(turn, at);
    const changed = { ...known, ...change(known) };
    return {
      turns: turn,
      timeline: place < 0 ? [...timeline, changed] : timeline.with(place, changed),
    };
  });
};

const newTurn = (turn: number, at: number): TurnFacts => ({
  turn,
  started_at: at,
  ended_at: null,
  model_calls: [],
  calls: [],
  effects: [],
  metrics: null,
});

interface ModelCallEnd extends Partial<ModelCallFacts> {
  readonly usage: Usage;
  readonly cost_usd: number | null;
}

const addUsage = (sum: TranscriptUsage, { usage, cost_usd: cost }: ModelCallEnd): TranscriptUsage => ({
  ...sum,
  input: sum.input + usage.input,
  output: sum.output + usage.output,
  cacheRead: sum.cacheRead + usage.cacheRead,
  cacheWrite: sum.cacheWrite + usage.cacheWrite,
  total: sum.total + usage.total,
  calls: sum.calls + 1,
  cost_usd: sum.cost_usd === null || cost === null ? null : Math.round((sum.cost_usd + cost) * 1e9) / 1e9,
});

/** Ends the newest model call of a turn. It counts for its thread and the session, unless the snapshot has counted it. */
const endModelCall = (draft: FoldDraft, event: StoredEvent, end: ModelCallEnd): void => {
  changeTurn(draft, event, ({ model_calls }) => {
    const at = model_calls.findLastIndex(({ ended_at }) => ended_at === null);
    const call = model_calls[at];
    if (call === undefined) return {};
    return { model_calls: model_calls.with(at, { ...call, ended_at: event.at, ...end }) };
  });
  if (event.seq <= draft.counted) return;
  draft.usage = addUsage(draft.usage, end);
  const thread = draft.threads.get(event.thread);
  if (thread !== undefined) changeThread(draft, event.thread, { usage: addUsage(thread.usage, end) });
};

/** Changes a thread, which begins here if its beginning has not been seen. */
const changeOwnThread = (draft: FoldDraft, event: StoredEvent, change: Partial<TranscriptThread>): void => {
  entriesOf(draft, event);
  changeThread(draft, event.thread, change);
};

const modelCallHandlers: readonly FoldHandler[] = [
  on("llm_request_start", (draft, event) => {
    const { bytes: _, ...asked } = event.data;
    if (asked.purpose !== "compaction") dropUnstored(draft, event);
    const call: ModelCallFacts = {
      ...asked,
      ...pickDefined({ attempt: event.attempt }),
      started_at: event.at,
      ended_at: null,
      first_byte_ms: null,
      duration_ms: null,
      finish_reason: null,
      failure: null,
      usage: null,
      cost_usd: null,
    };
    changeTurn(draft, event, ({ model_calls }) => ({ model_calls: [...model_calls, call] }));
  }),
  on("llm_finish", (draft, event) => {
    const { request_id: _, ...answered } = event.data;
    endModelCall(draft, event, answered);
  }),
  on("attempt_aborted", (draft, event) => {
    const { code: failure, usage, cost_usd } = event.data;
    endModelCall(draft, event, { failure, usage, cost_usd });
  }),
];

const turnHandlers: readonly FoldHandler[] = [
  on("turn_start", (draft, event) => changeTurn(draft, event, () => ({}))),
  on("message_added", (draft, event) => {
    const asked = event.data.message.parts.flatMap((part) => (part.type === "tool_call" ? part.id : []));
    if (asked.length > 0 && event.run !== undefined)
      changeTurn(draft, event, ({ calls }) => ({ calls: [...calls, ...asked] }));
  }),
  on("effect_applied", (draft, event) =>
    changeTurn(draft, event, ({ effects }) => ({ effects: [...effects, event.data] })),
  ),
  on("turn_metrics", (draft, event) => changeTurn(draft, event, () => ({ metrics: event.data }))),
  on("turn_end", (draft, event) => {
    dropUnstored(draft, event);
    changeTurn(draft, event, () => ({ ended_at: event.at }));
  }),
];

/** The run of an event begins; a run that the snapshot holds keeps its place. */
const startRun = (
  draft: FoldDraft,
  { thread, agent, at, data, run = "" }: Extract<StoredEvent, { type: "run_start" }>,
): void => {
  if (draft.runs.some(({ id }) => id === run)) return;
  const begun: TranscriptRun = {
    id: run,
    thread,
    agent: agent.name,
    inputs: data.inputs,
    state: "running",
    reason: null,
    error: null,
    started_at: at,
    ended_at: null,
    turns: 0,
    result: null,
    timeline: [],
  };
  const later = draft.runs.findIndex(({ started_at }) => started_at > at);
  draft.runs = draft.runs.toSpliced(later < 0 ? draft.runs.length : later, 0, begun);
};

export const runHandlers: readonly FoldHandler[] = [
  on("run_start", (draft, event) => {
    startRun(draft, event);
    const { at: started_at, run = null } = event;
    changeOwnThread(draft, event, { state: "running", run, started_at, ended_at: null, waiting_for: [] });
  }),
  on("run_waiting", (draft, event) => {
    changeRun(draft, event, () => ({ state: "waiting" }));
    changeOwnThread(draft, event, { state: "waiting", waiting_for: event.data.on });
  }),
  on("run_resumed", (draft, event) => {
    changeRun(draft, event, () => ({ state: "running" }));
    changeOwnThread(draft, event, { state: "running", waiting_for: [] });
  }),
  on("run_end", (draft, event) => {
    const { state, reason, error, result } = event.data;
    dropUnstored(draft, event);
    changeRun(draft, event, () => ({
      state,
      reason,
      error: error?.detail ?? null,
      ended_at: event.at,
      turns: result.turns,
      result,
    }));
    const ended = event.thread === "main" ? "idle" : state;
    changeOwnThread(draft, event, { state: ended, run: null, ended_at: event.at, waiting_for: [] });
    addNote(draft, event);
  }),
  on("agent_start", (draft, event) => {
    const { prefix, depth, parent, label, task } = event.data;
    changeOwnThread(draft, event, {
      prefix,
      depth,
      agent: event.agent.name,
      ...pickDefined({ label, task }),
      ...(parent && { parent }),
    });
    if (parent !== null) addChild(draft, event, parent);
  }),
  on("agent_end", (draft, event) => {
    const { summary } = event.data;
    if (summary !== undefined) changeOwnThread(draft, event, { summary });
  }),
  ...modelCallHandlers,
  ...turnHandlers,
];
