import type { StoredBlob } from "../transaction/draft.ts";
import type { ContentPart } from "../../chat/message.ts";
import { toBase64 } from "../../tools/base64.ts";
import type { ToolContext } from "../../tools/define-tool.ts";

/** Holds bytes that a tool attaches: they are stored in the commit of the outcome that shows them, or not at all. */

const mostBytes = 5 * 1_048_576;

const mostBytesInAll = 20 * 1_048_576;

export interface Attachments {
  readonly keep: ToolContext["keep"];
  /** Lists the attachments that a result shows; null means that it shows bytes which were never attached. */
  readonly shown: (content: string | readonly ContentPart[]) => readonly StoredBlob[] | null;
}

/** Creates the attachments of a call; `start` identifies one start of that call within its session. */
export const createAttachments = (start: string): Attachments => {
  const kept = new Map<string, string>();
  let size = 0;
  return {
    keep: (bytes) => {
      size += bytes.length;
      if (bytes.length > mostBytes) throw new Error(`more than ${mostBytes} bytes cannot be kept`);
      if (size > mostBytesInAll) throw new Error(`a call keeps at most ${mostBytesInAll} bytes`);
      const id = `m.${start}.${kept.size}`;
      kept.set(id, toBase64(bytes));
      return id;
    },
    shown: (content) => {
      if (typeof content === "string") return [];
      const ids = content.flatMap((part) => (part.type === "text" ? [] : (part.blob ?? [])));
      const blobs = ids.map((id) => ({ id, text: kept.get(id) ?? null }));
      return blobs.every((blob): blob is StoredBlob => blob.text !== null) ? blobs : null;
    },
  };
};
