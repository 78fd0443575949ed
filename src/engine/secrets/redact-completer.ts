import { fieldsOf, parseJson } from "../../chat/json.ts";
import type { Part } from "../../chat/message.ts";
import type { Completer, Completion, ItemDelta } from "../../model/completer.ts";
import { ModelError } from "../../model/error.ts";
import type { Redactor } from "../../tools/redaction.ts";

/** Removes secrets that a model may echo from its output. */

interface FilteredItem {
  readonly filter: (piece: string) => string;
  off: number;
}

/**
 * Creates a filter of one reply's deltas: a tail that may begin a secret is held back, and offsets count the sent
 * text.
 */
const createDeltaFilter = (redactor: Redactor): ((deltas: readonly ItemDelta[]) => readonly ItemDelta[]) => {
  const items = new Map<number, FilteredItem>();
  return (deltas) =>
    deltas.map((delta) => {
      const item = items.get(delta.index) ?? { filter: redactor.stream(), off: 0 };
      items.set(delta.index, item);
      const data = item.filter(delta.data);
      const filtered = { ...delta, off: item.off, data };
      item.off += data.length;
      return filtered;
    });
};

/** Texts of a frame's `delta` that arrive whole; all others are pieces. */
const wholeTexts: ReadonlySet<string> = new Set([
  "type",
  "role",
  "id",
  "name",
  "stop_reason",
  "stop_sequence",
]);

/**
 * Creates a filter of one reply's frames. A secret may arrive in pieces, so the texts at the same place of the
 * frames' deltas are filtered as one text, whose tail is held back while it may begin a secret.
 */
const createFrameFilter = (redactor: Redactor): ((frame: string) => string) => {
  const filters = new Map<string, (piece: string) => string>();
  const filterAt = (place: string): ((piece: string) => string) => {
    const known = filters.get(place) ?? redactor.stream();
    filters.set(place, known);
    return known;
  };
  const filterValue = (value: unknown, place: string, inDelta: boolean): unknown => {
    if (typeof value === "string") return inDelta ? filterAt(place)(value) : redactor.text(value);
    if (Array.isArray(value))
      return value.map((each: unknown, at) => filterValue(each, `${place}[${at}]`, inDelta));
    if (typeof value !== "object" || value === null) return value;
    const { index, output_index: item = index } = fieldsOf(value);
    const own = item === undefined ? place : `${place}#${JSON.stringify(item)}`;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => {
        const isPiece = (inDelta || key === "delta") && !wholeTexts.has(key);
        return [redactor.text(key), filterValue(each, `${own}.${key}`, isPiece)];
      }),
    );
  };
  return (frame) => {
    const parsed = parseJson(frame);
    return parsed === undefined ? redactor.text(frame) : JSON.stringify(filterValue(parsed, "", false));
  };
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
  complete: async (request, { onDelta, onRaw, ...rest }) => {
    const filterDeltas = createDeltaFilter(redactor);
    const shown = onRaw && createFrameFilter(redactor);
    const options = {
      ...rest,
      ...(onDelta && {
        onDelta: (deltas: readonly ItemDelta[], isWhole: boolean) => onDelta(filterDeltas(deltas), isWhole),
      }),
      ...(onRaw && shown && { onRaw: (frames: readonly string[]) => onRaw(frames.map(shown)) }),
    };
    try {
      return redactReply(await completer.complete(request, options), redactor);
    } catch (error) {
      throw error instanceof ModelError ? new ModelError(redactor.value(error.failure)) : error;
    }
  },
});
