import type { ContentPart, Json } from "../../chat/message.ts";
import { pickDefined } from "../plain.ts";
import type { TranscriptSession } from "../transcript.ts";
import type { EventOf, FoldDraft, FoldHandler } from "./draft.ts";
import { addNote, dropById, noUsage, on } from "./draft.ts";
import { showInput } from "./start.ts";
import { pinMessage } from "./messages.ts";
import { changeRun } from "./runs.ts";

/** This file folds the session's own fields, the inputs that wait, and events that are only noted. */

const changeSession = (draft: FoldDraft, change: Partial<TranscriptSession>): void => {
  if (draft.session !== null) draft.session = { ...draft.session, ...change };
};

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isPart = (value: Json): value is Json & ContentPart =>
  isObject(value) && typeof value["type"] === "string";

const partsOf = (content: Json): readonly ContentPart[] =>
  Array.isArray(content) ? content.filter((value: Json) => isPart(value)) : [];

const textsOf = (metadata: { readonly [key: string]: Json }): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(metadata).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );

/** Takes over the fields that an update names. */
const updateSession = (draft: FoldDraft, event: EventOf<"session_updated">): void => {
  const { title, metadata, budget, retention_days: days, cleared, message, pinned } = event.data;
  const isNew = event.seq > draft.counted;
  changeSession(draft, {
    ...(typeof title === "string" || title === null ? { title } : {}),
    ...(isObject(metadata) ? { metadata: textsOf(metadata) } : {}),
    ...(isNew && budget !== undefined ? { budget } : {}),
    ...(typeof days === "number" || days === null ? { retention_days: days } : {}),
    ...(cleared === true ? { last_end: null } : {}),
  });
  if (typeof message === "string") pinMessage(draft, event, message, pinned === true);
  else addNote(draft, event);
  if (cleared === true && isNew) draft.usage = noUsage;
};

/** Events of these types change nothing else than that they are noted. */
const notedTypes = [
  "session_created",
  "session_migrated",
  "provider_failover",
  "compaction",
  "context_window_warning",
  "loop_detected",
  "checkpoint",
  "plan_created",
  "localization_done",
  "verify",
  "budget_warning",
  "budget_reached",
  "mcp_status",
  "error",
] as const;

export const sessionHandlers: readonly FoldHandler[] = [
  ...notedTypes.map((type) => on(type, (draft, event) => addNote(draft, event))),
  on("session_updated", updateSession),
  on("session_migrated", (draft, event) => changeSession(draft, { revision: event.data.to })),
  on("model_changed", (draft, event) => {
    changeSession(draft, { model: event.data.to });
    addNote(draft, event);
  }),
  on("run_end", (draft, { thread, run, data: { state, reason } }) => {
    const { inputs = [] } = draft.runs.find(({ id }) => id === run) ?? {};
    if (thread === "main" && run !== undefined && inputs.length > 0)
      changeSession(draft, { last_run: run, last_end: { state, reason } });
  }),
  on("input_accepted", (draft, { thread, at, data: { input: id, content, title, ...rest } }) => {
    changeSession(draft, pickDefined({ title }));
    const input = showInput({ id, thread, at, content: partsOf(content), ...rest });
    const isFirst = rest.on_busy === "interrupt" || rest.on_busy === "rollback";
    draft.inputs = isFirst ? [input, ...draft.inputs] : [...draft.inputs, input];
  }),
  on("input_edited", (draft, { data: { input: id, content, on_busy, before } }) => {
    const input = draft.inputs.find((each) => each.id === id);
    if (input === undefined) return;
    const others = dropById(draft.inputs, id);
    const next = others.findIndex((each) => each.id === before);
    const at = next < 0 ? others.length : next;
    draft.inputs = others.toSpliced(at, 0, { ...input, content: partsOf(content), on_busy });
  }),
  on("input_applied", (draft, event) => {
    const { input } = event.data;
    draft.inputs = dropById(draft.inputs, event.data.input);
    changeRun(draft, event, ({ inputs }) => (inputs.includes(input) ? {} : { inputs: [...inputs, input] }));
  }),
  on("input_withdrawn", (draft, event) => {
    draft.inputs = dropById(draft.inputs, event.data.input);
  }),
  on("input_returned", (draft, event) => {
    draft.inputs = dropById(draft.inputs, event.data.input);
    addNote(draft, event);
  }),
];

/** Derives what the session's fields say of its threads, asks and inputs. */
export const summariseSession = (draft: FoldDraft): void => {
  const { session, asks, inputs, threads: all, at } = draft;
  if (session === null) return;
  const threads = [...all.values()];
  const busy = threads.filter(({ run }) => run !== null);
  const queued = inputs.filter(({ state }) => state === "accepted").map(({ id }) => id);
  const isWaiting = busy.length > 0 && busy.every(({ state }) => state === "waiting");
  const isIdle = busy.length + queued.length === 0;
  draft.session = {
    ...session,
    status: isWaiting ? "waiting" : isIdle ? "idle" : "running",
    waiting_for: threads.flatMap(({ waiting_for }) => waiting_for),
    open_asks: asks.map(({ id }) => id),
    queued_inputs: queued,
    active_run: draft.threads.get("main")?.run ?? null,
    updated_at: Math.max(session.updated_at, at),
  };
};
