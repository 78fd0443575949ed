import { fieldsOf } from "../../chat/json.ts";
import { toResponse } from "../answers.ts";
import { releaseBody } from "../body.ts";
import type { RequestFields } from "../body.ts";
import { missingSession, ProblemError, problemKinds } from "../../session/problems.ts";
import { callSession, readIdempotencyKey } from "../calls.ts";
import type { SessionRequestContext } from "../context.ts";
import { limits } from "../limits.ts";
import { refuseParameter } from "../query.ts";
import type { ServerFrame, SessionWatch } from "./watch.ts";
import { eventOfFrame, watchSession } from "./watch.ts";

/** Sends an input and waits for the end of the run that answers it. */

interface Receipt {
  readonly input: string;
  /** Run that the input was applied to; null while the input waits for one. */
  readonly run: string | null;
  /** Is true if that run is over already. */
  readonly ended: boolean;
  readonly seq: number;
}

/** Reads the receipt as sent; its `run` is merely the active one while the input is not applied. */
function receiptOf(text: string): Receipt {
  const { input, status, run, run_state: ended, seq } = fieldsOf(JSON.parse(text));
  return {
    input: typeof input === "string" ? input : "",
    run: status === "applied" && typeof run === "string" ? run : null,
    ended: ended !== undefined,
    seq: Number(seq),
  };
}

/** Separates the seconds to wait from the body, because they concern the request and not the input. */
function splitWait(
  body: RequestFields,
  unasked: number,
): { readonly wait: number; readonly input: RequestFields } {
  const { wait = unasked, ...input } = body;
  if (typeof wait === "number" && wait >= 0 && wait <= limits.wait_seconds) {
    return { wait, input };
  }
  return refuseParameter(
    "wait",
    `expected a number of seconds from 0 to ${limits.wait_seconds}`,
    "out_of_range",
  );
}

const watchedTypes = [
  "input_applied",
  "input_withdrawn",
  "input_returned",
  "run_waiting",
  "run_end",
  "tool_call_end",
];

/** Lets the sender follow its own input even if its key may only write; only the ids and kinds of asks are revealed. */
const allowReading = (context: SessionRequestContext): SessionRequestContext => ({
  ...context,
  principal: { ...context.principal, scopes: [...context.principal.scopes, "sessions:read", "asks:answer"] },
});

const fieldsIn = (list: unknown): readonly RequestFields[] => (Array.isArray(list) ? list.map(fieldsOf) : []);

/** Outcome of waiting: the run that ended with the input, or what its receipt says by now, or neither. */
interface WaitOutcome {
  readonly run?: string;
  /** The run of the input, the asks whose answers it needs to go on, or the end of an input that no run takes up. */
  readonly receipt?: RequestFields;
}

/** State of an input according to the stream so far. */
interface InputProgress {
  /** Newest event that was seen. */
  readonly seq: number;
  readonly run: string | null;
  readonly live: boolean;
  /** Whether asks may be open, beside which other work may end. */
  readonly asking: boolean;
  /** Whether only answers may be left that can continue the session: it has to be read. */
  readonly doubtful: boolean;
  readonly outcome: WaitOutcome | null;
}

/**
 * Reads the open asks that a run, or else the active one, waits for: an outcome if only answers can continue the
 * session.
 */
async function readAsks(
  context: SessionRequestContext,
  asked: string | null,
): Promise<Pick<InputProgress, "doubtful" | "asking" | "outcome">> {
  const session = await callSession(context, { op: "get", params: {} });
  const { status, waiting_for, active_run, open_asks } = fieldsOf(JSON.parse(session.json));
  const asking = Array.isArray(open_asks) && open_asks.length > 0;
  const reasons = fieldsIn(waiting_for).filter(({ kind }) => kind !== "thread");
  const needsAnswer = reasons.length > 0 && reasons.every(({ kind }) => kind === "ask");
  const run = asked ?? active_run;
  if (status !== "waiting" || !needsAnswer || typeof run !== "string")
    return { doubtful: false, asking, outcome: null };
  const found = await callSession(context, { op: "asks", params: { run, limit: 200 } });
  const asks = fieldsIn(fieldsOf(JSON.parse(found.json))["data"]).map(({ id, kind }) => ({ id, kind }));
  return { doubtful: false, asking, outcome: asks.length > 0 ? { receipt: { asks } } : null };
}

/** Returns what an event changes. */
function changeBy(
  { type, run: its, data }: NonNullable<ReturnType<typeof eventOfFrame>>,
  { run, asking }: InputProgress,
  input: string,
): Partial<InputProgress> {
  const isOwn = data["input"] === input;
  switch (type) {
    case "input_applied":
      return isOwn ? { run: its ?? run } : {};
    case "input_withdrawn":
    case "input_returned":
      return isOwn ? { outcome: { receipt: { status: type.slice("input_".length), run: null } } } : {};
    case "run_waiting":
      return { doubtful: true, asking: true };
    case "run_end":
      return run !== null && its === run ? { outcome: { run } } : { doubtful: asking };
    case "tool_call_end":
      return { doubtful: asking };
    default:
      return {};
  }
}

function advanceProgress(before: InputProgress, frame: ServerFrame, input: string): InputProgress {
  if (frame.type === "live") return { ...before, live: true };
  const event = eventOfFrame(frame);
  return event === null ? before : { ...before, seq: event.seq, ...changeBy(event, before, input) };
}

/** Follows an input on one stream to an outcome, or until the stream breaks off. */
async function followInput(
  context: SessionRequestContext,
  source: SessionWatch,
  input: string,
  from: InputProgress,
): Promise<InputProgress> {
  let progress: InputProgress = { ...from, live: false };
  for await (const frame of framesOf(source)) {
    progress = advanceProgress(progress, frame, input);
    if (progress.outcome !== null) break;
    if (!progress.live || !progress.doubtful) continue;
    progress = { ...progress, ...(await readAsks(context, progress.run)) };
    if (progress.outcome !== null) break;
  }
  return progress;
}

async function* framesOf(source: SessionWatch): AsyncGenerator<ServerFrame> {
  for await (const frames of source.batches) yield* frames;
}

/** Watches the session once, until an outcome, the end of the stream or that of the wait; throws why it cannot be watched. */
async function watchInput(
  context: SessionRequestContext,
  input: string,
  from: InputProgress,
  over: AbortSignal,
): Promise<InputProgress> {
  const source = await watchSession(context, { after: from.seq, deltas: "none", types: watchedTypes });
  const close = (): void => source.close();
  over.addEventListener("abort", close);
  if (over.aborted) close();
  try {
    const progress = await followInput(context, source, input, from);
    const ending = source.ending();
    if (progress.outcome === null && !problemKinds[ending.code].retryable) throw new ProblemError(ending);
    return progress;
  } finally {
    over.removeEventListener("abort", close);
    close();
  }
}

/** Reads a page of what has happened since, where the session takes no more watchers. */
async function readOn(
  context: SessionRequestContext,
  input: string,
  from: InputProgress,
): Promise<InputProgress> {
  const page = await callSession(context, {
    op: "events",
    params: { after: from.seq, types: watchedTypes.join() },
  });
  const { data, next_after: read } = fieldsOf(JSON.parse(page.json));
  const progress = fieldsIn(data)
    .map((event) => ({ type: "event", event }))
    .reduce<InputProgress>(
      (before, frame) => (before.outcome === null ? advanceProgress(before, frame, input) : before),
      { ...from, seq: Number(read) },
    );
  return progress.outcome === null && progress.doubtful
    ? { ...progress, ...(await readAsks(context, progress.run)) }
    : progress;
}

/** Milliseconds until a session that could not be watched is tried again. */
const pauseMs = 1_000;

async function pauseUnlessOver(over: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, pauseMs);
  over.addEventListener("abort", () => resolve());
  if (over.aborted) resolve();
  await promise;
  clearTimeout(timer);
}

const isFinal = (thrown: unknown): boolean =>
  thrown instanceof ProblemError && !problemKinds[thrown.problem.code].retryable;

/** Returns whether the session was deleted, and the input with it. */
const isGone = (thrown: unknown): boolean =>
  thrown instanceof ProblemError && thrown.problem.code === missingSession.code;

/**
 * Follows an input until `over`. The session has the input, so that a stream that breaks off, as in a crash or a deploy,
 * is opened again after the last event, and no failure to watch is one of the input unless the session is gone.
 */
async function followToOutcome(
  context: SessionRequestContext,
  { input, run, seq }: Receipt,
  over: AbortSignal,
): Promise<WaitOutcome> {
  // The run may wait already: the commit that took the input opens an ask where no budget allows a call.
  let progress: InputProgress = { seq, run, live: false, doubtful: true, asking: true, outcome: null };
  while (progress.outcome === null && !over.aborted) {
    try {
      const next = await watchInput(context, input, progress, over);
      if (next.outcome === null && !next.live) await pauseUnlessOver(over);
      progress = next;
    } catch (thrown) {
      if (isGone(thrown)) throw thrown;
      if (isFinal(thrown)) break;
      await pauseUnlessOver(over);
      progress = await readOn(context, input, progress).catch(() => progress);
    }
  }
  const { run: its, outcome } = progress;
  // A repeated command gets its first receipt, and a queued input may have been applied since its own.
  const applied = its === null ? {} : { status: "applied", run: its };
  return outcome?.run === undefined ? { receipt: { ...applied, ...outcome?.receipt } } : outcome;
}

/** Follows an input for some seconds at most. */
async function waitForRun(
  context: SessionRequestContext,
  receipt: Receipt,
  seconds: number,
): Promise<WaitOutcome> {
  const over = new AbortController();
  const end = (): void => over.abort();
  const timer = setTimeout(end, seconds * 1000);
  context.request.signal.addEventListener("abort", end);
  try {
    return await followToOutcome(context, receipt, over.signal);
  } finally {
    clearTimeout(timer);
    context.request.signal.removeEventListener("abort", end);
  }
}

/** Sends an input: 202 with the receipt, and the asks that the run waits for, or 200 with the run if it ended within `wait` seconds. */
export async function sendAndWait(
  context: SessionRequestContext,
  body: RequestFields,
  defaultWait: number,
): Promise<Response> {
  const { wait, input } = splitWait(body, defaultWait);
  const key = readIdempotencyKey(context.request, body);
  const reply = await callSession(context, { op: "send", params: input, key });
  releaseBody(context.request);
  if (wait === 0) return toResponse(reply);
  const reader = allowReading(context);
  const receipt = receiptOf(reply.json);
  const { run, receipt: now } =
    receipt.ended && receipt.run !== null ? { run: receipt.run } : await waitForRun(reader, receipt, wait);
  if (run === undefined)
    return toResponse({ ...reply, json: JSON.stringify({ ...fieldsOf(JSON.parse(reply.json)), ...now }) });
  const ended = await callSession(reader, { op: "run", params: { run } });
  return toResponse({ ...reply, status: 200, json: ended.json });
}
