import type { ModelRequest } from "./completer.ts";

/** Call ids that a reply may keep, and new ones for the rest. */
export interface CallIds {
  /** Returns whether the thread already has a call with this id. */
  readonly isKnown: (id: string) => boolean;
  /** True if the session may have calls that are missing here, so that another id cannot be known to be new. */
  readonly partial: boolean;
  /** Returns the id of the reply's n-th call, the same for every attempt of the same request. */
  readonly mint: (index: number) => string;
}

const usableId = /^[A-Za-z0-9_-]{1,40}$/;

/** Digests a string to 52 bits as 11 base-36 digits, for distribution only: not cryptographic. */
const spreadDigest = (text: string): string => {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return ((high >>> 0) * 0x100000 + (low >>> 12)).toString(36).padStart(11, "0");
};

type History = ModelRequest["messages"];

interface KnownCalls {
  readonly history: History;
  readonly ids: Set<string>;
}

/**
 * Known calls by the first message of a history, with which that of the next turn begins, too: a turn reads only
 * new messages.
 */
const knownCalls = new WeakMap<History[number], KnownCalls>();

const readCalls = (history: History): ReadonlySet<string> => {
  const [first] = history;
  if (first === undefined) return new Set();
  const before = knownCalls.get(first);
  const goesOn = before?.history.every((message, index) => message === history[index]) === true;
  const known = goesOn ? before : { history: [], ids: new Set<string>() };
  for (const { parts } of history.slice(known.history.length))
    for (const part of parts) if (part.type === "tool_call") known.ids.add(part.id);
  knownCalls.set(first, { history, ids: known.ids });
  return known.ids;
};

/** Collects the call ids of a request's history, and derives new ids from its context. */
export const createCallIds = ({ messages, context }: Pick<ModelRequest, "messages" | "context">): CallIds => {
  const { session, thread, run, turn, call, purpose, partial = false } = context;
  const mint = (index: number): string =>
    `call_${spreadDigest([session, thread, run, turn, call, purpose].join("\n"))}_${index}`;
  let ids: ReadonlySet<string> | null = null;
  const isKnown = (id: string): boolean => (ids ??= readCalls(messages)).has(id);
  return { isKnown, partial, mint };
};

/** Keeps the provider's id if it is usable and certainly new in thread and reply, otherwise creates one. */
export const chooseId = (given: string, index: number, ids: CallIds, taken: ReadonlySet<string>): string => {
  const free = (id: string) => !taken.has(id) && !ids.isKnown(id);
  if (!ids.partial && usableId.test(given) && free(given)) return given;
  let id = ids.mint(index);
  for (let again = 2; !free(id); again++) id = `${ids.mint(index)}_${again}`;
  return id;
};
