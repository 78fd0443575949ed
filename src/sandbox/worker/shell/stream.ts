import { toBase64 } from "../../base64.ts";
import type { CommandEnd, Commands } from "./commands.ts";
import type { LoggedOutput } from "./output-log.ts";

const frame = (event: string, id: number, data: string): Uint8Array =>
  new TextEncoder().encode(`event: ${event}\nid: ${id}\ndata: ${data}\n\n`);

const outputFrame = ({ stream, seq, data }: LoggedOutput): Uint8Array => frame(stream, seq, toBase64(data));

const exitFrame = (id: number, { exitCode, reason, durationMs, truncated }: CommandEnd): Uint8Array =>
  frame("exit", id, JSON.stringify({ exit_code: exitCode, reason, duration_ms: durationMs, truncated }));

interface FollowOptions {
  readonly execId: string;
  /** Sequence number of the reader's last event. */
  readonly after: number;
  /** Whether to follow a running command; otherwise only existing output is sent. */
  readonly toEnd: boolean;
}

/** Streams the events of a command as SSE, from an event on. A reader that stops does not end the command. */
export function follow(
  commands: Commands,
  { execId, after, toEnd }: FollowOptions,
): ReadableStream<Uint8Array> {
  let cursor = after;
  const now = commands.view(execId, after);
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      if (after === 0) controller.enqueue(frame("start", 0, JSON.stringify({ exec_id: execId })));
    },
    pull: async (controller) => {
      for (;;) {
        const view = toEnd ? commands.viewSettled(execId, cursor) : now;
        for (const event of view.output) controller.enqueue(outputFrame(event));
        cursor = Math.max(cursor, view.output.at(-1)?.seq ?? 0);
        if (view.end !== null) controller.enqueue(exitFrame(Math.max(view.last, cursor) + 1, view.end));
        if (view.end !== null || view.changed === null || !toEnd) {
          controller.close();
          return;
        }
        if (view.output.length > 0) return;
        await view.changed;
      }
    },
  });
}
