import type { ModelRequest } from "./completer.ts";

/** Which call ids a reply may keep, and new ones for the rest. */
export interface CallIds {
  /** True if the thread already has a call of this id. */
  readonly isKnown: (id: string) => boolean;
  /** Calls of the thread may be missing here, so that nobody can tell whether another id is new. */
  readonly partial: boolean;
  /** The id of the reply's n-th call; the same for every attempt of the same request. */
  readonly mint: (index: number) => string;
}

const usableId = /^[A-Za-z0-9_-]{1,40}$/;

/** 52 bits of a string as 11 base-36 digits; no cryptography, only spread. */
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

/** The call ids of a request's history, looked up without a list of their own, and minted ids derived from its context. */
export const createCallIds = ({ messages, context }: Pick<ModelRequest, "messages" | "context">): CallIds => {
  /** Looks through the whole history for each call of a reply: a plain loop, several times as fast as callbacks. */
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

/** The provider's id if it is usable and surely new in thread and reply, else a minted one. */
export const chooseId = (given: string, index: number, ids: CallIds, taken: ReadonlySet<string>): string => {
  const free = (id: string) => !taken.has(id) && !ids.isKnown(id);
  if (!ids.partial && usableId.test(given) && free(given)) return given;
  let id = ids.mint(index);
  for (let again = 2; !free(id); again++) id = `${ids.mint(index)}_${again}`;
  return id;
};
