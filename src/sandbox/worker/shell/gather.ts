import { joinBytes } from "../files/bytes.ts";
import { eventBytes } from "./output-log.ts";
import type { Stream } from "./shell.ts";

/** Joins small pieces of output into events: one per turn of the event loop, per change of stream, and per 32 KiB. */
interface Gatherer {
  readonly add: (stream: Stream, bytes: Uint8Array) => void;
  readonly flush: () => void;
}

export function createGatherer(emit: (stream: Stream, bytes: Uint8Array) => void): Gatherer {
  let current: Stream = "stdout";
  let pieces: Uint8Array[] = [];
  let size = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const bytes = joinBytes(pieces);
    pieces = [];
    size = 0;
    if (bytes.length > 0) emit(current, bytes);
  };
  return {
    add: (stream, bytes) => {
      if (stream !== current) flush();
      current = stream;
      pieces.push(bytes);
      size += bytes.length;
      if (size >= eventBytes) flush();
      else timer ??= setTimeout(flush, 0);
    },
    flush,
  };
}
