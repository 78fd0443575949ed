import type { Part } from "../../chat/message.ts";
import type { Completer, Completion, ItemDelta } from "../../model/completer.ts";
import { ModelError } from "../../model/error.ts";
import type { Redactor } from "../../tools/redaction.ts";

/** This file removes secrets that a model may echo from what it returns. */

interface FilteredItem {
  readonly filter: (piece: string) => string;
  off: number;
}

/** Filters the deltas of one reply: a tail that may begin a secret is held back, and offsets count the text sent on. */
const createDeltaFilter = (redactor: Redactor): ((deltas: readonly ItemDelta[]) => readonly ItemDelta[]) => {
  const items = new Map<number, FilteredItem>();
  return (deltas) =>
    deltas.map((delta) => {
      const item = items.get(delta.index) ?? { filter: redactor.stream(), off: 0 };
      items.set(delta.index, item);
      const data = item.filter(delta.data);
      const told = { ...delta, off: item.off, data };
      item.off += data.length;
      return told;
    });
};

/** Removes secrets from a part; a signed part that changes loses its signature, which no longer fits it. */
const redactPart = (part: Part, redactor: Redactor): Part => {
  const clean = redactor.value(part);
  if (clean === part || !("opaque" in clean)) return clean;
  const { opaque: _, ...rest } = clean;
  return rest;
};

const redactReply = (reply: Completion, redactor: Redactor): Completion => ({
  ...redactor.value({ ...reply, parts: [] }),
  parts: reply.parts.map((part) => redactPart(part, redactor)),
});

/** Wraps a completer so that its replies, deltas and failures hold no known secret. */
export const redactCompleter = (completer: Completer, redactor: Redactor): Completer => ({
  ...completer,
  complete: async (request, { signal, onDelta }) => {
    const told = createDeltaFilter(redactor);
    const options =
      onDelta === undefined ? {} : { onDelta: (deltas: readonly ItemDelta[]) => onDelta(told(deltas)) };
    try {
      return redactReply(await completer.complete(request, { signal, ...options }), redactor);
    } catch (error) {
      throw error instanceof ModelError ? new ModelError(redactor.value(error.failure)) : error;
    }
  },
});
