import type { StreamEnd, StreamFrame, StreamQuery, TakeFrames } from "./frames.ts";
import { LimpetError } from "./http.ts";
import type { Http } from "./http.ts";

/** This file reads a session's stream as server-sent events, for networks that let no WebSocket through. */

/** The server writes a heartbeat every 15 s; a connection without any for this long is dead. */
const silence = 40_000;

export interface EventSourceOptions {
  readonly http: Http;
  readonly path: string;
  readonly query: StreamQuery;
  readonly take: TakeFrames;
  readonly signal: AbortSignal;
  /** The stream is ended after so many milliseconds. */
  readonly lasts: number;
}

/**
 * Reads one block of a stream, whose data stand last; only durable events have an id. Comments are no frames, nor
 * heartbeats, which say nothing.
 */
const readBlock = (block: string): StreamFrame | null => {
  const at = `\n${block}`.indexOf('\ndata: {"');
  if (at < 0) return null;
  const value = JSON.parse(block.slice(at + 6)) as unknown;
  return (block.slice(0, at).includes("id: ") ? { type: "event", event: value } : value) as StreamFrame;
};

const readBlocks = async (
  body: ReadableStream<Uint8Array>,
  take: (frames: readonly StreamFrame[]) => void | Promise<void>,
  heard: () => void,
  signal: AbortSignal,
): Promise<void> => {
  const reader = body.getReader();
  // A stream that its own fetch has ended refuses to be cancelled once more.
  signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined));
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    const frames = blocks.flatMap((block) => readBlock(block) ?? []);
    if (frames.length > 0) await take(frames);
  }
};

/** Reads until the connection ends or the signal is aborted; never rejects. */
export const readEventSource = async ({
  http,
  path,
  query,
  take,
  signal,
  lasts,
}: EventSourceOptions): Promise<StreamEnd> => {
  const dead = new AbortController();
  const ended = AbortSignal.any([signal, dead.signal]);
  const abort = (): void => dead.abort();
  const end = setTimeout(abort, lasts);
  let timer = setTimeout(abort, silence);
  let opened = false;
  let problem: StreamEnd["problem"];
  let code = 1006;
  try {
    const { body } = await http.fetch({
      method: "GET",
      path: `${path}/events`,
      query: { ...query },
      headers: { Accept: "text/event-stream" },
      signal: ended,
    });
    const takeAll: TakeFrames = (frames) => {
      opened = true;
      for (const frame of frames) {
        if (frame.type === "error") problem = frame.problem;
        if (frame.type === "bye") code = frame.code;
      }
      return take(frames);
    };
    if (body !== null)
      await readBlocks(
        body,
        takeAll,
        () => {
          clearTimeout(timer);
          timer = setTimeout(abort, silence);
        },
        ended,
      );
  } catch (fault) {
    if (fault instanceof LimpetError) problem = fault.problem;
  } finally {
    clearTimeout(timer);
    clearTimeout(end);
  }
  return { code, opened, problem };
};
