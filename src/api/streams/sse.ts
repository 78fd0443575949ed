import * as z from "zod";
import { unknownFieldMessage } from "../../session/mistakes.ts";
import { requireEventTypes } from "../../session/event-lines.ts";
import { eventsOperation } from "../../session/operations/queries.ts";
import { streamLimits } from "../../session/frames.ts";
import { ProblemError } from "../../session/problems.ts";
import type { RequestFields } from "../body.ts";
import { callSession } from "../calls.ts";
import type { SessionRequestContext } from "../context.ts";
import { refuseParameter } from "../query.ts";
import type { ServerFrame, WatchHello, SessionWatch } from "./watch.ts";
import { eventOfFrame, problemOfFrame, watchSession } from "./watch.ts";

/** Serves server-sent events: reads the session's WebSocket and writes `text/event-stream`. */

const utf8 = new TextEncoder();

const heartbeatText = utf8.encode("event: heartbeat\ndata: {}\n\n");

const probeText = utf8.encode(":\n\n");

/** Returns whether the request asks for a stream rather than a page: generated clients accept both, the page first. */
export const wantsStream = (request: Request, query: URLSearchParams): boolean => {
  const [first] = /text\/event-stream|application\/json/.exec(request.headers.get("Accept") ?? "") ?? [];
  return query.get("live") === "sse" || first === "text/event-stream";
};

/** Formats a frame for SSE: only durable events have an `id`, so that `Last-Event-ID` is a `seq`. */
function eventText(frame: ServerFrame): string {
  const event = eventOfFrame(frame);
  return event === null
    ? `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`
    : `event: ${event.type}\nid: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
}

const isTexts = (value: unknown): value is readonly string[] | undefined =>
  value === undefined || (Array.isArray(value) && value.every((item) => typeof item === "string"));

const deltasOf = (value: unknown): WatchHello["deltas"] =>
  value === "all" || value === "text" || value === "none"
    ? value
    : value === undefined
      ? "all"
      : refuseParameter("deltas", "is all, text or none.");

/** Returns the cursor to resume from: `Last-Event-ID` takes precedence over `after`. */
function cursorOf(request: Request, after: unknown): number | undefined {
  const last = request.headers.get("Last-Event-ID") || null;
  const value = last ?? after;
  if (value === undefined) return undefined;
  if (typeof value === "string" && /^\d{1,15}$/.test(value)) return Number(value);
  return refuseParameter(last === null ? "after" : "Last-Event-ID", "is the seq of an event, from 0.");
}

const page = eventsOperation.params.shape;

/** Query of a stream. */
export const streamSchema = z.strictObject({
  after: page.before.describe(
    "The last event seen. Without it a page begins with the first event, a stream with a snapshot.",
  ),
  types: page.types,
  thread: page.thread,
  live: z.literal("sse").optional().describe("Streams the events, as Accept: text/event-stream does."),
  deltas: z
    .enum(["all", "text", "none"])
    .optional()
    .describe("For a stream: which pieces of text are sent live; all if absent."),
});

const streamFields = Object.keys(streamSchema.shape).toSorted();

function helloOf(request: Request, query: RequestFields): WatchHello {
  const { after, types, thread, deltas, live: _, ...unknown } = query;
  const [stray] = Object.keys(unknown);
  if (stray !== undefined) refuseParameter(stray, unknownFieldMessage(stray, streamFields), "unknown_field");
  if (!isTexts(types)) return refuseParameter("types", "is a list of event types.");
  requireEventTypes(types ?? []);
  const cursor = cursorOf(request, after);
  return {
    deltas: deltasOf(deltas),
    ...(cursor === undefined ? {} : { after: cursor }),
    ...(types === undefined ? {} : { types }),
    ...(typeof thread === "string" ? { threads: [thread] } : {}),
  };
}

/** Copies frames at the reader's pace, and acknowledges the written frames to the session. */
async function copyFrames(
  source: SessionWatch,
  first: readonly ServerFrame[],
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  const write = (frames: readonly ServerFrame[]) => writer.write(utf8.encode(frames.map(eventText).join("")));
  await writer.write(utf8.encode("retry: 1000\n\n"));
  await write(first);
  for await (const frames of source.batches) await write(frames);
}

/** Milliseconds between writes to a silent reader: behind a proxy only a second failure shows that it has left. */
const probeMs = 3_750;

/** Writes comments to a silent reader, to notice within 10 s that it has left; each fourth time writes a heartbeat. */
function startHeartbeat(writer: WritableStreamDefaultWriter<Uint8Array>): ReturnType<typeof setInterval> {
  let count = 0;
  let written = true;
  return setInterval(() => {
    count += 1;
    if (!written) return;
    written = false;
    const due = count % (streamLimits.heartbeat / probeMs) === 0;
    void writer.write(due ? heartbeatText : probeText).then(
      () => (written = true),
      () => undefined,
    );
  }, probeMs);
}

const headers = { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" };

/** Streams a session's log, to HEAD nothing of it. A refusal before the first frame is an HTTP problem. */
export async function streamEvents(context: SessionRequestContext, query: RequestFields): Promise<Response> {
  const hello = helloOf(context.request, query);
  if (context.request.method === "HEAD") {
    await callSession(context, { op: "events", params: { limit: 1 } });
    return new Response(null, { headers });
  }
  const source = await watchSession(context, hello);
  const opened = await source.batches.next();
  const first = opened.done === true ? [] : opened.value;
  const refused = first.find((frame) => frame.type === "error");
  if (refused !== undefined) {
    source.close();
    throw problemOfFrame(refused);
  }
  if (opened.done === true) throw new ProblemError(source.ending());
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const beat = startHeartbeat(writer);
  const stop = (): void => {
    clearInterval(beat);
    source.close();
  };
  writer.closed.then(stop, stop);
  void copyFrames(source, first, writer)
    .then(() => writer.close())
    .catch((error: unknown) => writer.abort(error))
    .catch(stop);
  return new Response(readable, { headers });
}
