import { preview } from "../chat/text.ts";
import type { ItemDelta } from "../model/completer.ts";
import type { Delta, DeltaKind } from "./events.ts";
import type { Host } from "./host.ts";
import type { Run } from "./state.ts";
import { itemId, itemsOpened } from "./turns.ts";
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

const coalesceMs = 20;

const deltaKinds: Record<ItemDelta["kind"], DeltaKind> = {
  text: "text_delta",
  reasoning: "reasoning_delta",
  tool_input: "tool_input_delta",
};

export const openStream = (host: Host, threadId: string, run: Run, attempt: number): ItemStream => {
  const items = new Map<number, OpenItem>();
  let timer: { cancel(): void } | null = null;
  let closed = false;

  const openNew = (): void => {
    const fresh = [...items.values()].filter(({ opened }) => !opened);
    if (fresh.length === 0) return;
    for (const item of fresh) item.opened = true;
    const opened = fresh.map(({ id, kind, call, text }): OpenedItem => ({
      id,
      kind,
      call,
      preview: kind === "tool_input" ? "" : preview(text),
    }));
    host.update((draft) => {
      const current = draft.state.threads[threadId]?.run;
      if (current?.id === run.id && current.phase.at === "thinking" && current.phase.attempt === attempt)
        itemsOpened(draft, threadId, opened);
    });
  };

  const flush = (): void => {
    timer = null;
    if (closed) return;
    openNew();
    const deltas: Delta[] = [];
    for (const item of items.values()) {
      if (item.sent === item.text.length) continue;
      const data = item.text.slice(item.sent);
      deltas.push({
        type: "delta",
        kind: deltaKinds[item.kind],
        thread: threadId,
        item: item.id,
        attempt,
        off: item.sent,
        data,
      });
      item.sent = item.text.length;
      host.itemGrew({ id: item.id, thread: threadId, kind: item.kind, attempt, text: item.text });
    }
    host.show(deltas);
  };

  return {
    take: (deltas) => {
      if (closed) return;
      for (const { index, kind, data, call } of deltas) {
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
      }
      timer ??= host.after(coalesceMs, flush);
    },
    close: () => {
      closed = true;
      timer?.cancel();
      host.itemsClosed([...items.values()].map(({ id }) => id));
    },
  };
};
