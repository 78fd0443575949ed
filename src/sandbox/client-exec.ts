import { fromBase64 } from "./base64.ts";
import { SandboxError, type ExecEvent, type ExecReason, type ExecRequest, type Sandbox } from "./contract.ts";
import { EventParser, type ServerEvent } from "./sse.ts";
import { limitTime, startTimeLimit, unlessAborted } from "./time-limit.ts";
import { dropBody, leaveBody } from "./wire.ts";
import type { Wire } from "./wire.ts";

/** Timeout of a poll in milliseconds. */
const pollTimeout = 10_000;
const defaultTimeout = 120_000;
/** Milliseconds for which the start of a command is waited for, before its grace. */
const longestStart = 60_000;
/** Milliseconds to wait before each attempt to connect; the last pause repeats. */
const connectPauses = [0, 0, 50, 200, 1000, 2000];

type ExecMethods = Pick<Sandbox, "exec" | "start" | "attach" | "poll" | "kill">;

const reasons: readonly ExecReason[] = ["exited", "timeout", "killed", "limit", "lost"];

const lostExit: ExecEvent = { type: "exit", exitCode: -1, reason: "lost", durationMs: 0, truncated: false };

interface ExitData {
  readonly exit_code: number;
  readonly reason?: string;
  readonly duration_ms?: number;
  readonly truncated?: boolean;
}

/** Converts an event of the wire to the contract's form; returns null for events without meaning here. */
function toExecEvent({ event, id, data }: ServerEvent, instance: string): ExecEvent | null {
  switch (event) {
    case "start": {
      const { exec_id: execId } = JSON.parse(data) as { exec_id: string };
      return { type: "start", execId, instance };
    }
    case "stdout":
    case "stderr":
      return { type: event, seq: id, data: fromBase64(data) };
    case "exit": {
      const exit = JSON.parse(data) as ExitData;
      const reason = reasons.find((known) => known === exit.reason) ?? "exited";
      const durationMs = exit.duration_ms ?? 0;
      return {
        type: "exit",
        exitCode: exit.exit_code,
        reason,
        durationMs,
        truncated: exit.truncated ?? false,
      };
    }
    case "error": {
      const { error } = JSON.parse(data) as { error?: string };
      throw new SandboxError("exec_transport_error", error ?? "the command could not be run");
    }
    default:
      return null;
  }
}

/** Returns the events of one connection until it ends or is cut; the signal stops the reading. */
async function* eventsOf(response: Response, signal: AbortSignal): AsyncGenerator<ExecEvent> {
  const instance = response.headers.get("Sandbox-Instance") ?? "";
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await unlessAborted(reader.read(), signal);
      if (done) return;
      for (const event of parser.push(value)) {
        const parsed = toExecEvent(event, instance);
        if (parsed !== null) yield parsed;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

const timeOf = ({ timeoutMs = defaultTimeout }: ExecRequest): number => timeoutMs;

const bodyOf = (request: ExecRequest): string =>
  JSON.stringify({
    argv: request.argv,
    exec_id: request.execId,
    cwd: request.cwd,
    timeout_ms: Math.max(1, Math.round(timeOf(request))),
    stdin: request.stdin,
    env: request.env,
    writable_paths: request.writablePaths,
  });

const sleepUnlessAborted = async (ms: number, signal: AbortSignal): Promise<void> => {
  if (ms === 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await unlessAborted(promise, signal).finally(() => clearTimeout(timer));
};

interface FollowRequest {
  readonly execId: string;
  readonly after: number;
  readonly deadline: number;
  /** Milliseconds for one last connection after the deadline. */
  readonly lastLook: number;
  readonly signal: AbortSignal;
}

const pauseBefore = (attempt: number): number =>
  connectPauses[Math.min(attempt, connectPauses.length - 1)] ?? 0;

type StartConnection = (signal: AbortSignal) => Promise<Response>;

/**
 * Returns what to do after a failed connection: attach, resend a command that never arrived, or give up a lost one
 * (null). Without capacity nothing was started: the caller decides how long to wait.
 */
function nextConnection(
  error: unknown,
  attach: StartConnection,
  sent: { readonly start: StartConnection | null; readonly first: boolean; readonly sameMemory: boolean },
): StartConnection | null {
  if (!(error instanceof SandboxError)) return attach;
  if (error.code === "capacity_exceeded" && sent.first) throw error;
  if (error.isUnavailable) return attach;
  if (error.code !== "exec_unknown" || sent.first || sent.start === null) throw error;
  return sent.sameMemory ? sent.start : null;
}

/**
 * Follows a command over any number of connections until `exit`; without `exit` before the deadline and one last
 * connection after it, the stream just ends. Each connection before the first output repeats `start`. `start` sends
 * the command; without it the command has been sent before.
 */
async function* followCommand(
  wire: Wire,
  start: StartConnection | null,
  { execId, after, deadline, lastLook, signal }: FollowRequest,
): AsyncGenerator<ExecEvent> {
  let seen = after;
  const attach: StartConnection = (within) =>
    wire.send({ method: "GET", path: `/exec/${execId}?after=${seen}`, signal: within }, leaveBody);
  let connect: StartConnection | null = start ?? attach;
  let until = deadline;
  const memory = wire.instance();
  for (let attempt = 0; connect !== null; attempt++) {
    if (Date.now() >= until) {
      if (until !== deadline || lastLook === 0) return;
      until = Date.now() + lastLook;
      connect = attach;
    }
    const limit = startTimeLimit(Math.max(Math.ceil(until - Date.now()), 0), signal);
    try {
      await sleepUnlessAborted(pauseBefore(attempt), limit.signal);
      const response = await connect(limit.signal);
      for await (const event of eventsOf(response, limit.signal)) {
        if ("seq" in event) seen = event.seq;
        yield event;
        if (event.type === "exit") return;
      }
      connect = attach;
    } catch (error) {
      signal.throwIfAborted();
      const sameMemory = memory === wire.instance() && until === deadline;
      connect = nextConnection(error, attach, { start, first: attempt === 0, sameMemory });
    } finally {
      limit.stop();
    }
  }
}

/**
 * Returns the client's methods for commands: one stream per command, whatever happens to its connections. `grace`:
 * milliseconds that a command gets beyond its timeout before its outcome counts as unknown.
 */
export function createExec(wire: Wire, grace: number): ExecMethods {
  const post = (request: ExecRequest, signal: AbortSignal): Promise<Response> =>
    wire.send(
      {
        method: "POST",
        path: "/exec",
        body: bodyOf(request),
        headers: { "Content-Type": "application/json" },
        signal,
      },
      leaveBody,
    );
  const follow = (request: ExecRequest, ms: number, signal: AbortSignal): AsyncGenerator<ExecEvent> => {
    const start: StartConnection = (bounded) => post(request, bounded);
    const deadline = Date.now() + ms + grace;
    return followCommand(wire, start, {
      execId: request.execId,
      after: 0,
      deadline,
      lastLook: grace / 2,
      signal,
    });
  };
  return {
    exec: async function* (request, signal) {
      for await (const event of follow(request, timeOf(request), signal)) {
        yield event;
        if (event.type === "exit") return;
      }
      yield lostExit;
    },
    start: async (request, signal) => {
      for await (const event of follow(request, Math.min(timeOf(request), longestStart), signal))
        return event.type !== "exit" || event.reason !== "lost";
      return false;
    },
    attach: (execId, after, deadline, signal) =>
      followCommand(wire, null, { execId, after, deadline, lastLook: 0, signal }),
    poll: async (execId, reader) => {
      const query = `reader=${encodeURIComponent(reader)}`;
      const response = await wire.send({ method: "GET", path: `/exec/${execId}?${query}` }, leaveBody);
      return limitTime(pollTimeout, undefined, async (signal) => {
        const events: ExecEvent[] = [];
        for await (const event of eventsOf(response, signal)) if (event.type !== "start") events.push(event);
        return events;
      });
    },
    kill: async (execId) => {
      await wire.send({ method: "DELETE", path: `/exec/${execId}` }, dropBody);
    },
  };
}
