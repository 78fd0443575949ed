import type { ReportedMessage, StoredEvent } from "../../agent/state/events.ts";
import type { ContentPart, Json, ToolCallPart } from "../../chat/message.ts";
import type { CallEntry, TranscriptAsk } from "../transcript.ts";
import type { FoldDraft, FoldHandler } from "./draft.ts";
import { parseJson, pickDefined } from "../plain.ts";
import { addNote, dropById, entriesOf, on, placeOf, putById } from "./draft.ts";

/** This file folds what happens to tool calls, from the first piece of their arguments to their outcome. */

const newCall = (event: StoredEvent, call: string): CallEntry => ({
  ...placeOf(event),
  kind: "call",
  id: call,
  call,
  message: null,
  pos: null,
  tool: "",
  toolbox: null,
  safety: null,
  state: "planned",
  waits: null,
  args: "",
  input: null,
  live: "",
  output: null,
  details: null,
  outcome: null,
  permission: null,
  changes: [],
  asks: [],
  children: [],
  note: null,
  progress: null,
  started_at: null,
  ended_at: null,
  duration_ms: null,
  cached: false,
  truncated: false,
  input_sha256: null,
});

/** What is added to an event that was cut. */
interface CutMarks {
  readonly truncated?: boolean;
  readonly input_sha256?: string;
}

/** What the event of a call says of the call itself. */
const factsOf = <T extends object>(data: T & CutMarks) => {
  const { truncated: _, ...facts } = data;
  return facts;
};

type CallChange = (entry: CallEntry) => Partial<CallEntry>;

/** Changes a call's entry; returns whether it is there. */
const changeKnownCall = (
  draft: FoldDraft,
  event: Pick<StoredEvent, "thread" | "agent">,
  call: string | undefined,
  change: CallChange,
): boolean => {
  if (call === undefined) return false;
  const entries = entriesOf(draft, event);
  const at = entries.findLastIndex((entry) => entry.id === call);
  const entry = entries[at];
  if (entry?.kind !== "call") return false;
  entries[at] = { ...entry, ...change(entry) };
  return true;
};

/** Changes a call's entry, which begins here if its beginning has not been seen. */
const changeCall = (draft: FoldDraft, event: StoredEvent, call: string, change: CallChange): void => {
  if (changeKnownCall(draft, event, call, change)) return;
  const entry = newCall(event, call);
  entriesOf(draft, event).push({ ...entry, ...change(entry) });
};

/** The reply that asks for a call is stored. */
export const planCall = (
  draft: FoldDraft,
  event: StoredEvent,
  message: string,
  { id, name, args }: ToolCallPart,
): void =>
  changeCall(draft, event, id, ({ state, input }) => ({
    tool: name,
    message,
    args,
    input: input ?? parseJson(args) ?? args,
    state: state === "preparing" ? "planned" : state,
  }));

type ReportedResult = Extract<ReportedMessage["parts"][number], { readonly type: "tool_result" }>;

/** The content of a result as the event of its end shows it. */
export const outputOf = (content: readonly ContentPart[]): Json => {
  const [first] = content;
  return content.length === 1 && first?.type === "text"
    ? first.text
    : content.map((part) => ({ ...part }) as Json);
};

/** The message with a call's result is stored: the end of the call has brought the output, or it stands here. */
export const placeResult = (
  draft: FoldDraft,
  event: StoredEvent,
  pos: number,
  { call, name, status, content }: ReportedResult,
): void =>
  changeCall(draft, event, call, ({ tool, output, outcome, ended_at }) => ({
    pos,
    tool: tool === "" ? name : tool,
    state: "done",
    waits: null,
    outcome: outcome ?? status,
    output: output ?? (content === undefined ? null : outputOf(content)),
    ended_at: ended_at ?? event.at,
  }));

/** A called thread stands at the call of its parent. */
export const addChild = (
  draft: FoldDraft,
  event: StoredEvent,
  parent: { readonly thread: string; readonly call: string },
): void => {
  const caller = draft.threads.get(parent.thread);
  if (caller === undefined) return;
  const place = { thread: parent.thread, agent: { name: caller.agent, prefix: caller.prefix } };
  changeKnownCall(draft, place, parent.call, ({ children }) =>
    children.includes(event.thread) ? {} : { children: [...children, event.thread] },
  );
};

/** Puts an ask into the entry of its call; returns whether that is there. */
const addToCall = (draft: FoldDraft, event: StoredEvent, ask: TranscriptAsk): boolean =>
  changeKnownCall(draft, event, ask.call, ({ asks }) => ({ asks: putById(asks, ask) }));

/** Puts an ask into the entry of its call or of its note. */
const showAsk = (draft: FoldDraft, event: StoredEvent, ask: TranscriptAsk): void => {
  if (addToCall(draft, event, ask)) return;
  const entries = entriesOf(draft, event);
  const at = entries.findLastIndex((entry) => entry.kind === "note" && entry.ask?.id === ask.id);
  const note = entries[at];
  if (note?.kind === "note") entries[at] = { ...note, ask };
};

/** An ask is closed; its call goes on, unless it ends. */
const closeAsk = (draft: FoldDraft, event: StoredEvent, id: string, change: Partial<TranscriptAsk>): void => {
  const ask = draft.asks.find((each) => each.id === id);
  if (ask === undefined) return;
  draft.asks = dropById(draft.asks, id);
  showAsk(draft, event, { ...ask, ...change, closed_at: event.at });
  changeKnownCall(draft, event, ask.call, ({ state, started_at }) =>
    state === "waiting" ? { state: started_at === null ? "planned" : "running", waits: null } : {},
  );
};

const asksHandlers: readonly FoldHandler[] = [
  on("ask_user", (draft, event) => {
    const { ask: asked, truncated }: typeof event.data & CutMarks = event.data;
    const ask = { ...asked, ...pickDefined({ truncated }), closed_at: null };
    draft.asks = putById(draft.asks, ask);
    if (addToCall(draft, event, ask)) return;
    addNote(draft, event, ask);
  }),
  on("ask_resolved", (draft, event) => {
    const { ask, decision, by, remember } = event.data;
    const resolution = { decision, by, ...pickDefined({ remember }) };
    closeAsk(draft, event, ask, { status: "resolved", resolution });
  }),
  on("ask_expired", (draft, event) => {
    const { ask, applied } = event.data;
    closeAsk(draft, event, ask, {
      status: "expired",
      applied,
      resolution: { decision: "expired", by: "clock" },
    });
  }),
  on("ask_cancelled", (draft, event) => closeAsk(draft, event, event.data.ask, { status: "cancelled" })),
];

export const callHandlers: readonly FoldHandler[] = [
  on("llm_tool_prepare", (draft, event) => {
    const { call, tool } = event.data;
    changeCall(draft, event, call, () => ({ tool, state: "preparing" }));
    if (event.item === undefined) return;
    draft.items.set(event.item, { thread: event.thread, entry: call, grows: "args" });
  }),
  on("tool_call_start", (draft, event) => {
    const { call = "", at } = event;
    changeCall(draft, event, call, () => ({
      ...factsOf(event.data),
      state: "running",
      waits: null,
      started_at: at,
    }));
    draft.items.set(call, { thread: event.thread, entry: call, grows: "live" });
  }),
  on("tool_call_parked", (draft, event) => {
    const { tool, on: reason, until } = event.data;
    changeCall(draft, event, event.call ?? "", () => ({
      tool,
      state: "waiting",
      waits: { on: reason, until },
    }));
  }),
  on("tool_call_end", (draft, event) => {
    const { call = "", data } = event;
    changeCall(draft, event, call, () => ({
      details: null,
      ...factsOf(data),
      truncated: data.truncated,
      state: "done",
      waits: null,
      live: "",
      ended_at: event.at,
    }));
    draft.items.delete(call);
  }),
  on("file_change", (draft, event) => {
    const { tool: _, message: __, ...change } = event.data;
    const isKnown = changeKnownCall(draft, event, event.call, ({ changes }) => ({
      changes: [...changes, change],
    }));
    if (!isKnown) addNote(draft, event);
  }),
  on("status_update", (draft, event) => {
    const { text } = event.data;
    if (!changeKnownCall(draft, event, event.call, () => ({ note: text }))) addNote(draft, event);
  }),
  on("dispatch_progress", (draft, event) => {
    const { done, total } = event.data;
    changeKnownCall(draft, event, event.call, () => ({ progress: { done, total } }));
  }),
  ...asksHandlers,
];
