import type { Message } from "../chat/message.ts";
import { shownTokens } from "../chat/message.ts";
import { textOf } from "../chat/text.ts";
import { thrownText } from "../tools/errors.ts";
import { agentOf, append, changeCounters, changeThread, retiredBy, runOf, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { SessionEvent } from "./events.ts";
import { answerOf } from "./result.ts";

/** Middleware of an agent's runs (AG-37): what guards its answers, and what its log says. */

/** Checks a final message before it is accepted. */
export interface Guardrail {
  /** Why the text may not pass; null if it may. What it throws fails the run. */
  readonly problem: (text: string) => string | null;
  readonly onFail: "fail" | "retry" | "replace";
  readonly maxRetries: number;
  /** Stands for an answer that was not accepted; null = nothing does. */
  readonly text: string | null;
}

export interface RunLogger {
  readonly level: "error" | "warn" | "info" | "debug";
  /** Whether texts are logged. */
  readonly content: boolean;
}

/** What becomes of a final text. */
export type Accepted =
  | { readonly do: "accept" }
  | { readonly do: "retry"; readonly why: string }
  | {
      readonly do: "fail";
      readonly reason: "output_invalid" | "effect_failed";
      readonly error: string;
    };

/** The answer leaves the view; since nothing of this commit was seen yet, nobody is told of it. It stays stored. */
const answerDropped = (draft: Draft, threadId: string): void => {
  const { chat } = threadOf(draft, threadId);
  const gone = answerOf(chat, runOf(draft, threadId).id);
  const ids = new Set(gone.map(({ id }) => id));
  const isTold = (event: SessionEvent): boolean =>
    event.type === "message_added" && ids.has(event.data.message.id);
  draft.events.splice(0, draft.events.length, ...draft.events.filter((event) => !isTold(event)));
  retiredBy(draft, threadId, gone, { reason: "guardrail" });
  const kept: readonly Message[] = chat.filter(({ id }) => !ids.has(id));
  changeThread(draft, threadId, {
    chat: kept,
    tokens: kept.reduce((sum, each) => sum + shownTokens(each), 0),
  });
};

const answerReplaced = (draft: Draft, threadId: string, text: string | null): void => {
  answerDropped(draft, threadId);
  if (text === null) return;
  append(draft, threadId, { role: "assistant", origin: "system", parts: [{ type: "text", text }] }, true);
};

/** What a guardrail says of a text; what it throws is its own failure (AG-37). */
const judgedBy = (
  { problem }: Guardrail,
  text: string,
): { readonly why: string | null } | { readonly thrown: string } => {
  try {
    return { why: problem(text) };
  } catch (error) {
    return { thrown: thrownText(error) };
  }
};

/** The answer as the guardrails leave it: the innermost checks first (AG-37). */
export const answerGuarded = (draft: Draft, threadId: string): Accepted => {
  const { guardrails } = agentOf(draft, threadId);
  for (const guardrail of guardrails.toReversed()) {
    const { onFail, maxRetries, text } = guardrail;
    const run = runOf(draft, threadId);
    const said = answerOf(threadOf(draft, threadId).chat, run.id).map(({ parts }) => textOf(parts));
    const judged = judgedBy(guardrail, said.join(""));
    if ("thrown" in judged) {
      answerReplaced(draft, threadId, text);
      return { do: "fail", reason: "effect_failed", error: `output_guardrail: ${judged.thrown}` };
    }
    const { why } = judged;
    if (why === null) continue;
    const { rejected = 0 } = run.counters;
    if (onFail === "retry" && rejected < maxRetries) {
      changeCounters(draft, threadId, { rejected: rejected + 1 });
      return { do: "retry", why };
    }
    answerReplaced(draft, threadId, text);
    if (onFail === "replace") continue;
    return { do: "fail", reason: "output_invalid", error: `the answer was not accepted: ${why}` };
  }
  return { do: "accept" };
};

/** A line of a run's log, and its level. */
export interface RunLine {
  readonly level: RunLogger["level"];
  readonly msg: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const startLine = (events: readonly SessionEvent[], { run, thread }: SessionEvent, content: boolean) => ({
  msg: "run_start",
  fields: {
    run,
    thread,
    ...(content
      ? {
          text: events
            .flatMap((event) =>
              event.type === "message_added" && event.run === run && event.data.message.role === "user"
                ? [textOf(event.data.message.parts)]
                : [],
            )
            .join("\n"),
        }
      : {}),
  },
});

const endLine = ({ run, thread, data }: Extract<SessionEvent, { type: "run_end" }>, content: boolean) => {
  const { turns, duration_ms, cost_usd, text } = data.result;
  const { state, reason, error } = data;
  return {
    msg: "run_end",
    fields: { run, thread, state, reason, error, turns, duration_ms, cost_usd, ...(content ? { text } : {}) },
  };
};

/** What the loggers of a thread's agent say of a commit: the outer one begins first and ends last. */
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
        fields: { run: event.run, thread: event.thread, code, message },
      };
    });
  });
