import { recordCommands, hasRunningCommands } from "../agent/calls/background-commands.ts";
import type { CallSettlement } from "../agent/calls/finish.ts";
import { endCall, createCallResult, elapsedOf, findCall } from "../agent/calls/finish.ts";
import { pauseCall } from "../agent/calls/open-calls.ts";
import { comparableText } from "../agent/context/history.ts";
import type { BoundTool } from "../agent/definition/agent.ts";
import { startChildren } from "../agent/delegation/requests.ts";
import { applyServerReport } from "../agent/hooks/servers.ts";
import type { Call } from "../agent/state/call.ts";
import { argsOf } from "../agent/state/call.ts";
import type { Session } from "../agent/state/session.ts";
import { lifetimeOf } from "../agent/state/session.ts";
import { storeOutput, watchTask } from "../agent/stores/tasks.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { agentOf } from "../agent/transaction/draft.ts";
import { changeCall, parkCallOnAnswer, parkCallOnAsk } from "../agent/turn/ask-answers.ts";
import { takeArguments } from "../tools/arguments.ts";
import { canonicalJson } from "../tools/canonical.ts";
import type { Parked, Tool, ToolOutput, ToolContext } from "../tools/define-tool.ts";
import { toolError, toToolError } from "../tools/errors.ts";
import { isCallCurrent, createCallTime, createToolContext, writeSharedNotes } from "./tool-context.ts";
import type { ToolOutcome } from "./tool-outcome.ts";
import {
  createOutcome,
  asCancelled,
  cancelledOutcome,
  checkOutcome,
  createAttachments,
  refuseOutput,
  timeoutOutcome,
  withAttachments,
} from "./tool-outcome.ts";
import type { WorkContext } from "./work.ts";
import type { Host } from "./host.ts";
import type { ToolStart } from "./tool-context.ts";
import { createLazyAbort, withTimeout } from "./work.ts";

/** Runs one tool call, from the stored `running` to the stored outcome, with its cache and limits. */

const changesWorkspace = (tool: Tool): boolean => tool.workspace === "write" || tool.workspace === undefined;

/** Returns whether a call may use the cache, which it may not while a background command or a person could be writing. */
const isCacheable = ({ host }: WorkContext, threadId: string, { cache }: Tool): boolean =>
  cache === true &&
  host.agent(threadId).cacheResults &&
  !hasRunningCommands(host.read(), host.now()) &&
  host.read().fileChanges.length === 0;

/**
 * Returns the key of a cached result. A read of the workspace is cached only for the thread that makes it, and until a
 * person changes a file, which is a use of the session.
 */
const cacheKeyOf = (
  { updatedAt }: Session,
  threadId: string,
  { plan }: Call,
  { name, workspace }: Tool,
  args: unknown,
): string =>
  canonicalJson([name, args, plan.closed ?? null, ...(workspace === "none" ? [] : [threadId, updatedAt])]);

const runCached = async (
  work: WorkContext,
  threadId: string,
  call: Call,
  { tool }: BoundTool,
  args: unknown,
): Promise<ToolOutcome> => {
  const { cache } = work;
  const enabled = isCacheable(work, threadId, tool);
  const key = enabled ? cacheKeyOf(work.host.read(), threadId, call, tool, args) : "";
  const hit = enabled ? cache.get(key) : undefined;
  if (hit !== undefined) return { kind: "output", output: hit, status: "ok", cache: "hit" };
  if (changesWorkspace(tool)) cache.clear();
  const before = cache.epoch();
  const outcome = await runTool(work, threadId, call, tool, args);
  if (changesWorkspace(tool)) cache.clear();
  if (!enabled || outcome.kind === "parked") return outcome;
  if (outcome.status === "ok" && outcome.output.stores === undefined && outcome.kept === undefined)
    cache.put(key, outcome.output, before);
  return { ...outcome, cache: "miss" };
};

/** Returns the text that loop detectors compare, if that differs from the result itself. */
const comparedTextOf = (
  draft: Draft,
  threadId: string,
  { call }: Call,
  content: ToolOutput["content"],
): Pick<CallSettlement, "compared"> => {
  const volatile = agentOf(draft, threadId).tools.get(call.name)?.tool.volatile ?? [];
  return volatile.length === 0 ? {} : { compared: comparableText(content, volatile) };
};

/** Converts an output to the form in which it is stored. */
const settlementOf = (
  draft: Draft,
  threadId: string,
  call: Call,
  {
    output: { content, exitCode, details, changes, statusText },
    status,
    cache,
  }: Extract<ToolOutcome, { kind: "output" }>,
): CallSettlement => ({
  result: {
    ...createCallResult(draft, threadId, call, status, content),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
  },
  durationMs: cache === "hit" ? 0 : elapsedOf(draft, call),
  cached: cache === "hit",
  ...(cache === "miss" ? { missed: true } : {}),
  ...(details === undefined ? {} : { details }),
  ...(changes === undefined ? {} : { changes }),
  ...(statusText === undefined ? {} : { statusText }),
  ...comparedTextOf(draft, threadId, call, content),
});

/** Settles the call and applies the output's changes to the shared stores. */
const settleStores = (
  draft: Draft,
  threadId: string,
  call: Call,
  outcome: Extract<ToolOutcome, { kind: "output" }>,
): CallSettlement => {
  const author = { thread: threadId, call: call.call.id };
  const { content, status, changed } = storeOutput(draft, author, outcome.output, outcome.status);
  const output = { ...outcome.output, content };
  const settlement = settlementOf(draft, threadId, call, { ...outcome, status, output });
  return changed ? { ...settlement, stored: true } : settlement;
};

/** Keeps what a call learned about its tool's MCP server. */
const storeServerReport = (draft: Draft, threadId: string, { call }: Call, { server }: ToolOutput): void => {
  const bound = agentOf(draft, threadId).tools.get(call.name);
  const isServer = bound !== undefined && draft.state.serverLinks[bound.toolbox] !== undefined;
  if (server !== undefined && isServer) applyServerReport(draft, threadId, bound.toolbox, server);
};

const parkToolCall = (draft: Draft, threadId: string, call: Call, park: Parked["parked"]): void => {
  if (park.on === "ask") parkCallOnAsk(draft, threadId, call, { question: park.question });
  else if (park.on === "answer") parkCallOnAnswer(draft, threadId, call, park.subject, park.memo);
  else if (park.on === "thread") startChildren(draft, threadId, call, park);
  else if (park.on === "verdict") changeCall(draft, threadId, call, park);
  else if (park.on === "task") watchTask(draft, threadId, call.call.id, park);
  else pauseCall(draft, threadId, call.call.id, { on: park.on, until: park.until });
};

const storeOutcome = (work: WorkContext, threadId: string, call: Call, outcome: ToolOutcome): void => {
  const { host, settle } = work;
  const { id } = call.call;
  settle((draft) => {
    const current = findCall(draft.state.threads[threadId]?.run ?? null, id);
    if (current === null || !isCallCurrent(draft.state, threadId, call, host.epoch)) return;
    if (outcome.kind === "parked") parkToolCall(draft, threadId, current, outcome.park);
    else {
      draft.blobs.push(...(outcome.kept ?? []));
      storeServerReport(draft, threadId, current, outcome.output);
      endCall(draft, threadId, id, settleStores(draft, threadId, current, outcome));
      recordCommands(draft, threadId, outcome.output);
    }
  });
  host.itemsClosed([id]);
};

/** Runs the call that the state says is running. */
export const runToolCall = async (work: WorkContext, threadId: string, call: Call): Promise<void> => {
  const { host } = work;
  const agent = host.agent(threadId);
  const bound = agent.tools.get(call.call.name) ?? null;
  if (bound === null) {
    const gone = createOutcome(
      toolError("unavailable", `${call.call.name} is not part of this deployment`).content,
      "error",
    );
    storeOutcome(work, threadId, call, gone);
    return;
  }
  const parsed = takeArguments(bound.tool, argsOf(call));
  const outcome = parsed.ok
    ? await runCached(work, threadId, call, bound, parsed.args)
    : createOutcome(parsed.error.content, "error");
  storeOutcome(work, threadId, call, outcome);
};

/** Runs one tool in isolation, with its own signal, deadline and error boundary. */

/** A timer with a longer timeout fires at once. */
const longestTimeout = 2_147_483_647;

/** Returns the call's timeout in milliseconds. */
const timeoutOf = (tool: Tool, args: unknown, command: ToolContext["commandTimeout"]): number => {
  const ms = tool.timeout(args, command);
  const isTime = Number.isFinite(ms) && ms > 0 && ms <= longestTimeout;
  return isTime ? ms : refuseOutput("a timeout that is not a number of milliseconds");
};

/** Turns what a tool threw into an output for the model; logs it unless the call has its outcome already. */
const takeThrown = (
  host: Host,
  { thread, call: { call }, ended }: Pick<ToolStart, "thread" | "call" | "ended">,
  error: unknown,
): ToolOutcome => {
  if (!ended) host.logThrown({ thread, step: call.id, tool: call.name }, error);
  return host.redactor.value(createOutcome(toToolError(error).content, "error"));
};

const notesTimeoutMs = 10_000;

const notesUnknown = "unknown: The shared notes did not answer in time. Read them before you write again.";

/** Writes shared notes before the outcome is stored; writing them again after a crash changes nothing. */
const withSharedNotes = async (
  { host, gone }: WorkContext,
  { agent, key }: ToolContext,
  outcome: ToolOutcome,
): Promise<ToolOutcome> => {
  const notes = host.notes(agent);
  if (notes === null || outcome.kind === "parked" || outcome.status !== "ok") return outcome;
  const changes = outcome.output.stores ?? [];
  const written = await withTimeout({ host, stop: gone }, notesTimeoutMs, async (ending) => ({
    problem: await writeSharedNotes(notes, changes, `${lifetimeOf(host.read())}/${key}`, ending),
  }));
  if (written === null) return createOutcome(notesUnknown, "unknown");
  return written.problem === null ? outcome : createOutcome(written.problem, "error");
};

/**
 * Runs a tool under its own deadline. When the call is cancelled, its signal is aborted and the tool has
 * until the end of the run to report how it ended; a tool that ignores both is abandoned. The signal is
 * aborted at every other end, too: no request of a call outlives it.
 */
const runTool = async (
  work: WorkContext,
  thread: string,
  call: Call,
  tool: Tool,
  args: unknown,
): Promise<ToolOutcome> => {
  const { host, stop, gone } = work;
  let ms: number;
  try {
    ms = timeoutOf(tool, args, host.agent(thread).commandTimeout);
  } catch (error) {
    return takeThrown(host, { thread, call, ended: false }, error);
  }
  const abort = createLazyAbort();
  const given = Promise.withResolvers<ToolOutcome>();
  const end = (outcome: ToolOutcome): void => {
    abort.ask();
    given.resolve(outcome);
  };
  const overdue = (): void => end(stop.asked() ? cancelledOutcome : timeoutOutcome(call, ms));
  const time = createCallTime(host, ms, overdue, abort);
  stop.whenAsked(abort.ask);
  gone.whenAsked(() => end(cancelledOutcome));
  const step = call.call.id;
  const run = host.read().threads[thread]?.run?.id ?? "";
  const attachments = createAttachments(`${run}.${step}.${call.attempts}`);
  const start: ToolStart = {
    thread,
    call,
    time,
    attachments,
    get signal() {
      return abort.signal();
    },
    ended: false,
  };
  const context = createToolContext(work, start);
  void Promise.try(() => tool.run(args, context))
    .then((result) => withAttachments(attachments, host.redactor.value(checkOutcome(result))))
    .then((outcome) => (stop.asked() ? asCancelled(outcome) : outcome))
    .then((outcome) => {
      // The tool has done its work: its time limit must not interrupt a write of its notes.
      time.cancel();
      return start.ended ? outcome : withSharedNotes(work, context, outcome);
    })
    .catch((error: unknown) => (stop.asked() ? cancelledOutcome : takeThrown(host, start, error)))
    .then((outcome) => {
      given.resolve(outcome);
      const code = outcome.kind === "parked" ? "parked" : outcome.status;
      return start.ended ? host.late({ thread, run, step, code }) : undefined;
    });
  try {
    return await given.promise;
  } finally {
    start.ended = true;
    time.cancel();
    abort.ask();
  }
};
