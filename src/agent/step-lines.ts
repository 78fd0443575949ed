import { isLogged } from "../tools/log-line.ts";
import type { LogLevel } from "../tools/log-line.ts";
import type { SessionEvent } from "./events.ts";
import type { RunLine } from "./middleware.ts";
import type { Session } from "./state.ts";

/** The log of finished steps (RE-12): a model attempt, a tool call, an effect that acted. Nothing that anybody wrote. */

interface Ended {
  readonly level: LogLevel;
  readonly code: string;
  readonly step?: string | undefined;
  readonly duration_ms?: number;
}

const attemptOf = ({ run, turn, attempt }: SessionEvent): string => `${run}.${turn}.${attempt}`;

/** Since when a thread's attempt is under way. */
const startedAt = (before: Session, thread: string, now: number): number => {
  const phase = before.threads[thread]?.run?.phase;
  return phase?.at === "thinking" ? phase.startedAt : now;
};

/** The step that an event ends; an attempt that failed passes, an error that nobody repeats needs somebody. */
const endedBy = (event: SessionEvent, before: Session, now: number): Ended | null => {
  const { type, data } = event;
  if (type === "llm_finish")
    return {
      level: "debug",
      step: attemptOf(event),
      code: data.finish_reason,
      duration_ms: data.duration_ms,
    };
  if (type === "tool_call_end")
    return { level: "debug", step: event.call, code: data.outcome, duration_ms: data.duration_ms };
  if (type === "effect_applied")
    return { level: "debug", step: data.kind, code: data.stopped ? "stopped" : "applied" };
  if (type === "attempt_aborted") {
    const level = data.code === "cancelled" ? "debug" : "warn";
    const duration_ms = now - startedAt(before, event.thread, now);
    return { level, step: attemptOf(event), code: data.code, duration_ms };
  }
  return type === "error" ? { level: data.retryable ? "warn" : "error", code: data.code } : null;
};

/** Lines of at least a level about the steps that a commit ended; `before` is the state that it found. */
export const stepLines = (
  events: readonly SessionEvent[],
  before: Session,
  now: number,
  least: LogLevel,
): readonly RunLine[] =>
  events.flatMap((event): readonly RunLine[] => {
    const ended = endedBy(event, before, now);
    if (ended === null || !isLogged(ended.level, least)) return [];
    const { level, step, code, duration_ms } = ended;
    const { run, thread, turn, attempt } = event;
    const fields = { run, thread, turn, step, attempt, code, duration_ms };
    return [{ level, msg: event.type === "error" ? "error" : "step", fields }];
  });
