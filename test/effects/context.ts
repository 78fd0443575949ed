import type { Effect, EffectContext, EffectResult } from "../../src/agent/definition/effect.ts";
import type { CallRecord } from "../../src/agent/state/records.ts";
import type { ForceReason } from "../../src/agent/state/phase.ts";
import type { Json, Message, Part } from "../../src/chat/message.ts";
import { textOf } from "../../src/chat/text.ts";
import { applied, chatOf, worldOf } from "./compaction/support.ts";
import type { Step } from "./compaction/support.ts";

/** Effects as pure functions: contexts of plain values, and runs that carry an effect's state and edits from turn to turn. */

/** A list of values made by their index. */
export const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));

export interface Setting extends Partial<Omit<EffectContext, "view" | "complete" | "ask" | "force">> {
  readonly force?: ForceReason | null;
}

/** A context around a view, whose size is what its messages take. */
export const contextOf = (view: readonly Message[], setting: Setting = {}): EffectContext =>
  worldOf(view, setting).context;

/** Runs an effect once, with its parameters as YAML would give them; it must answer at once. */
export const evaluated = (
  effect: Effect,
  context: EffectContext,
  params: object = {},
  state: Json = effect.state?.initial ?? null,
): EffectResult<Json> => {
  const result = effect.run(context, effect.params.parse(params), state);
  if (result instanceof Promise) throw new Error(`${effect.kind} does not answer at once`);
  return result;
};

/** The view as the core's own edits leave it. */
export const edited = (effect: Effect, view: readonly Message[], result: EffectResult<Json>) =>
  applied(effect.kind, view, result);

/** The view after one evaluation of an effect. */
export const actedOn = (
  effect: Effect,
  view: readonly Message[],
  params: object = {},
  setting: Setting = {},
): readonly Message[] =>
  edited(effect, view, evaluated(effect, contextOf(view, { phase: effect.phase, ...setting }), params));

const renamed = (part: Part, rename: (id: string) => string): Part => {
  if (part.type === "tool_call") return { ...part, id: rename(part.id) };
  return part.type === "tool_result" ? { ...part, call: rename(part.call) } : part;
};

/** A chat with further steps of a turn at its end. */
export const grown = (
  chat: readonly Message[],
  steps: readonly Step[],
  { run = "run_1", turn }: { readonly run?: string; readonly turn: number },
): readonly Message[] => {
  const from = chat.length;
  const added = chatOf(steps).map((message): Message => ({
    ...message,
    id: `m${from + message.pos}`,
    pos: from + message.pos,
    run,
    turn,
    parts: message.parts.map((part) => renamed(part, (id) => `${id}_${from}`)),
  }));
  return [...chat, ...added];
};

/** The records of finished calls that a chat's results stand for; `changed` says which changed something. */
export const recordsOf = (
  chat: readonly Message[],
  changed: (tool: string) => boolean = () => false,
  polls: (tool: string) => boolean = () => false,
): readonly CallRecord[] => {
  const args = new Map(
    chat.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "tool_call" ? [[part.id, part.args] as const] : [])),
    ),
  );
  const results = chat.flatMap(({ parts, run = "", turn = 0 }) =>
    parts.flatMap((part) => (part.type === "tool_result" ? [{ part, run, turn }] : [])),
  );
  return results.map(({ part: { call, name, status, content }, run, turn }, index) => ({
    n: index + 1,
    tool: name,
    args: args.get(call) ?? "",
    outcome: `${status} ${textOf(content)}`,
    status,
    run,
    turn,
    changed: changed(name),
    poll: polls(name),
  }));
};

export interface Ran {
  /** What was injected, as `ITERATION: TEXT`. */
  readonly notes: readonly string[];
  /** The run's end, as `ITERATION: REASON`. */
  readonly stop: string | null;
  readonly chat: readonly Message[];
  readonly states: readonly Json[];
}

export interface RunSetting extends Setting {
  readonly run?: string;
  readonly changed?: (tool: string) => boolean;
  readonly polls?: (tool: string) => boolean;
}

/** A run of an input and turns: before each request the effect is evaluated, on what it remembers and left in the view. */
export const ranWith = (
  effect: Effect,
  turns: readonly (readonly Step[])[],
  params: object = {},
  { run = "run_1", changed, polls, ...setting }: RunSetting = {},
): Ran => {
  let chat = grown([], [{ from: "human", say: "Go" }], { run, turn: 0 });
  let state: Json = effect.state?.initial ?? null;
  const [notes, states]: [string[], Json[]] = [[], []];
  for (let iteration = 0; iteration <= turns.length; iteration++) {
    const calls = recordsOf(chat, changed, polls);
    const facts = { iteration, turn: iteration + 1, run, calls, unread: chat.length, ...setting };
    const result = evaluated(effect, contextOf(chat, facts), params, state);
    const { edits = [], stop } = result;
    state = result.state ?? state;
    states.push(state);
    for (const edit of edits) if ("inject" in edit) notes.push(`${iteration}: ${edit.inject.text}`);
    if (stop !== undefined) return { notes, stop: `${iteration}: ${stop.reason}`, chat, states };
    chat = grown(edited(effect, chat, result), turns[iteration] ?? [], { run, turn: iteration + 1 });
  }
  return { notes, stop: null, chat, states };
};
