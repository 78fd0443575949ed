import { expect } from "vitest";
import { missingAgent } from "../../../src/agent/definition/agent.ts";
import { emptySession } from "../../../src/session/operations/session.ts";
import { createDraft, selectThread } from "../../../src/agent/transaction/draft.ts";
import { applyEdits } from "../../../src/agent/context/edits.ts";
import type {
  Effect,
  EffectCall,
  EffectContext,
  EffectQuestion,
  EffectResult,
} from "../../../src/agent/definition/effect.ts";
import type { EffectReply } from "../../../src/agent/state/phase.ts";
import type { Thread } from "../../../src/agent/state/thread.ts";
import { shownTokens } from "../../../src/chat/message.ts";
import type { ContentPart, Json, Message, Part, ResultStatus } from "../../../src/chat/message.ts";
import { shownParts } from "../../../src/chat/render.ts";
import { textOf } from "../../../src/chat/text.ts";
import { estimateText, estimateTokens } from "../../../src/chat/tokens.ts";
import { buildView as sent } from "../../../src/chat/view.ts";
import type { FinishReason } from "../../../src/model/completer.ts";
import { compact } from "../../../src/effects/compact.ts";
import { invalidity } from "../../support/validity.ts";

const address = { tenant: "t1", jurisdiction: null };

/** Chats, a summariser that does what a test says, and the core's own edits: an effect without a session around it. */

const estimate = (parts: readonly Part[]): number =>
  estimateTokens(parts, { family: "anthropic", media: () => "" });

const image: ContentPart = { type: "image", url: "https://x.example/i.png", media_type: "image/png" };
export const said = (text: string): Part => ({ type: "text", text });

export interface Step {
  readonly say?: string;
  readonly media?: boolean;
  /** Calls of a reply with their results. */
  readonly calls?: readonly {
    readonly tool?: string;
    readonly args?: string;
    readonly result: string;
    readonly status?: ResultStatus;
    /** The exit code of a command that ended by itself. */
    readonly exit?: number;
    readonly media?: boolean;
  }[];
  readonly from?: "human" | "agent" | "effect";
  readonly pinned?: boolean;
}

export const human = (say: string, more: Omit<Step, "say"> = {}): Step => ({ from: "human", say, ...more });
export const reply = (say: string): Step => ({ say });
export const use = (result: string, more: Partial<NonNullable<Step["calls"]>[number]> = {}): Step => ({
  calls: [{ result, ...more }],
});
export const times = (count: number, step: (index: number) => Step): readonly Step[] =>
  Array.from({ length: count }, (_, index) => step(index));

/** A chat of steps: people's messages, replies, and replies with calls and their results. */
export const chatOf = (steps: readonly Step[]): readonly Message[] => {
  const chat: Message[] = [];
  let turn = 0;
  const add = (role: Message["role"], origin: Message["origin"], parts: readonly Part[], pinned: boolean) => {
    const marks = [...(origin === "effect" ? ["note" as const] : []), ...(pinned ? ["pinned" as const] : [])];
    chat.push({
      id: `m${chat.length}`,
      pos: chat.length,
      role,
      origin,
      parts,
      at: Date.UTC(2026, 10, 21) + chat.length * 60_000,
      tokens: estimate(parts),
      run: "run_1",
      turn,
      ...(marks.length > 0 ? { marks } : {}),
    });
  };
  for (const { say = "", media = false, calls = [], from, pinned = false } of steps) {
    const parts = [...(say === "" ? [] : [said(say)]), ...(media ? [image] : [])];
    if (from !== undefined) {
      add("user", from, parts, pinned);
      continue;
    }
    turn += 1;
    const ids = calls.map((_, index) => `c${chat.length}_${index}`);
    const asked = calls.map(({ tool = "read", args = "{}" }, index): Part => ({
      type: "tool_call",
      id: ids[index] ?? "",
      name: tool,
      args,
    }));
    add("assistant", "agent", [...(say === "" ? [] : [said(say)]), ...asked], pinned && calls.length === 0);
    for (const [index, { tool = "read", status = "ok", ...given }] of calls.entries()) {
      const content: ContentPart[] = [{ type: "text", text: given.result }, ...(given.media ? [image] : [])];
      const exit = given.exit === undefined ? {} : { exit_code: given.exit };
      const part: Part = {
        type: "tool_result",
        call: ids[index] ?? "",
        name: tool,
        status,
        content,
        ...exit,
      };
      add("tool", "agent", [part], pinned && index === 0);
    }
  }
  return chat;
};

/** So many words. */
export const words = (count: number, word = "word"): string =>
  Array.from({ length: count }, () => word).join(" ");
/** About `tokens` tokens of prose that no rung but a summary can shorten. */
export const prose = (tokens: number): string => "prose ".repeat(Math.ceil((tokens * 4) / 6));
/** A person and so many replies, about `tokens` tokens together. */
export const talk = (tokens: number, turns = 10): readonly Step[] => [
  human("Do the thing in src/a.ts."),
  ...times(turns, (index) => reply(`${index} ${prose(tokens / turns)}`)),
];

export const tokensOf = (chat: readonly Message[]): number =>
  chat.reduce((sum, message) => sum + shownTokens(message), 0);

/** What the summarising model does: text, or a failure. */
export type Summariser = (call: EffectCall, n: number) => string | { finish: FinishReason } | null;

export interface World {
  readonly context: EffectContext;
  /** Calls that were made, refused tries not counted apart. */
  readonly calls: EffectCall[];
  readonly questions: EffectQuestion[];
}

export interface Setting extends Partial<Omit<EffectContext, "complete" | "ask">> {
  readonly summariser?: Summariser;
  readonly answers?: readonly string[];
}

const tries = 3;

/** A context of which nothing but the calls is made up. As in the core, a call that had its reply is not made again. */
export const worldOf = (
  view: readonly Message[],
  { summariser = () => "Told.", answers = [], ...given }: Setting = {},
): World => {
  const [calls, questions]: [EffectCall[], EffectQuestion[]] = [[], []];
  const known = new Map<string, EffectReply>();
  const complete = async (call: EffectCall): Promise<EffectReply> => {
    const key = JSON.stringify([call.system, call.prompt, call.maxTokens]);
    const old = known.get(key);
    if (old !== undefined) return old;
    calls.push(call);
    let reply: EffectReply = { ok: false, error: "", attempts: 0 };
    for (let attempts = 1; attempts <= tries && !reply.ok; attempts++) {
      const made = summariser(call, calls.length);
      const text = typeof made === "string" ? made : made === null ? "" : "cut";
      const finish = typeof made === "object" && made !== null ? made.finish : "stop";
      const refused = made === null ? "the provider is down" : (call.refuse?.(text, finish) ?? null);
      reply = refused === null ? { ok: true, text, attempts } : { ok: false, error: refused, attempts };
    }
    known.set(key, reply);
    return reply;
  };
  const size = tokensOf(view);
  const context: EffectContext = {
    phase: "before_complete",
    iteration: 1,
    turn: 2,
    run: "run_1",
    agent: "tester",
    view,
    calls: [],
    estimate: size,
    size,
    window: 100_000,
    maxOutput: 8_000,
    callWindow: given.window ?? 100_000,
    lastUsage: null,
    tools: [],
    now: 0,
    unread: view.length,
    task: view.find(({ origin }) => origin === "human") ?? null,
    records: { files: { created: [], modified: [], deleted: [] }, children: [], tasks: [] },
    force: null,
    signal: new AbortController().signal,
    tokens: estimateText,
    complete,
    ask: async (question) => {
      questions.push(question);
      return answers[questions.length - 1] ?? question.default;
    },
    ...given,
  };
  return { context, calls, questions };
};

/** A thread that the core's own edits are applied to. */
const threadWith = (chat: readonly Message[]): Thread => {
  const rules = { entryAgent: "tester", revision: "r1", interactive: true };
  const session = emptySession("s1", address, rules as Parameters<typeof emptySession>[2], 0);
  const run = { id: "run_1", turn: 2, phase: { at: "ready" }, notes: [] } as unknown as Thread["run"];
  const nextPos = chat.length;
  return { ...(session.threads["main"] as Thread), chat, tokens: tokensOf(chat), nextPos, run };
};

/** The chat after an effect's edits, as the core makes them. */
export const applied = (
  kind: string,
  view: readonly Message[],
  { edits = [] }: EffectResult<Json>,
): readonly Message[] => {
  const rules = { entryAgent: "tester", revision: "r1", interactive: true };
  const session = emptySession("s1", address, rules as Parameters<typeof emptySession>[2], 0);
  const context = { now: 0, estimate, agents: () => missingAgent("tester", "nothing") };
  const draft = createDraft(
    { ...session, threads: { main: threadWith(view) } },
    context as unknown as Parameters<typeof createDraft>[1],
  );
  applyEdits(selectThread(draft, "main"), { kind, seen: view, reason: "of a test", later: false }, edits);
  return draft.state.threads["main"]?.chat ?? [];
};

export interface Outcome extends World {
  readonly result: EffectResult<Json>;
  /** The chat as the result leaves it. */
  readonly chat: readonly Message[];
  readonly stages: readonly string[];
}

/** Runs an effect and applies what it gives back; the size it reckons with must be the one that comes out. */
export const acted = async (
  effect: Effect,
  world: World,
  params: object = {},
  state: Json = effect.state?.initial ?? null,
): Promise<Outcome> => {
  const { context } = world;
  const result = await effect.run(context, effect.params.parse(params), state);
  const chat = applied(effect.kind, context.view, result);
  const sizes = (result.notify ?? []).filter(({ event }) => event === "compaction").map(({ data }) => data);
  const last = sizes.at(-1);
  if (last !== undefined && "tokens_after" in last && result.stop === undefined)
    expect(last.tokens_after - context.size, "what it reckoned").toBe(
      tokensOf(chat) - tokensOf(context.view),
    );
  return { ...world, result, chat, stages: stagesOf(result) };
};

/** Compacts a chat. */
export const compacted = (
  view: readonly Message[],
  setting: Setting = {},
  params: object = {},
  state?: Json,
): Promise<Outcome> => acted(compact, worldOf(view, setting), params, state ?? compact.state?.initial);

export const stagesOf = ({ notify = [] }: EffectResult<Json>): readonly string[] =>
  notify.flatMap(({ event, data }) => (event === "compaction" ? [data.stage] : []));

/** What the model is shown of a message. */
export const shown = (message: Message | undefined): string =>
  message === undefined
    ? ""
    : shownParts(message)
        .map((part) => (part.type === "tool_result" ? textOf(part.content) : textOf([part])))
        .join("");

export const summariesIn = (chat: readonly Message[]): readonly Message[] =>
  chat.filter(({ summary }) => summary !== undefined);

/** A chat as the next request shows it must be valid without any mending beside its two ends. */
export const expectValid = (chat: readonly Message[]): void => {
  const { messages, repairs } = sent(chat);
  expect(repairs.filter(({ kind }) => kind !== "end_added")).toEqual([]);
  expect(invalidity(messages)).toBeNull();
};
