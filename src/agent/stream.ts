import { preview } from "../chat/text.ts";
import type { ItemDelta } from "../model/completer.ts";
import type { Delta, DeltaKind } from "./delta.ts";
import type { Host } from "./host.ts";
import type { Run } from "./state.ts";
import { attemptId, itemId, itemsOpened } from "./turns.ts";
import type { OpenedItem } from "./turns.ts";

/** Live text of one attempt on its way to the watchers: many provider reads become one frame per item (AP-20). */
export interface ItemStream {
  readonly take: (deltas: readonly ItemDelta[]) => void;
  /** Drops what was not sent: the event that follows holds the whole. */
  readonly close: () => void;
}

interface OpenItem {
  readonly id: string;
  readonly kind: ItemDelta["kind"];
  readonly call: { readonly id: string; readonly name: string } | null;
  text: string;
  sent: number;
  opened: boolean;
}

/** Milliseconds between the frames of an attempt: the first piece of an item goes at once, what follows is gathered. */
const frameMs = 16;

const deltaKinds: Record<ItemDelta["kind"], DeltaKind> = {
  text: "text_delta",
  reasoning: "reasoning_delta",
  tool_input: "tool_input_delta",
};

/** Adds a piece to its item; true if it is the item's first. */
const addPiece = (items: Map<number, OpenItem>, run: Run, attempt: number, delta: ItemDelta): boolean => {
  const { index, kind, data, call } = delta;
  const known = items.get(index);
  if (known !== undefined) known.text += data;
  else
    items.set(index, {
      id: itemId(run, attempt, index),
      kind,
      call: call ?? null,
      text: data,
      sent: 0,
      opened: false,
    });
  return known === undefined;
};

const asOpened = ({ id, kind, call, text }: OpenItem): OpenedItem => ({
  id,
  kind,
  call,
  preview: kind === "tool_input" ? "" : preview(text),
});

export const openStream = (host: Host, threadId: string, run: Run, attempt: number): ItemStream => {
  const items = new Map<number, OpenItem>();
  let timer: { cancel(): void } | null = null;
  let shownAt = Number.NEGATIVE_INFINITY;
  let closed = false;

  const openNew = (): void => {
    const fresh = [...items.values()].filter(({ opened }) => !opened);
    if (fresh.length === 0) return;
    for (const item of fresh) item.opened = true;
    host.update((draft) => {
      const now = draft.state.threads[threadId]?.run;
      if (now?.phase.at !== "thinking") return;
      if (attemptId(now, now.phase.attempt) === attemptId(run, attempt))
        itemsOpened(draft, threadId, fresh.map(asOpened));
    });
  };

  const unsent = (item: OpenItem): readonly Delta[] => {
    const { id, kind, text, sent } = item;
    if (sent === text.length) return [];
    item.sent = text.length;
    host.itemGrew({ id, thread: threadId, kind, attempt, text });
    const data = text.slice(sent);
    return [{ type: "delta", kind: deltaKinds[kind], thread: threadId, item: id, attempt, off: sent, data }];
  };

  const flush = (): void => {
    timer = null;
    if (closed) return;
    shownAt = host.now();
    openNew();
    host.show([...items.values()].flatMap(unsent));
  };

  const showAfter = (ms: number): void => {
    timer?.cancel();
    timer = host.after(ms, flush);
  };

  return {
    take: (deltas) => {
      if (closed) return;
      const hasNew = deltas.map((delta) => addPiece(items, run, attempt, delta)).includes(true);
      if (hasNew) showAfter(0);
      else if (timer === null) showAfter(Math.max(0, shownAt + frameMs - host.now()));
    },
    close: () => {
      closed = true;
      timer?.cancel();
      host.itemsClosed([...items.values()].map(({ id }) => id));
    },
  };
};
