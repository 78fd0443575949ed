import type { ExecEvent, ExecReason } from "../../sandbox/contract.ts";

/** State of a command as the model sees it. `next_poll_ms` is null once it has ended. */
export interface CommandState {
  readonly state: "running" | ExecReason;
  readonly exit_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly next_poll_ms: number | null;
}

/** Milliseconds between two polls of a running command without new output. */
export const pollInterval = 5_000;

const textOf = (events: readonly ExecEvent[], stream: "stdout" | "stderr"): string => {
  const decoder = new TextDecoder();
  const pieces = events.map((event) =>
    event.type === stream ? decoder.decode(event.data, { stream: true }) : "",
  );
  return pieces.join("") + decoder.decode();
};

export function stateOf(events: readonly ExecEvent[]): CommandState {
  const exit = events.find((event) => event.type === "exit");
  return {
    state: exit?.reason ?? "running",
    exit_code: exit?.exitCode ?? null,
    stdout: textOf(events, "stdout"),
    stderr: textOf(events, "stderr"),
    next_poll_ms: exit === undefined ? pollInterval : null,
  };
}
