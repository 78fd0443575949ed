import type { ToolCallPart } from "../chat/message.ts";
import { textResult } from "../chat/results.ts";
import { hasContent, preview, textOf } from "../chat/text.ts";
import type { Completion } from "../model/completer.ts";
import { agentOf, append, changeCounters, changeRun, changeThread, emit, runOf, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { steersOf } from "./inputs.ts";
import { openCallsEnded } from "./calls.ts";
import { usd, utilizationOf } from "./result.ts";
import { runFinished } from "./runs.ts";
import { addUsage, contextTokens } from "./state.ts";
import type { Call, Run } from "./state.ts";
import { itemId, itemsOpened, ledgered, turnClosed } from "./turns.ts";
import type { OpenedItem } from "./turns.ts";

/** What a whole reply of the model becomes (SE-12 to SE-14). */

const inARow = 3;
const outputRepairs = 2;

const openItems = (run: Run, attempt: number, reply: Completion): readonly OpenedItem[] =>
  reply.parts.flatMap((part, index): OpenedItem[] => {
    const id = itemId(run, attempt, index);
    if (part.type === "text") return [{ id, kind: "text", preview: preview(part.text), call: null }];
    if (part.type === "reasoning")
      return [{ id, kind: "reasoning", preview: preview(part.text), call: null }];
    if (part.type === "tool_call")
      return [{ id, kind: "tool_input", preview: "", call: { id: part.id, name: part.name } }];
    return [];
  });

/** Usage, cost and events that every reply has, whatever it says. */
const accounted = (draft: Draft, threadId: string, reply: Completion): void => {
  const run = runOf(draft, threadId);
  const { usage, cost, estimated, provider, model } = reply;
  ledgered(draft, threadId, { outcome: "ok", usage, estimated, cost, provider, model });
  const cost_usd = usd(cost);
  const request_id = reply.requestId ?? null;
  const timing = { first_byte_ms: reply.firstByteMs, duration_ms: reply.totalMs };
  const attempt = run.phase.at === "thinking" ? run.phase.attempt : 1;
  emit(
    draft,
    threadId,
    "llm_finish",
    { finish_reason: reply.finish, usage, cost_usd, provider, model, request_id, ...timing },
    { attempt },
  );
  const { counters } = run;
  const newest = threadOf(draft, threadId).chat.at(-1)?.id ?? null;
  changeThread(draft, threadId, {
    lastUsage: usage,
    calls: threadOf(draft, threadId).calls + 1,
    previousNewest: newest,
  });
  changeRun(draft, threadId, {
    usage: addUsage(run.usage, usage),
    reply: { provider, model, usage, cost, estimated },
  });
  changeCounters(draft, threadId, {
    tokens: counters.tokens + usage.total,
    cost: counters.cost === null || cost === null ? null : counters.cost + cost,
    modelMs: counters.modelMs + reply.totalMs,
    estimated: counters.estimated || estimated,
    deadAttempts: 0,
  });
};

const warnOfWindow = (draft: Draft, threadId: string): void => {
  const thread = threadOf(draft, threadId);
  const limit = runOf(draft, threadId).lane.window;
  const utilization = utilizationOf(thread, limit);
  const threshold = agentOf(draft, threadId).warningThreshold;
  const over = limit > 0 && utilization >= threshold;
  if (over && !thread.warnedUtilization)
    emit(draft, threadId, "context_window_warning", {
      utilization,
      tokens: contextTokens(thread.lastUsage),
      limit,
    });
  if (over !== thread.warnedUtilization) changeThread(draft, threadId, { warnedUtilization: over });
};

const note = (draft: Draft, threadId: string, text: string): void => {
  append(draft, threadId, {
    role: "user",
    origin: "system",
    sender: "runtime",
    marks: ["note"],
    parts: [{ type: "text", text }],
  });
};

const fail = (
  draft: Draft,
  threadId: string,
  reason: "output_invalid" | "refusal" | "context_length_exceeded",
  error: string,
): void => runFinished(draft, threadId, { state: "failed", reason, error });

/** The run is over unless somebody steered meanwhile (SE-26). */
export const concluded = (draft: Draft, threadId: string, reason: "end_turn" | "terminal_tool"): void => {
  if (steersOf(draft, threadId).length > 0) turnClosed(draft, threadId);
  else runFinished(draft, threadId, { state: "completed", reason, error: null });
};

const anotherTurn = (draft: Draft, threadId: string, text: string): void => {
  note(draft, threadId, text);
  turnClosed(draft, threadId);
  changeRun(draft, threadId, { phase: { at: "ready" } });
};

const emptied = (draft: Draft, threadId: string): void => {
  const { counters } = runOf(draft, threadId);
  const empty = counters.empty + 1;
  changeCounters(draft, threadId, { empty });
  if (empty < inARow) anotherTurn(draft, threadId, "Your reply was empty. Answer, or call a tool.");
  else if (counters.toolRan) concluded(draft, threadId, "end_turn");
  else fail(draft, threadId, "output_invalid", `the model sent ${empty} empty replies in a row`);
};

const cutCalls = (draft: Draft, threadId: string, calls: readonly ToolCallPart[]): void => {
  for (const call of calls) {
    const text = `truncated: the reply ended before it was complete, so ${call.name} was not run. Send the call again, shorter.`;
    append(draft, threadId, { role: "tool", origin: "agent", parts: [textResult(call, "error", text)] });
  }
  emit(draft, threadId, "error", {
    code: "output_truncated",
    message: "a reply with tool calls was cut off; none was run",
    retryable: true,
  });
  const count = runOf(draft, threadId).counters.cutCalls + 1;
  changeCounters(draft, threadId, { cutCalls: count });
  if (count >= inARow)
    fail(draft, threadId, "output_invalid", `${count} replies in a row were cut off inside tool calls`);
  else turnClosed(draft, threadId);
};

const cutText = (draft: Draft, threadId: string): void => {
  const count = runOf(draft, threadId).counters.cutText + 1;
  changeCounters(draft, threadId, { cutText: count });
  if (count <= inARow) {
    anotherTurn(
      draft,
      threadId,
      "Your answer was cut off by the length limit. Go on exactly where it stopped.",
    );
    return;
  }
  changeCounters(draft, threadId, { truncated: true });
  concluded(draft, threadId, "end_turn");
};

/** A final text is checked against the run's schema; a violation gets an uncounted repair turn (SE-14). */
const answeredText = (draft: Draft, threadId: string, text: string): void => {
  const run = runOf(draft, threadId);
  const agent = agentOf(draft, threadId);
  const problems = agent.checkOutput(text, run.outputSchema);
  if (problems.length === 0) {
    concluded(draft, threadId, "end_turn");
    return;
  }
  if (run.counters.repairs >= outputRepairs) {
    fail(draft, threadId, "output_invalid", `the answer does not fit the schema: ${problems.join("; ")}`);
    return;
  }
  anotherTurn(
    draft,
    threadId,
    `Your answer does not fit the required schema: ${problems.join("; ")}. Answer again with JSON that fits.`,
  );
  changeCounters(draft, threadId, { repairs: run.counters.repairs + 1 });
  changeRun(draft, threadId, { repair: true });
};

const planned = (draft: Draft, threadId: string, parts: readonly ToolCallPart[]): void => {
  const thread = threadOf(draft, threadId);
  const agent = agentOf(draft, threadId);
  const calls = parts.map((call): Call => ({
    call,
    plan: agent.judge(call, draft.state.grants, thread.depth),
    status: "planned",
    attempts: 0,
    epoch: 0,
    startedAt: null,
    until: null,
    parkedOn: null,
    ask: null,
    edited: null,
    approved: false,
    memo: null,
    outcome: null,
  }));
  changeRun(draft, threadId, { phase: { at: "acting", calls } });
  const { cancel } = runOf(draft, threadId);
  if (cancel !== null) openCallsEnded(draft, threadId, "cancelled", "all");
  else if (steersOf(draft, threadId).some(({ origin }) => origin === "human"))
    openCallsEnded(draft, threadId, "skipped", "all");
};

/** Calls that may not be used are left out before anything is stored (SE-21). */
const usableParts = (draft: Draft, threadId: string, reply: Completion): Completion["parts"] => {
  const agent = agentOf(draft, threadId);
  if (!agent.toolsDisabled) return reply.parts;
  const parts = reply.parts.filter((part) => part.type !== "tool_call");
  if (parts.length < reply.parts.length)
    emit(draft, threadId, "error", {
      code: "tools_disabled",
      message: "tool_access forbids tools; the calls were dropped",
      retryable: false,
    });
  return parts;
};

type Follow = (
  draft: Draft,
  threadId: string,
  reply: { readonly calls: readonly ToolCallPart[]; readonly text: string | null },
) => void;

const refused =
  (error: string): Follow =>
  (draft, threadId, { calls }) => {
    cutResults(draft, threadId, calls);
    fail(draft, threadId, "refusal", error);
  };

const overflowed: Follow = (draft, threadId, { calls }) => {
  cutResults(draft, threadId, calls);
  fail(draft, threadId, "context_length_exceeded", "the model's context window is full");
};

const cut: Follow = (draft, threadId, { calls, text }) => {
  if (calls.length > 0) cutCalls(draft, threadId, calls);
  else if (text === null) emptied(draft, threadId);
  else cutText(draft, threadId);
};

const whole: Follow = (draft, threadId, { calls, text }) => {
  if (calls.length > 0) planned(draft, threadId, calls);
  else if (text === null) emptied(draft, threadId);
  else answeredText(draft, threadId, text);
};

/** What follows a reply, by how it ended (SE-13). */
const follows: Record<Completion["finish"], Follow> = {
  stop: whole,
  tool_calls: whole,
  length: cut,
  paused: cut,
  refusal: refused("the model refused"),
  filtered: refused("the provider filtered the answer"),
  context_full: overflowed,
};

const sayDropped = (draft: Draft, threadId: string, { dropped = [], model }: Completion): void => {
  const fresh = dropped
    .map((name) => `${model}: ${name}`)
    .filter((name) => !draft.state.dropped.includes(name));
  if (fresh.length === 0) return;
  const message = `left out, since the model does not take it: ${fresh.join(", ")}`;
  emit(draft, threadId, "error", { code: "param_dropped", message, retryable: false });
  draft.state = { ...draft.state, dropped: [...draft.state.dropped, ...fresh] };
};

/** A completed attempt of the current phase; anything else was refused before. */
export const answered = (draft: Draft, threadId: string, reply: Completion): void => {
  const run = runOf(draft, threadId);
  const attempt = run.phase.at === "thinking" ? run.phase.attempt : 1;
  itemsOpened(draft, threadId, openItems(run, attempt, reply));
  accounted(draft, threadId, reply);
  sayDropped(draft, threadId, reply);
  const parts = usableParts(draft, threadId, reply);
  const calls = parts.filter((part): part is ToolCallPart => part.type === "tool_call");
  const visible = hasContent({ parts });
  if (visible) append(draft, threadId, { role: "assistant", origin: "agent", parts }, calls.length === 0);
  warnOfWindow(draft, threadId);
  changeRun(draft, threadId, { phase: { at: "ready" } });
  resetStreaks(draft, threadId, reply, calls.length > 0, visible);
  follows[reply.finish](draft, threadId, { calls, text: visible ? textOf(parts) : null });
};

const resetStreaks = (
  draft: Draft,
  threadId: string,
  reply: Completion,
  acts: boolean,
  visible: boolean,
): void => {
  const { counters } = runOf(draft, threadId);
  const wasCut = follows[reply.finish] === cut;
  changeCounters(draft, threadId, {
    cutCalls: wasCut && acts ? counters.cutCalls : 0,
    cutText: wasCut && !acts ? counters.cutText : 0,
    empty: visible ? 0 : counters.empty,
  });
};

/** Calls of a reply that is not continued: each has its result, none was run. */
const cutResults = (draft: Draft, threadId: string, calls: readonly ToolCallPart[]): void => {
  const text = "truncated: the reply was not completed; this did not run.";
  for (const call of calls)
    append(draft, threadId, { role: "tool", origin: "agent", parts: [textResult(call, "error", text)] });
};
