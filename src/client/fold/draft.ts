import type { EventType, StoredEvent } from "../../agent/state/events.ts";
import type {
  NoteEvent,
  Transcript,
  TranscriptAsk,
  TranscriptEntry,
  TranscriptInput,
  TranscriptRun,
  TranscriptSession,
  TranscriptThread,
  TranscriptUsage,
} from "../transcript.ts";

import { pickDefined } from "../plain.ts";

/** A draft is a transcript while events are folded into it: what does not change in it stays the same object. */

/** The event of a type. */
export type EventOf<T extends EventType> = Extract<StoredEvent, { readonly type: T }>;

/** An open item grows in this entry: in a field of a call, or in the part of a message with this index. */
export interface ItemPlace {
  readonly thread: string;
  readonly entry: string;
  readonly grows: "args" | "live" | number;
}

/** The state of a fold: the transcript, where its open items grow, and the event up to which its usage counts. */
export interface FoldState {
  readonly transcript: Transcript;
  readonly items: ReadonlyMap<string, ItemPlace>;
  readonly counted: number;
}

export interface FoldDraft {
  seq: number;
  /** The time of the newest event. */
  at: number;
  session: TranscriptSession | null;
  threads: Map<string, TranscriptThread>;
  asks: readonly TranscriptAsk[];
  inputs: readonly TranscriptInput[];
  runs: readonly TranscriptRun[];
  usage: TranscriptUsage;
  /** The entries of threads that this draft has changed. */
  readonly entries: Map<string, TranscriptEntry[]>;
  readonly items: Map<string, ItemPlace>;
  readonly counted: number;
}

export const noUsage: TranscriptUsage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  total: 0,
  calls: 0,
  cost_usd: 0,
  estimated: false,
};

export const emptyTranscript: Transcript = {
  status: "connecting",
  retry_at: null,
  seq: 0,
  session: null,
  threads: [],
  asks: [],
  inputs: [],
  runs: [],
  usage: noUsage,
  earlier: false,
};

export const openDraft = ({ transcript, items, counted }: FoldState): FoldDraft => ({
  seq: transcript.seq,
  at: transcript.session?.updated_at ?? 0,
  session: transcript.session,
  threads: new Map(transcript.threads.map((thread) => [thread.id, thread])),
  asks: transcript.asks,
  inputs: transcript.inputs,
  runs: transcript.runs,
  usage: transcript.usage,
  entries: new Map(),
  items: new Map(items),
  counted,
});

/** Ends a draft; threads that it did not change are the same objects, and so is their list. */
export const closeDraft = (draft: FoldDraft, { transcript, counted }: FoldState): FoldState => {
  for (const [id, entries] of draft.entries) changeThread(draft, id, { entries });
  const threads = [...draft.threads.values()];
  const isSame =
    threads.length === transcript.threads.length &&
    threads.every((each, at) => each === transcript.threads[at]);
  const { seq, session, asks, inputs, runs, usage, items } = draft;
  return {
    transcript: {
      ...transcript,
      seq,
      session,
      threads: isSame ? transcript.threads : threads,
      asks,
      inputs,
      runs,
      usage,
    },
    items,
    counted,
  };
};

export const changeThread = (draft: FoldDraft, id: string, change: Partial<TranscriptThread>): void => {
  const thread = draft.threads.get(id);
  if (thread !== undefined) draft.threads.set(id, { ...thread, ...change });
};

/** The entries of a thread as this draft may change them; undefined if there is no such thread. */
export const ownEntries = (draft: FoldDraft, id: string): TranscriptEntry[] | undefined => {
  const known = draft.entries.get(id);
  const thread = draft.threads.get(id);
  if (known !== undefined || thread === undefined) return known;
  const entries = [...thread.entries];
  draft.entries.set(id, entries);
  return entries;
};

/** What an event says of its place in the session. */
export type EventPlace = Pick<StoredEvent, "thread" | "agent" | "seq" | "at" | "run" | "turn">;

/** The entries of an event's thread, to be changed; the thread begins here if no event has told of it yet. */
export const entriesOf = (
  draft: FoldDraft,
  { thread: id, agent }: Pick<EventPlace, "thread" | "agent">,
): TranscriptEntry[] => {
  if (!draft.threads.has(id))
    draft.threads.set(id, {
      id,
      agent: agent.name,
      prefix: agent.prefix,
      depth: id === "main" ? 0 : 1,
      state: "idle",
      waiting_for: [],
      run: null,
      started_at: null,
      ended_at: null,
      usage: noUsage,
      entries: [],
    });
  return ownEntries(draft, id) ?? [];
};

/** The place of an entry that an event begins. */
export const placeOf = ({
  seq,
  at,
  run,
  turn,
}: Pick<EventPlace, "seq" | "at"> & { readonly [key in "run" | "turn"]?: EventPlace[key] | undefined }) => ({
  seq,
  at,
  ...pickDefined({ run, turn }),
});

/** An event becomes a note. */
export const addNote = (draft: FoldDraft, event: NoteEvent, ask: TranscriptAsk | null = null): void => {
  entriesOf(draft, event).push({ ...placeOf(event), kind: "note", id: event.id, event, ask });
};

/** Returns a list with one value put in the place of the one with its id, or at the end. */
export const putById = <T extends { readonly id: string }>(list: readonly T[], value: T): readonly T[] =>
  list.some(({ id }) => id === value.id)
    ? list.map((each) => (each.id === value.id ? value : each))
    : [...list, value];

/** Returns a list without the value of an id; the same list if it has none. */
export const dropById = <T extends { readonly id: string }>(list: readonly T[], id: string): readonly T[] =>
  list.some((each) => each.id === id) ? list.filter((each) => each.id !== id) : list;

/** One handler of an event type; an event of another type is left alone. */
export type FoldHandler = readonly [EventType, (draft: FoldDraft, event: StoredEvent) => void];

const isOfType = <T extends EventType>(event: StoredEvent, type: T): event is EventOf<T> =>
  event.type === type;

/** Defines what an event of a type changes. */
export const on = <T extends EventType>(
  type: T,
  handle: (draft: FoldDraft, event: EventOf<T>) => void,
): FoldHandler => [
  type,
  (draft, event) => {
    if (isOfType(event, type)) handle(draft, event);
  },
];
