import type { ContentPart } from "../chat/message.ts";
import { base64Of } from "../tools/base64.ts";
import type { ToolContext } from "../tools/define-tool.ts";
import type { Blob } from "./draft.ts";

/** Bytes that a tool keeps: they are stored with the outcome that shows them, in its commit, or not at all. */

const mostBytes = 5 * 1_048_576;
const mostBytesInAll = 20 * 1_048_576;

export interface Keeper {
  readonly keep: ToolContext["keep"];
  /** What the parts of a result show of it; null if they show bytes that were not kept. */
  readonly shown: (content: string | readonly ContentPart[]) => readonly Blob[] | null;
}

/** `start` names one start of a call within its session. */
export const createKeeper = (start: string): Keeper => {
  const kept = new Map<string, string>();
  let size = 0;
  return {
    keep: (bytes) => {
      size += bytes.length;
      if (bytes.length > mostBytes) throw new Error(`more than ${mostBytes} bytes cannot be kept`);
      if (size > mostBytesInAll) throw new Error(`a call keeps at most ${mostBytesInAll} bytes`);
      const id = `m.${start}.${kept.size}`;
      kept.set(id, base64Of(bytes));
      return id;
    },
    shown: (content) => {
      if (typeof content === "string") return [];
      const ids = content.flatMap((part) => (part.type === "text" ? [] : (part.blob ?? [])));
      const blobs = ids.map((id) => ({ id, text: kept.get(id) ?? null }));
      return blobs.every((blob): blob is Blob => blob.text !== null) ? blobs : null;
    },
  };
};
