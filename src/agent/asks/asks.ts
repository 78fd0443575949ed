import { askKinds } from "../state/ask.ts";
import type { Ask, AskSubject } from "../state/ask.ts";
import type { Thread } from "../state/thread.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { emit, headAfter } from "../transaction/draft.ts";

/** Names the called agent that asks, for the person who answers. */
const askerOf = ({ agent, child }: Thread): Pick<Ask, "agent" | "label"> =>
  child === null ? {} : { agent, label: child.label };

/** Returns the call that an ask belongs to; an ask of a run has none. */
export const askScopeOf = ({ call }: Ask): { readonly call?: string } => (call === "" ? {} : { call });

export const mostOpenAsks = 50;

const kindOf = (subject: AskSubject): Ask["kind"] => askKinds.find((kind) => kind in subject) ?? "question";

/** Opens an ask for a call, or ("") for its run; it expires after `timeoutMs`. */
export const openAsk = (draft: ThreadDraft, call: string, timeoutMs: number, subject: AskSubject): Ask => {
  const { now, random } = draft.context;
  const { thread } = draft;
  const ask: Ask = {
    id: `ask_${random()}`,
    kind: kindOf(subject),
    thread: thread.id,
    ...askerOf(thread),
    run: thread.run?.id ?? "",
    call,
    status: "open",
    opened_at: now,
    seq: headAfter(draft) + 1,
    expires_at: now + timeoutMs,
    ...subject,
  };
  draft.state.asks = { ...draft.state.asks, [ask.id]: ask };
  emit(draft, "ask_user", { ask }, askScopeOf(ask));
  return ask;
};

export const closeAsk = (draft: Draft, ask: Ask, end: Pick<Ask, "status" | "resolution">): void => {
  const { [ask.id]: _, ...asks } = draft.state.asks;
  draft.state.asks = asks;
  draft.asks.push({ ...ask, ...end });
};

/** Closes an open ask that needs no answer any more. */
export const cancelAsk = (draft: ThreadDraft, askId: string): void => {
  const ask = draft.state.asks[askId];
  if (ask === undefined) return;
  closeAsk(draft, ask, { status: "cancelled" });
  emit(draft, "ask_cancelled", { ask: askId }, askScopeOf(ask));
};
