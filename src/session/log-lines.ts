import type { RunLogger } from "../agent/definition/agent.ts";
import type { SessionEvent } from "../agent/state/events.ts";
import { modelCallOf } from "../agent/state/phase.ts";
import type { Session } from "../agent/state/session.ts";
import { textOf } from "../chat/text.ts";
import type { LogLevel } from "../tools/log-line.ts";
import { isLogged } from "../tools/log-line.ts";

/** Line of a run's log, with its level. */
export interface RunLine {
  readonly level: RunLogger["level"];
  readonly msg: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Returns the run, thread and agent that a line is about. */
const runOfLine = ({ run, thread, agent }: SessionEvent) => ({ run, thread, agent: agent.name });

const startLine = (events: readonly SessionEvent[], event: SessionEvent, content: boolean) => ({
  msg: "run_start",
  fields: {
    ...runOfLine(event),
    ...(content
      ? {
          text: events
            .flatMap(({ type, run, data }) =>
              type === "message_added" && run === event.run && data.message.role === "user"
                ? [textOf(data.message.parts)]
                : [],
            )
            .join("\n"),
        }
      : {}),
  },
});

const endLine = (event: Extract<SessionEvent, { type: "run_end" }>, content: boolean) => {
  const { state, reason, error, result } = event.data;
  const { turns, duration_ms, cost_usd, text } = result;
  return {
    msg: "run_end",
    fields: {
      ...runOfLine(event),
      state,
      reason,
      turns,
      duration_ms,
      cost_usd,
      ...(content ? { error: error?.detail ?? null, text } : {}),
    },
  };
};

/**
 * Lists the log lines of a thread's agent for a commit: the outer logger begins first and ends last. The text
 * of an error may quote an answer, so it appears only where texts are logged.
 */
export const runLines = (
  events: readonly SessionEvent[],
  loggersOf: (thread: string) => readonly RunLogger[],
): readonly RunLine[] =>
  events.flatMap((event): readonly RunLine[] => {
    if (event.type !== "run_start" && event.type !== "run_end" && event.type !== "error") return [];
    const loggers = loggersOf(event.thread);
    const ordered = event.type === "run_start" ? loggers : loggers.toReversed();
    return ordered.map(({ level, content }): RunLine => {
      if (event.type === "run_start") return { level, ...startLine(events, event, content) };
      if (event.type === "run_end") return { level, ...endLine(event, content) };
      const { code, message } = event.data;
      return {
        level: "error",
        msg: "run_error",
        fields: { ...runOfLine(event), code, ...(content ? { message } : {}) },
      };
    });
  });

interface EndedStep {
  readonly level: LogLevel;
  readonly code: string;
  readonly step?: string | undefined;
  /** The model of a failed attempt, as `provider/model`. */
  readonly model?: string | undefined;
  readonly duration_ms?: number;
}

/** Names an attempt; those of effects carry no number. */
const attemptNameOf = ({ run, turn, attempt }: SessionEvent): string =>
  [run, turn, attempt].filter((part) => part !== undefined).join(".");

/** Returns how an attempt failed; `before` knows of its call. */
const failedAttemptOf = (
  event: Extract<SessionEvent, { type: "attempt_aborted" }>,
  before: Session,
  now: number,
): EndedStep => {
  const { code } = event.data;
  const call = modelCallOf(before.threads[event.thread]?.run ?? null);
  return {
    level: code === "cancelled" ? "debug" : "warn",
    step: attemptNameOf(event),
    model: call === null ? undefined : `${call.target.provider}/${call.target.model}`,
    code,
    duration_ms: now - (call?.startedAt ?? now),
  };
};

/** Returns the step that an event ends. A failed attempt is a warning; an error that is not retried is an error. */
const endedStepOf = (event: SessionEvent, before: Session, now: number): EndedStep | null => {
  const { type, data } = event;
  if (type === "llm_finish")
    return {
      level: "debug",
      step: attemptNameOf(event),
      code: data.finish_reason,
      duration_ms: data.duration_ms,
    };
  if (type === "tool_call_end")
    return { level: "debug", step: event.call, code: data.outcome, duration_ms: data.duration_ms };
  if (type === "mcp_status" && data.state !== "connected")
    return { level: data.state === "auth_needed" ? "info" : "warn", step: data.server, code: data.state };
  if (type === "effect_applied")
    return { level: "debug", step: data.kind, code: data.stopped ? "stopped" : "applied" };
  if (type === "attempt_aborted") return failedAttemptOf(event, before, now);
  return type === "error" ? { level: data.retryable ? "warn" : "error", code: data.code } : null;
};

const lineNames: Readonly<Partial<Record<SessionEvent["type"], string>>> = {
  error: "error",
  mcp_status: "mcp_server",
};

/** Returns what went wrong, which may quote an answer or what a team's code threw. */
const reasonOf = ({ type, data }: SessionEvent): { readonly message?: string } => {
  if (type === "error") return { message: data.message };
  return type === "mcp_status" && data.error !== undefined ? { message: data.error } : {};
};

/**
 * Returns the log lines, of at least a level, for the model attempts, tool calls and acting effects that a
 * commit ended; `before` is the state before it. No user text is logged. On a developer's machine the lines
 * of errors, and of MCP servers that cannot be used, say why.
 */
export const stepLines = (
  events: readonly SessionEvent[],
  before: Session,
  now: number,
  least: LogLevel,
  isDevelopment: boolean,
): readonly RunLine[] =>
  events.flatMap((event): readonly RunLine[] => {
    const ended = endedStepOf(event, before, now);
    if (ended === null || !isLogged(ended.level, least)) return [];
    const { level, step, model, code, duration_ms } = ended;
    const { run, thread, turn, attempt } = event;
    const reason = isDevelopment ? reasonOf(event) : {};
    const fields = { run, thread, turn, step, attempt, model, code, duration_ms, ...reason };
    return [{ level, msg: lineNames[event.type] ?? "step", fields }];
  });
