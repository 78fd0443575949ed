import type { Call } from "../agent/state/call.ts";
import type { Tool, ToolContext } from "../tools/define-tool.ts";
import { toToolError } from "../tools/errors.ts";
import { createCallTime, createToolContext } from "./tool-context.ts";
import type { Host } from "./host.ts";
import { writeSharedNotes } from "./stores.ts";
import type { ToolStart } from "./tool-context.ts";
import type { ToolOutcome } from "./tool-outcome.ts";
import {
  asCancelled,
  cancelledOutcome,
  checkOutcome,
  createAttachments,
  createOutcome,
  refuseOutput,
  timeoutOutcome,
  withAttachments,
} from "./tool-outcome.ts";
import type { WorkContext } from "./work.ts";
import { createLazyAbort, withTimeout } from "./work.ts";

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
  { agent, session, key }: ToolContext,
  outcome: ToolOutcome,
): Promise<ToolOutcome> => {
  const notes = host.notes(agent);
  if (notes === null || outcome.kind === "parked" || outcome.status !== "ok") return outcome;
  const changes = outcome.output.stores ?? [];
  const written = await withTimeout({ host, stop: gone }, notesTimeoutMs, async (ending) => ({
    problem: await writeSharedNotes(notes, changes, `${session}/${key}`, ending),
  }));
  if (written === null) return createOutcome(notesUnknown, "unknown");
  return written.problem === null ? outcome : createOutcome(written.problem, "error");
};

/**
 * Runs a tool under its own deadline. When the call is cancelled, its signal is aborted and the tool has
 * until the end of the run to report how it ended; a tool that ignores both is abandoned. The signal is
 * aborted at every other end, too: no request of a call outlives it.
 */
export const runTool = async (
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
