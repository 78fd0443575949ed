import { parseJson } from "../../chat/json.ts";
import type { ModelEvent } from "../../model/completer.ts";

/** Piece of a tool call as chat servers stream it; every field may be missing or null. */
export interface CallPiece {
  readonly index?: number | null;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null;
  readonly extra_content?: { readonly google?: { readonly thought_signature?: unknown } | null } | null;
}

interface CallSlot {
  readonly index: number | undefined;
  id: string;
  name: string;
  /** Item of the reply, once the name is known; earlier pieces wait in `args`. */
  item: number | undefined;
  args: string;
}

/** Assigns the pieces of a reply's calls to slots: by index, otherwise by id, else to a new slot. */
export interface CallSlots {
  readonly take: (piece: CallPiece, events: ModelEvent[]) => void;
  readonly end: (events: ModelEvent[]) => void;
}

/**
 * Returns whether a piece for a known index opens another call: it has another id or name, or a name after whole
 * arguments.
 */
const opensAnotherCall = (slot: CallSlot, id: string, name: string): boolean => {
  if (slot.name === "" || name === "") return false;
  if (id !== "" && slot.id !== "") return id !== slot.id;
  return name !== slot.name || parseJson(slot.args, Infinity) !== undefined;
};

const stringOf = (value: unknown): string => (typeof value === "string" ? value : "");

const argumentsOf = (value: unknown): string => {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
};

/** Fills in a piece's missing fields. */
const readPiece = (piece: CallPiece) => ({
  index: typeof piece.index === "number" ? piece.index : undefined,
  id: stringOf(piece.id),
  name: stringOf(piece.function?.name),
  args: argumentsOf(piece.function?.arguments),
  signature: stringOf(piece.extra_content?.google?.thought_signature),
});

type ReadPiece = ReturnType<typeof readPiece>;

const findSlot = (slots: readonly CallSlot[], { index, id, name }: ReadPiece): CallSlot | undefined => {
  if (index !== undefined) {
    const slot = slots.findLast((each) => each.index === index);
    return slot === undefined || opensAnotherCall(slot, id, name) ? undefined : slot;
  }
  if (id !== "") return slots.findLast((each) => each.id === id);
  return name === "" ? slots.at(-1) : undefined;
};

const addSlot = (slots: CallSlot[], { index, id }: ReadPiece): CallSlot => {
  const slot: CallSlot = { index, id, name: "", item: undefined, args: "" };
  slots.push(slot);
  return slot;
};

export const createCallSlots = (nextItem: () => number, nameOf: (wireName: string) => string): CallSlots => {
  const slots: CallSlot[] = [];

  const open = (slot: CallSlot, events: ModelEvent[]): void => {
    if (slot.name === "") return;
    slot.item = nextItem();
    const id = slot.id === "" ? {} : { id: slot.id };
    events.push({ type: "call", item: slot.item, ...id, name: nameOf(slot.name) });
    if (slot.args !== "") events.push({ type: "call_input", item: slot.item, json: slot.args });
  };
  const take = (piece: CallPiece, events: ModelEvent[]): void => {
    const told = readPiece(piece);
    const { id, name, args, signature } = told;
    const slot = findSlot(slots, told) ?? addSlot(slots, told);
    if (slot.id === "") slot.id = id;
    if (slot.name === "") slot.name = name;
    slot.args += args;
    if (slot.item === undefined) open(slot, events);
    else if (args !== "") events.push({ type: "call_input", item: slot.item, json: args });
    if (signature !== "" && slot.item !== undefined)
      events.push({ type: "opaque", item: slot.item, data: { thought_signature: signature } });
  };
  const end = (events: ModelEvent[]): void => {
    for (const { item } of slots) if (item !== undefined) events.push({ type: "item_end", item });
  };
  return { take, end };
};
