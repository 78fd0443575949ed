import type { Delta } from "../agent/state/delta.ts";
import { attemptId } from "../agent/state/model-call.ts";
import type { Run } from "../agent/state/run.ts";
import type { OpenedItem } from "../agent/turn/attempts.ts";
import { itemId, openItems } from "../agent/turn/attempts.ts";
import { preview } from "../chat/text.ts";
import type { CompleteOptions, ItemDelta } from "../model/completer.ts";
import type { Host } from "./host.ts";

/** Turns pieces of a reply into deltas for watchers as they arrive. */

/** Sends the live text of one attempt to the watchers: it merges many provider reads into one frame per item. */
interface ItemStream {
  readonly take: NonNullable<CompleteOptions["onDelta"]>;
  /** Drops unsent pieces, because the event that follows holds the whole text. */
  readonly close: () => void;
}

interface StreamItem {
  readonly id: string;
  readonly kind: ItemDelta["kind"];
  readonly call: { readonly id: string; readonly name: string } | null;
  text: string;
  sent: number;
  opened: boolean;
}

/**
 * Milliseconds between frames: an item's first piece is sent at once, and later pieces are gathered.
 * Including the time to read and a timer, each piece is at the socket 16 ms after it arrived.
 */
const frameMs = 14;

/** Adds a piece to its item; returns true if it is the item's first. */
const addPiece = (items: Map<number, StreamItem>, run: Run, attempt: number, delta: ItemDelta): boolean => {
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

const toOpenedItem = ({ id, kind, call, text }: StreamItem): OpenedItem => ({
  id,
  kind,
  call,
  preview: kind === "tool_input" ? "" : preview(text),
});

/** Runs work whose failure to store is the session's, not that of the model whose reply is being read. */
const runForSession = (host: Host, work: () => void): void => {
  try {
    work();
  } catch (error) {
    host.failed(error);
  }
};

export const openLiveText = (host: Host, threadId: string, run: Run, attempt: number): ItemStream => {
  const items = new Map<number, StreamItem>();
  let timer: { cancel(): void } | null = null;
  /** When the next frame is due: a timer that fires late does not delay the frames after it. */
  let dueAt = Number.NEGATIVE_INFINITY;
  let closed = false;

  const openNew = (): void => {
    const fresh = [...items.values()].filter(({ opened }) => !opened);
    if (fresh.length === 0) return;
    for (const item of fresh) item.opened = true;
    host.update((draft) => {
      const now = draft.state.threads[threadId]?.run;
      if (now?.phase.at !== "thinking") return;
      if (attemptId(now, now.phase.call.attempt) === attemptId(run, attempt))
        openItems(draft, threadId, fresh.map(toOpenedItem));
    });
  };

  const unsent = (item: StreamItem): readonly Delta[] => {
    const { id, kind, text, sent } = item;
    if (sent === text.length) return [];
    item.sent = text.length;
    host.itemGrew({ id, thread: threadId, kind, attempt, text });
    const data = text.slice(sent);
    return [{ type: "delta", kind: `${kind}_delta`, thread: threadId, item: id, attempt, off: sent, data }];
  };

  const flush = (): void => {
    timer = null;
    if (closed) return;
    const now = host.now();
    dueAt = (now >= dueAt && now < dueAt + frameMs ? dueAt : now) + frameMs;
    openNew();
    host.show([...items.values()].flatMap(unsent));
  };

  return {
    take: (deltas, isWhole) => {
      if (closed) return;
      const hasNew = deltas.map((delta) => addPiece(items, run, attempt, delta)).includes(true);
      // A reply that is already complete is shown by its event just as soon.
      if (hasNew && !isWhole) {
        timer?.cancel();
        runForSession(host, flush);
      } else timer ??= host.after(Math.max(0, dueAt - host.now()), flush);
    },
    close: () => {
      closed = true;
      timer?.cancel();
      host.itemsClosed([...items.values()].map(({ id }) => id));
    },
  };
};
