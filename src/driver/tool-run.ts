import type { Attachments } from "../agent/calls/attachments.ts";
import { createAttachments } from "../agent/calls/attachments.ts";
import { findCall } from "../agent/calls/finish.ts";
import { placeOf, validGrants } from "../agent/calls/judge.ts";
import type { Agent } from "../agent/definition/agent.ts";
import type { Call } from "../agent/state/call.ts";
import { argsOf } from "../agent/state/call.ts";
import type { Session } from "../agent/state/session.ts";
import type { StoredBlob } from "../agent/transaction/draft.ts";
import { callOf } from "../agent/transaction/draft.ts";
import type { ContentPart, ResultStatus } from "../chat/message.ts";
import { syntheticResults } from "../chat/results.ts";
import { utf8Length } from "../chat/tokens.ts";
import { viewFrom } from "../sandbox/folder-view.ts";
import type { Parked, Tool, ToolContext, ToolOutput } from "../tools/define-tool.ts";
import { toToolError, toolError } from "../tools/errors.ts";
import { readPark } from "../tools/park-check.ts";
import { noReach } from "../tools/reach.ts";
import { outputProblem } from "../tools/result-check.ts";
import type { Host } from "./host.ts";
import { writeSharedNotes, createStores } from "./stores.ts";
import type { LazyAbort, WorkContext } from "./work.ts";
import { createLazyAbort, withTimeout } from "./work.ts";

/** Runs one tool in isolation, with its own signal, deadline and error boundary. */

/** How a call ended: with an output, or with a wait. */
export type ToolOutcome =
  | {
      readonly kind: "output";
      readonly output: ToolOutput;
      readonly status: ResultStatus;
      /** What the cache answered; null means that it was not asked. */
      readonly cache: "hit" | "miss" | null;
      /** Stored bytes that the output shows. */
      readonly kept?: readonly StoredBlob[];
    }
  | { readonly kind: "parked"; readonly park: Parked["parked"] };

/** Returns whether the state still says that this very start of the call is running. */
export const isCallCurrent = (session: Session, threadId: string, call: Call, epoch: number): boolean => {
  const now = findCall(session.threads[threadId]?.run ?? null, call.call.id);
  return now?.status === "running" && now.attempts === call.attempts && now.epoch === epoch;
};

export const createOutput = (content: ToolOutput["content"], status: ResultStatus): ToolOutcome => ({
  kind: "output",
  output: { content, isError: status !== "ok" },
  status,
  cache: null,
});

/** A timer with a longer timeout fires at once. */
const longestTimeout = 2_147_483_647;

/** Returns the call's timeout in milliseconds. */
const timeoutOf = (tool: Tool, args: unknown, command: ToolContext["commandTimeout"]): number => {
  const ms = tool.timeout(args, command);
  const isTime = Number.isFinite(ms) && ms > 0 && ms <= longestTimeout;
  return isTime ? ms : refuseOutput("a timeout that is not a number of milliseconds");
};

/** Turns what a tool threw into an output for the model; logs it unless the call was to end anyway. */
const takeThrown = (
  { host, stop }: WorkContext,
  thread: string,
  { call: { id, name } }: Call,
  error: unknown,
  ended: boolean,
): ToolOutcome => {
  if (!ended && !stop.asked()) host.logThrown({ thread, step: id, tool: name }, error);
  return host.redactor.value(createOutput(toToolError(error).content, "error"));
};

/** Returns what is stored about the MCP server of a call's tool; null if the tool belongs to no server. */
const serverOf = ({ host }: WorkContext, { tools }: Agent, { call }: Call): ToolContext["server"] => {
  const name = tools.get(call.name)?.toolbox ?? "";
  const link = host.read().serverLinks?.[name];
  if (link === undefined) return null;
  const { connection, retryAt } = link;
  return { connection, retryAt, authorize: host.servers.authorize(name) };
};

/** Lets a call see and change the page of the session's browser while the call is running. */
const createPage = (
  { host, browserLock }: WorkContext,
  threadId: string,
  call: Call,
): ToolContext["page"] => ({
  get: () => host.read().page ?? null,
  set: (page) =>
    host.update((draft) => {
      if (isCallCurrent(draft.state, threadId, call, host.epoch))
        draft.state.page = host.redactor.value(page);
    }),
  lock: browserLock,
});

/** Returns the verdict of rules and grants on a different call of the same kind. */
const createCallJudge =
  ({ host }: WorkContext, threadId: string, call: Call): ToolContext["judge"] =>
  ({ args, page }) => {
    const changed = { ...call.call, args: args === undefined ? argsOf(call) : JSON.stringify(args) };
    const grants = validGrants(host.read().grants, host.grants.known(), host.now());
    const place = placeOf(host.read(), threadId);
    const plan = host.agent(threadId).judge(changed, grants, page === undefined ? place : { ...place, page });
    return plan.refusal === undefined ? plan.verdict : "deny";
  };

const createToolContext = (
  work: WorkContext,
  threadId: string,
  call: Call,
  time: CallTime,
  live: { readonly signal: AbortSignal; readonly ended: boolean },
  attachments: Attachments,
): ToolContext => {
  const { host } = work;
  const session = host.read();
  const thread = session.threads[threadId];
  const agent = host.agent(threadId);
  const writablePaths = agent.tools.get(call.call.name)?.writablePaths ?? agent.writablePaths;
  return {
    callId: call.call.id,
    key: `${thread?.run?.id}/${call.call.id}`,
    attempt: call.attempts,
    get signal() {
      return live.signal;
    },
    get deadline() {
      return time.deadline();
    },
    now: () => host.now(),
    pause: time.pause,
    agent: agent.name,
    thread: threadId,
    session: session.id,
    get sandbox() {
      const { closed } = call.plan;
      const sandbox = viewFrom(host.sandbox(), agent.workingDir);
      return closed === undefined ? sandbox : sandbox.closing(closed);
    },
    ...(writablePaths === null ? {} : { writablePaths }),
    commandTimeout: agent.commandTimeout,
    workingDir: agent.workingDir,
    repository: agent.repository,
    stores: createStores(host, agent, () => live.signal),
    recall: (id) => host.recall(id),
    memo: {
      get: () => findCall(host.read().threads[threadId]?.run ?? null, call.call.id)?.memo ?? null,
      set: (memo) =>
        host.update((draft) => {
          if (isCallCurrent(draft.state, threadId, call, host.epoch))
            callOf(draft, threadId, call.call.id).memo = host.redactor.value(memo);
        }),
    },
    server: serverOf(work, agent, call),
    sees: agent.targets[0]?.media ?? { images: false, documents: false },
    keep: attachments.keep,
    show: createLiveOutput(host, threadId, call, live),
    page: createPage(work, threadId, call),
    judge: createCallJudge(work, threadId, call),
    ...noReach,
  };
};

/**
 * Runs a tool under its own deadline. When the call is cancelled, its signal is aborted and the tool has
 * until the end of the run to report how it ended; a tool that ignores both is abandoned. The signal is
 * aborted at every other end, too: no request of a call outlives it.
 */
export const runTool = async (
  work: WorkContext,
  threadId: string,
  call: Call,
  tool: Tool,
  args: unknown,
): Promise<ToolOutcome> => {
  const { host, stop, gone } = work;
  const agent = host.agent(threadId);
  let ms: number;
  try {
    ms = timeoutOf(tool, args, agent.commandTimeout);
  } catch (error) {
    return takeThrown(work, threadId, call, error, false);
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
  const live = {
    get signal() {
      return abort.signal();
    },
    ended: false,
  };
  const runId = host.read().threads[threadId]?.run?.id ?? "";
  const attachments = createAttachments(`${runId}.${call.call.id}.${call.attempts}`);
  const context = createToolContext(work, threadId, call, time, live, attachments);
  void Promise.try(() => tool.run(args, context))
    .then((result) => withAttachments(attachments, host.redactor.value(checkOutcome(result))))
    .then((outcome) => (stop.asked() ? asCancelled(outcome) : outcome))
    .then((outcome) => {
      // The tool has done its work: its time limit must not interrupt a write of its notes.
      time.cancel();
      return live.ended ? outcome : withSharedNotes(work, context, outcome);
    })
    .catch((error: unknown) =>
      stop.asked() ? cancelledOutcome : takeThrown(work, threadId, call, error, live.ended),
    )
    .then((outcome) => {
      given.resolve(outcome);
      return live.ended ? host.late(lateOutcome(threadId, runId, call, outcome)) : undefined;
    });
  try {
    return await given.promise;
  } finally {
    live.ended = true;
    time.cancel();
    abort.ask();
  }
};

const notesTimeoutMs = 10_000;

const notesUnknown = "unknown: The shared notes did not answer in time. Read them before you write again.";

/** Writes shared notes before the outcome is stored; writing them again after a crash changes nothing. */
const withSharedNotes = async (
  { host, gone }: WorkContext,
  { agent, session, key }: ToolContext,
  outcome: ToolOutcome,
): Promise<ToolOutcome> => {
  const notes = host.notes(agent);
  if (notes === null || outcome.kind === "parked" || outcome.status !== "ok") return outcome;
  const changes = outcome.output.stores ?? [];
  const written = await withTimeout({ host, stop: gone }, notesTimeoutMs, async (ending) => ({
    problem: await writeSharedNotes(notes, changes, `${session}/${key}`, ending),
  }));
  if (written === null) return createOutput(notesUnknown, "unknown");
  return written.problem === null ? outcome : createOutput(written.problem, "error");
};

const lateOutcome = (thread: string, run: string, { call }: Call, outcome: ToolOutcome) => ({
  thread,
  run,
  step: call.id,
  code: outcome.kind === "parked" ? "parked" : outcome.status,
});

/** Adds to an output the bytes that it shows. */
const withAttachments = (attachments: Attachments, outcome: ToolOutcome): ToolOutcome => {
  if (outcome.kind === "parked") return outcome;
  const kept = attachments.shown(outcome.output.content);
  if (kept === null) return refuseOutput("an image that it did not attach");
  return kept.length === 0 ? outcome : { ...outcome, kept };
};

const cancelledOutcome: ToolOutcome = createOutput(syntheticResults.cancelledRunning, "cancelled");

/** Returns the outcome of a timeout: a call that must not be made twice may have taken effect before. */
const timeoutOutcome = ({ call: { name }, plan }: Call, ms: number): ToolOutcome => {
  const stopped = `${name} took longer than ${ms / 1000} s and was stopped`;
  return plan.safety === "unsafe"
    ? createOutput(`unknown: ${stopped}. It may have taken effect: check before repeating it.`, "unknown")
    : createOutput(toolError("timeout", stopped).content, "error");
};

/**
 * Keeps the tool's own report of its end after a cancel: only the tool knows what it did before it stopped.
 */
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
    return park === null ? refuseOutput("a `parked` value that is no wait") : { kind: "parked", park };
  }
  const problem = outputProblem(result);
  if (problem !== null) return refuseOutput(problem);
  const { details } = result;
  if (details !== undefined && utf8Length(JSON.stringify(details)) > longestDetails)
    return refuseOutput("details of more than 64 KiB");
  const status = result.status ?? (result.isError === true ? "error" : "ok");
  return { kind: "output", output: result, status, cache: null };
};

/** Measures the time of a tool call; waiting for a sandbox that is not ready yet does not count. */
interface CallTime {
  /** Returns the deadline in milliseconds since the epoch. */
  readonly deadline: () => number;
  /** Waits for `ms`, or until the call ends; not at all after that. */
  readonly pause: (ms: number) => Promise<void>;
  readonly cancel: () => void;
}

/** Milliseconds of pauses that do not count. */
const mostPaused = 120_000;

const createCallTime = (
  host: Pick<Host, "now" | "after">,
  ms: number,
  over: () => void,
  ending: LazyAbort,
): CallTime => {
  let deadline = host.now() + ms;
  let timer = host.after(ms, over);
  let left = mostPaused;
  const extend = (wait: number): void => {
    timer.cancel();
    deadline += Math.min(wait, left);
    left -= Math.min(wait, left);
    timer = host.after(deadline - host.now(), over);
  };
  return {
    deadline: () => deadline,
    cancel: () => timer.cancel(),
    pause: async (wait) => {
      if (ending.asked()) return;
      extend(wait);
      const { promise, resolve } = Promise.withResolvers<void>();
      const pausing = host.after(wait, resolve);
      ending.whenAsked(() => {
        pausing.cancel();
        resolve();
      });
      return promise;
    },
  };
};

/**
 * Shows a tool's output while it is still coming, until `live` says that it ended. Known secrets are removed: a tail
 * that may begin a secret waits for the text after it.
 */
const createLiveOutput = (
  host: Host,
  thread: string,
  call: Call,
  live: { readonly ended: boolean },
): ToolContext["show"] => {
  const redact = host.redactor.stream();
  const item = call.call.id;
  const attempt = call.attempts;
  let shown = "";
  return (piece) => {
    const data = live.ended ? "" : redact(piece);
    if (data === "") return;
    const off = shown.length;
    shown += data;
    host.itemGrew({ id: item, thread, kind: "tool_output", attempt, text: shown });
    host.show([{ type: "delta", kind: "tool_output_delta", thread, item, attempt, off, data }]);
  };
};
