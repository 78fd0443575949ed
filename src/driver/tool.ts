import { recordCommands, hasRunningCommands } from "../agent/calls/background-commands.ts";
import type { CallSettlement } from "../agent/calls/tool-calls.ts";
import { endCall, createCallResult, elapsedOf, parkCall } from "../agent/calls/tool-calls.ts";
import { comparableText } from "../agent/context/history.ts";
import type { BoundTool } from "../agent/definition/agent.ts";
import { startChildren } from "../agent/delegation/requests.ts";
import { applyServerReport } from "../agent/hooks/servers.ts";
import type { Call } from "../agent/state/call.ts";
import { argsOf } from "../agent/state/call.ts";
import type { Session } from "../agent/state/session.ts";
import { lifetimeOf } from "../agent/state/session.ts";
import { storeOutput, watchTask } from "../agent/stores/tasks.ts";
import type { DraftCall, StoredBlob, ThreadDraft } from "../agent/transaction/draft.ts";
import { agentOf, selectThread } from "../agent/transaction/draft.ts";
import { changeCall, parkCallOnAnswer, parkCallOnAsk } from "../agent/turn/ask-answers.ts";
import { takeArguments } from "../tools/arguments.ts";
import { canonicalJson } from "../tools/canonical.ts";
import type { Parked, ServerReport, Tool, ToolOutput, ToolContext } from "../tools/define-tool.ts";
import { toolError, toToolError } from "../tools/errors.ts";
import {
  createAttachments,
  findCurrentCall,
  createCallTime,
  createToolContext,
  writeSharedNotes,
} from "./tool-context.ts";
import type { CacheKey, WorkContext, Host } from "./host.ts";
import type { ToolStart, Attachments } from "./tool-context.ts";
import { createLazyAbort, withTimeout } from "./host.ts";
import type { ContentPart, ResultStatus } from "../chat/message.ts";
import { syntheticResults } from "../chat/results.ts";
import { utf8Length } from "../chat/tokens.ts";
import { readPark, outputProblem } from "../tools/result-check.ts";

/** Runs one tool call, from the stored `running` to the stored outcome, with its cache and limits. */

/** How a call ended: with an output, or with a wait. */
type ToolOutcome =
  | {
      readonly kind: "output";
      readonly output: ToolOutput;
      readonly status: ResultStatus;
      /** What the cache answered; null means that it was not asked. */
      readonly cache: "hit" | "miss" | null;
      /** Stored bytes that the output shows. */
      readonly kept?: readonly StoredBlob[];
    }
  | { readonly kind: "parked"; readonly park: Parked["parked"]; readonly server: ServerReport | undefined };

/** Returns an outcome with a text that the tool did not return itself. */
const createOutcome = (
  content: ToolOutput["content"],
  status: ResultStatus,
  more: Pick<ToolOutput, "server"> = {},
): ToolOutcome => ({
  kind: "output",
  output: { content, isError: status !== "ok", ...more },
  status,
  cache: null,
});

/** Adds to an output the bytes that it shows. */
const withAttachments = (attachments: Attachments, outcome: ToolOutcome): ToolOutcome => {
  if (outcome.kind === "parked") return outcome;
  const kept = attachments.shown(outcome.output.content);
  if (kept === null) return refuseOutput("an image that it did not attach");
  return kept.length === 0 ? outcome : { ...outcome, kept };
};

const errorOutcome = ({ content }: ToolOutput): ToolOutcome => createOutcome(content, "error");

const cancelledOutcome: ToolOutcome = createOutcome(syntheticResults.cancelledRunning, "cancelled");

const hangingServer: ServerReport = { listChanged: false, failure: "no answer came in time" };

/**
 * Returns the outcome of a timeout: a call that must not be made twice may have taken effect before. A server that has
 * not begun to answer hangs.
 */
const timeoutOutcome = ({ call: { call, plan }, waits }: ToolStart, ms: number): ToolOutcome => {
  const stopped = `${call.name} took longer than ${ms / 1000} s and was stopped`;
  const server = waits ? { server: hangingServer } : {};
  return plan.safety === "unsafe"
    ? createOutcome(
        `unknown: ${stopped}. It may have taken effect: check before repeating it.`,
        "unknown",
        server,
      )
    : createOutcome(toolError("timeout", stopped).content, "error", server);
};

/** Keeps the tool's own report of its end after a cancel: only the tool knows what it did before it stopped. */
const asCancelled = (outcome: ToolOutcome): ToolOutcome => {
  if (outcome.kind === "parked") return cancelledOutcome;
  if (outcome.status === "ok") return outcome;
  const { content } = outcome.output;
  const notice: ContentPart = { type: "text", text: syntheticResults.cancelledRunning };
  return {
    ...outcome,
    output: {
      ...outcome.output,
      content: typeof content === "string" ? `${notice.text}\n${content}` : [notice, ...content],
      isError: true,
    },
    status: "cancelled",
  };
};

const longestDetails = 65_536;

/** Refuses what a tool returned, as if it had thrown. */
const refuseOutput = (what: string): never => {
  throw new Error(`the tool returned ${what}`);
};

/** Names what a tool returned: an object that can be stored, or something that is no output. */
const shapeOf = (result: unknown): string => {
  if (result === undefined || result === null) return "nothing";
  if (Array.isArray(result)) return "a list";
  if (Object(result) !== result) return typeof result === "string" ? "a text" : `a ${typeof result}`;
  try {
    return typeof JSON.stringify(result) === "string" ? "object" : "no JSON";
  } catch {
    return "no JSON";
  }
};

/** Checks that a tool returned what tools may return: text or parts, and details that are JSON. */
const checkOutcome = (result: ToolOutput | Parked): ToolOutcome => {
  const shape = shapeOf(result);
  if (shape !== "object") return refuseOutput(`${shape}; its run returns an object like { content: "…" }`);
  if ("parked" in result) {
    const park = readPark(result.parked);
    if (park === null) return refuseOutput("a `parked` value that is no wait");
    return { kind: "parked", park, server: result.server };
  }
  const problem = outputProblem(result);
  if (problem !== null) return refuseOutput(problem);
  const { details } = result;
  if (details !== undefined && utf8Length(JSON.stringify(details)) > longestDetails)
    return refuseOutput("details of more than 64 KiB");
  const status = result.status ?? (result.isError === true ? "error" : "ok");
  return { kind: "output", output: result, status, cache: null };
};

/** The cache holds results of reads until the workspace may have changed. */

const changesWorkspace = (tool: Tool): boolean => tool.workspace === "write" || tool.workspace === undefined;

/** Returns whether a call may use the cache, which it may not while a background command or a person could be writing. */
const isCacheable = ({ host }: WorkContext, threadId: string, { cache }: Tool): boolean =>
  cache === true &&
  host.agent(threadId).cacheResults &&
  !hasRunningCommands(host.read(), host.now()) &&
  host.read().fileChanges.length === 0;

/**
 * Returns the key of a result that may be cached. A read of the workspace is cached only for the thread that makes it,
 * and until a person changes a file, which is a use of the session.
 */
const cacheKeyOf = (
  { updatedAt }: Session,
  threadId: string,
  { plan }: Call,
  { name, workspace }: Tool,
  args: unknown,
): CacheKey => {
  const reads = workspace !== "none";
  const call = canonicalJson([name, args, plan.closed ?? null, ...(reads ? [threadId] : [])]);
  return { call, usedAt: reads ? updatedAt : null };
};

const runCached = async (
  work: WorkContext,
  threadId: string,
  call: Call,
  { tool }: BoundTool,
  args: unknown,
): Promise<ToolOutcome> => {
  const { cache } = work;
  const key = isCacheable(work, threadId, tool)
    ? cacheKeyOf(work.host.read(), threadId, call, tool, args)
    : null;
  const hit = key === null ? undefined : cache.get(key);
  if (hit !== undefined) return { kind: "output", output: hit, status: "ok", cache: "hit" };
  if (changesWorkspace(tool)) cache.clear();
  const before = cache.epoch();
  const outcome = await runTool(work, threadId, call, tool, args);
  if (changesWorkspace(tool)) cache.clear();
  if (key === null || outcome.kind === "parked") return outcome;
  if (outcome.status === "ok" && outcome.output.stores === undefined && outcome.kept === undefined)
    cache.put(key, outcome.output, before);
  return { ...outcome, cache: "miss" };
};

/** Returns the text that loop detectors compare, if that differs from the result itself. */
const comparedTextOf = (
  draft: ThreadDraft,
  { call }: Call,
  content: ToolOutput["content"],
): Pick<CallSettlement, "compared"> => {
  const volatile = agentOf(draft).tools.get(call.name)?.tool.volatile ?? [];
  return volatile.length === 0 ? {} : { compared: comparableText(content, volatile, draft.blobs) };
};

/** Applies the output's changes to the shared stores, and converts it to the form in which it is stored. */
const settleOutput = (
  draft: ThreadDraft,
  call: Call,
  { output, status: given, cache }: Extract<ToolOutcome, { kind: "output" }>,
): CallSettlement => {
  const { exitCode, details, changes, statusText } = output;
  const { content, status, changed } = storeOutput(draft, call.call.id, output, given);
  return {
    result: {
      ...createCallResult(draft, call, status, content),
      ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    },
    durationMs: cache === "hit" ? 0 : elapsedOf(draft, call),
    cached: cache === "hit",
    ...(cache === "miss" ? { missed: true } : {}),
    ...(details === undefined ? {} : { details }),
    ...(changes === undefined ? {} : { changes }),
    ...(statusText === undefined ? {} : { statusText }),
    ...comparedTextOf(draft, call, content),
    ...(changed ? { stored: true } : {}),
  };
};

/** Keeps what a call learned about its tool's MCP server. */
const storeServerReport = (draft: ThreadDraft, { call }: Call, server: ServerReport | undefined): void => {
  const bound = agentOf(draft).tools.get(call.name);
  const isServer = bound !== undefined && draft.state.serverLinks[bound.toolbox] !== undefined;
  if (server !== undefined && isServer) applyServerReport(draft, bound.toolbox, server);
};

const parkToolCall = (draft: ThreadDraft, call: DraftCall, park: Parked["parked"]): void => {
  if (park.on === "ask") parkCallOnAsk(draft, call, { question: park.question });
  else if (park.on === "answer") parkCallOnAnswer(draft, call, park.subject, park.memo);
  else if (park.on === "thread") startChildren(draft, call, park);
  else if (park.on === "verdict") changeCall(draft, call, park);
  else if (park.on === "task") watchTask(draft, call, park);
  else parkCall(draft, call, { on: park.on, until: park.until });
};

const storeOutcome = (work: WorkContext, threadId: string, call: Call, outcome: ToolOutcome): void => {
  const { host, settle } = work;
  settle((draft) => {
    const current = findCurrentCall(draft, threadId, call);
    if (current === null) return;
    const acting = selectThread(draft, threadId);
    const { server } = outcome.kind === "parked" ? outcome : outcome.output;
    storeServerReport(acting, current, server);
    if (outcome.kind === "parked") parkToolCall(acting, current, outcome.park);
    else {
      draft.blobs.push(...(outcome.kept ?? []));
      endCall(acting, current, settleOutput(acting, current, outcome));
      recordCommands(acting, outcome.output);
    }
  });
  host.itemsClosed([call.call.id]);
};

/** Runs the call that the state says is running. */
export const runToolCall = async (work: WorkContext, threadId: string, call: Call): Promise<void> => {
  const bound = work.host.agent(threadId).tools.get(call.call.name);
  if (bound === undefined) {
    const gone = toolError("unavailable", `${call.call.name} is not part of this deployment`);
    storeOutcome(work, threadId, call, errorOutcome(gone));
    return;
  }
  const parsed = takeArguments(bound.tool, argsOf(call));
  const outcome = parsed.ok
    ? await runCached(work, threadId, call, bound, parsed.args)
    : errorOutcome(parsed.error);
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
  return host.redactor.value(errorOutcome(toToolError(error)));
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
  const overdue = (): void => end(stop.asked() ? cancelledOutcome : timeoutOutcome(start, ms));
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
    abort,
    waits: false,
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
