import type * as z from "zod";
import type { Json, Message } from "../../chat/message.ts";
import type { FinishReason, Usage } from "../../model/completer.ts";
import type { DataOf, EndReason } from "../state/events.ts";
import type { CallRecord } from "../state/records.ts";
import type { EffectReply, ForceReason } from "../state/phase.ts";
import type { ModelTarget } from "./agent.ts";

/** An effect is a hook of the loop that sees plain values and returns edits. */

export type EffectPhase = "before_complete" | "after_complete";

/**
 * Place of an effect among others of its phase: those that hide tools (`scope`) come before those that shrink the
 * request, which thus measure the one that is sent; then come all others.
 */
export const effectOrders = ["scope", "shrink", "inject"] as const;

/** Note to the model, added where the chat next allows one. A note has at most 8 000 characters. */
export interface Inject {
  readonly inject: { readonly text: string };
}

/** Shows `text` to the model instead of a text or result part; dropped unless shorter than what is shown. */
export interface OverlayEdit {
  readonly overlay: {
    /** The id of the message. */
    readonly message: string;
    /** The index of its part. */
    readonly part: number;
    /** What is shown in its place. A function gets the id under which `recall` reads the original. */
    readonly text: string | ((recall: string) => string);
    /** Keeps images and documents of the result in the view; if absent, they leave it, too. */
    readonly media?: true;
  };
}

/** Takes the messages from one id to another out of the view, except pinned blocks; a summary may replace them. */
export interface Retire {
  readonly retire: {
    readonly from: string;
    readonly to: string;
    /** The text that becomes the user message of system origin that replaces them. */
    readonly summary?: string;
  };
}

export type ChatEdit = Inject | OverlayEdit | Retire;

/** What an effect reports in the event log; the core adds `effect`. */
export type EffectNotice =
  | { readonly event: "compaction"; readonly data: Omit<DataOf<"compaction">, "effect"> }
  | { readonly event: "status_update"; readonly data: DataOf<"status_update"> };

/** Model call of an effect (purpose `compaction`); its stored text saves a repeat after a crash. */
export interface EffectCall {
  readonly system: string;
  readonly prompt: string;
  /** Most tokens of its text; the model has room to reason beside them. */
  readonly maxTokens: number;
  /** Returns why a text is refused, which makes it a failed try; null accepts it. */
  readonly refuse?: (text: string, finish: FinishReason) => string | null;
}

/** Question of an effect to a person; if unanswered, its default applies. */
export interface EffectQuestion {
  readonly text: string;
  readonly options: readonly string[];
  readonly default: string;
  readonly timeoutMs: number;
}

/** Facts about the run that the code adds to summaries. */
interface EffectRecords {
  readonly files: {
    readonly created: readonly string[];
    readonly modified: readonly string[];
    readonly deleted: readonly string[];
  };
  /** The labels of running children with their tasks. */
  readonly children: readonly string[];
  /** The open tasks of the board. */
  readonly tasks: readonly string[];
}

/** All that an effect sees. */
export interface EffectContext {
  readonly phase: EffectPhase;
  /** Number of turns before this one in the run: 0, 1, … */
  readonly iteration: number;
  readonly turn: number;
  readonly run: string;
  readonly agent: string;
  /** Visible messages in order, with overlays, as edits of earlier effects left them. */
  readonly view: readonly Message[];
  /** Finished calls, oldest first. */
  readonly calls: readonly CallRecord[];
  /** Estimated tokens of the coming request: system prompt, tools after `hide`, view. */
  readonly estimate: number;
  /** max(estimate, context of the last call − tokens removed since). */
  readonly size: number;
  /** Context window in tokens; 0 means unknown. */
  readonly window: number;
  /** Most tokens that the reply may have. */
  readonly maxOutput: number;
  /** Context window of the effect's own model calls, in tokens; 0 means unknown. */
  readonly callWindow: number;
  readonly lastUsage: Usage | null;
  /** The names of the run's tools. */
  readonly tools: readonly string[];
  /** Current time in milliseconds since the epoch. */
  readonly now: number;
  /**
   * The index in `view` of the first message that no model call has seen, or of the first piece of a reply that is to
   * be continued; its length if there is none.
   */
  readonly unread: number;
  /** Input or task that began the run. */
  readonly task: Message | null;
  readonly records: EffectRecords;
  readonly force: ForceReason | null;
  readonly signal: AbortSignal;
  /** Counts the tokens of a text. */
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
 * Effect; in lists the types of its parameters and its state are erased. `run` must be a pure function of its arguments.
 * It answers at once, or with a promise if it needs `complete` or `ask` (before_complete only): it then runs again from
 * the start after a crash, and completed calls answer from storage.
 */
export interface Effect<Params = unknown, State = Json> {
  readonly kind: string;
  /** Helps people to choose the effect; a team's own effect may leave it out. */
  readonly description?: string;
  readonly phase: EffectPhase;
  readonly order: (typeof effectOrders)[number];
  /** Whether a built-in effect reads `context.calls`; those of a team always may. */
  readonly readsCalls?: true;
  readonly params: z.ZodObject;
  readonly state?: { readonly initial: State; readonly reset: "run" | "never" };
  readonly run: (
    context: EffectContext,
    params: Params,
    state: State,
  ) => EffectResult<State> | Promise<EffectResult<State>>;
}

/** The definition of an effect. */
export interface EffectDefinition<P extends z.ZodObject = z.ZodObject, State = Json> extends Effect<
  z.output<P>,
  State
> {
  readonly params: P;
}

/** Effect of an agent, with its parameters and the key of its stored state. */
export interface BoundEffect {
  readonly effect: Effect;
  readonly params: unknown;
  /** The kind with the position among equal kinds: `progress`, `progress#2`. */
  readonly key: string;
  /** Is true for an effect of a team's extensions, which may make at most 50 edits a phase. */
  readonly custom: boolean;
  /** Model target of the effect's calls; null means the agent's own targets. */
  readonly target: ModelTarget | null;
}

/** Requires of a state that it is JSON. As a bound of its type, `Json` would take a flag that begins as false for `false`. */
export type JsonState<State> = State extends Json ? unknown : { readonly state: { readonly initial: Json } };

/** Refuses a kind that does not match `^[a-z][a-z0-9_]*$`. */
export const requireKind = (kind: string, what: "effect" | "guard" | "middleware"): void => {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(kind)) throw new Error(`"${kind}" is not a valid kind of ${what}`);
};

/** Defines a built-in effect or a team's own. */
export const defineEffect = <P extends z.ZodObject, State = null>(
  definition: EffectDefinition<P, State> & JsonState<State>,
): Effect => {
  requireKind(definition.kind, "effect");
  return definition as unknown as Effect;
};
