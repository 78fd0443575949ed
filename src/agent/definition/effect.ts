import type * as z from "zod";
import type { Json, Message } from "../../chat/message.ts";
import type { FinishReason, Usage } from "../../model/completer.ts";
import type { DataOf, EndReason } from "../state/events.ts";
import type { CallRecord } from "../state/records.ts";
import type { EffectReply, ForceReason } from "../state/run.ts";
import type { ModelTarget } from "./agent.ts";

/** What an effect is: a hook of the loop that sees plain values and gives back edits. */

export type EffectPhase = "before_complete" | "after_complete";

/** A note to the model; it lands at the next legal place. At most 8 000 characters. */
export interface Inject {
  readonly inject: { readonly text: string };
}

/** The model sees `text` instead of a text or result part; dropped unless shorter than what is shown. */
export interface OverlayEdit {
  readonly overlay: {
    /** Id of the message. */
    readonly message: string;
    /** Index of its part. */
    readonly part: number;
    /** Made from the original. A function gets the id under which `recall` reads the original. */
    readonly text: string | ((recall: string) => string);
    /** Images and documents of the result stay; absent = they leave the view, too. */
    readonly media?: true;
  };
}

/** The messages from one id to another leave the view, pinned blocks excepted; a summary may stand for them. */
export interface Retire {
  readonly retire: {
    readonly from: string;
    readonly to: string;
    /** Text of the user message of system origin that takes their place. */
    readonly summary?: string;
  };
}

export type ChatEdit = Inject | OverlayEdit | Retire;

/** Something an effect wants said in the event log; the core adds `effect`. */
export type EffectNotice =
  | { readonly event: "compaction"; readonly data: Omit<DataOf<"compaction">, "effect"> }
  | { readonly event: "status_update"; readonly data: DataOf<"status_update"> };

/** A model call of an effect (purpose `compaction`). Its text is stored: after a crash the same call is not made again. */
export interface EffectCall {
  readonly system: string;
  readonly prompt: string;
  readonly maxTokens: number;
  /** Refuses a text: the reason makes it a failed try; null = it is taken. */
  readonly refuse?: (text: string, finish: FinishReason) => string | null;
}

/** A question of an effect to a person; unanswered it is its default. */
export interface EffectQuestion {
  readonly text: string;
  readonly options: readonly string[];
  readonly default: string;
  readonly timeoutMs: number;
}

/** Facts about the run that summaries are given by code. */
interface EffectRecords {
  readonly files: {
    readonly created: readonly string[];
    readonly modified: readonly string[];
    readonly deleted: readonly string[];
  };
  /** Labels of running children with their tasks. */
  readonly children: readonly string[];
  /** Open tasks of the board. */
  readonly tasks: readonly string[];
}

/** All an effect sees. */
export interface EffectContext {
  readonly phase: EffectPhase;
  /** Turns before this one in the run: 0, 1, … */
  readonly iteration: number;
  readonly turn: number;
  readonly run: string;
  readonly agent: string;
  /** Visible messages in order, overlays included, as edits of earlier effects left them. */
  readonly view: readonly Message[];
  /** Finished calls, oldest first. */
  readonly calls: readonly CallRecord[];
  /** Tokens of the coming request: system prompt, tools after `hide`, view. */
  readonly estimate: number;
  /** max(estimate, context of the last call − tokens removed since). */
  readonly size: number;
  /** Tokens of the context window; 0 = unknown. */
  readonly window: number;
  /** Tokens the reply may have. */
  readonly maxOutput: number;
  /** Tokens of the context window that its own model calls have; 0 = unknown. */
  readonly callWindow: number;
  readonly lastUsage: Usage | null;
  /** Names of the run's tools. */
  readonly tools: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Index in `view` of the first message that no model call has seen; its length if all were seen. */
  readonly unread: number;
  /** The input or task that began the run. */
  readonly task: Message | null;
  readonly records: EffectRecords;
  readonly force: ForceReason | null;
  readonly signal: AbortSignal;
  /** Tokens of a text. */
  readonly tokens: (text: string) => number;
  readonly complete: (call: EffectCall) => Promise<EffectReply>;
  readonly ask: (question: EffectQuestion) => Promise<string>;
}

export interface EffectResult<State> {
  readonly edits?: readonly ChatEdit[];
  readonly state?: State;
  readonly notify?: readonly EffectNotice[];
  /** Tools that this turn neither declares nor runs. */
  readonly tools?: { readonly hide: readonly string[] };
  /** Ends the run when the phase is done. */
  readonly stop?: { readonly reason: EndReason; readonly message: string };
}

/**
 * An effect as written. `run` must be a pure function of its arguments. It answers at once, or with a promise where it needs
 * `complete` or `ask` (before_complete only): it is then run again from the start after a crash, and calls that were
 * completed answer from storage.
 */
export interface EffectDefinition<P extends z.ZodObject = z.ZodObject, State extends Json = Json> {
  readonly kind: string;
  /** For people who choose it; a team's own may leave it out. */
  readonly description?: string;
  readonly phase: EffectPhase;
  readonly order: "shrink" | "inject";
  readonly params: P;
  readonly state?: { readonly initial: State; readonly reset: "run" | "never" };
  readonly run: (
    context: EffectContext,
    params: z.output<P>,
    state: State,
  ) => EffectResult<State> | Promise<EffectResult<State>>;
}

/** An effect with the types of its parameters and state forgotten, as lists hold it. */
export interface Effect extends Omit<EffectDefinition, "run"> {
  readonly run: (
    context: EffectContext,
    params: unknown,
    state: Json,
  ) => EffectResult<Json> | Promise<EffectResult<Json>>;
}

/** An effect of an agent: with its parameters, and the key of its stored state. */
export interface BoundEffect {
  readonly effect: Effect;
  readonly params: unknown;
  /** Kind, and position among equal kinds: `progress`, `progress#2`. */
  readonly key: string;
  /** From a team's extensions: at most 50 edits a phase. */
  readonly custom: boolean;
  /** Where its model calls go; null: where the agent's own go. */
  readonly lane: ModelTarget | null;
}

/** Makes an effect. A built-in or a team's own; the kind must match `^[a-z][a-z0-9_]*$`. */
export const defineEffect = <P extends z.ZodObject, State extends Json = null>(
  definition: EffectDefinition<P, State>,
): Effect => {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(definition.kind))
    throw new Error(`"${definition.kind}" is no kind of effect`);
  return definition as unknown as Effect;
};
