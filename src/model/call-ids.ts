import type { ModelRequest } from "./completer.ts";

/** Which call ids a reply may keep, and new ones for the rest. */
export interface CallIds {
  /** True if the thread already has a call of this id. */
  readonly isKnown: (id: string) => boolean;
  /** True if calls of the thread may be missing here, so that another id cannot be known to be new. */
  readonly partial: boolean;
  /** The id of the reply's n-th call; every attempt of the same request gives the same id. */
  readonly mint: (index: number) => string;
}

const usableId = /^[A-Za-z0-9_-]{1,40}$/;

/** Digests a string to 52 bits as 11 base-36 digits, for spread only: it is not cryptographic. */
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

/** Looks up the call ids of a request's history without a list of its own, and derives new ids from its context. */
export const createCallIds = ({ messages, context }: Pick<ModelRequest, "messages" | "context">): CallIds => {
  /** Searches the whole history for each call of a reply: a plain loop is several times as fast as callbacks. */
  const known = (id: string): boolean => {
    for (const { role, parts } of messages) {
      if (role !== "assistant") continue;
      for (const part of parts) if (part.type === "tool_call" && part.id === id) return true;
    }
    return false;
  };
  const { session, thread, run, turn, call, purpose, partial = false } = context;
  const mint = (index: number): string =>
    `call_${spreadDigest([session, thread, run, turn, call, purpose].join("\n"))}_${index}`;
  return { isKnown: known, partial, mint };
};

/** Keeps the provider's id if it is usable and surely new in thread and reply, otherwise mints one. */
export const chooseId = (given: string, index: number, ids: CallIds, taken: ReadonlySet<string>): string => {
  const free = (id: string) => !taken.has(id) && !ids.isKnown(id);
  if (!ids.partial && usableId.test(given) && free(given)) return given;
  let id = ids.mint(index);
  for (let again = 2; !free(id); again++) id = `${ids.mint(index)}_${again}`;
  return id;
};
