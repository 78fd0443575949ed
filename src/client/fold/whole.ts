import type { ReportedMessage } from "../../agent/state/events.ts";
import { outputOf } from "./calls.ts";
import type { FoldDraft } from "./draft.ts";
import { ownEntries } from "./draft.ts";

/** This file puts whole messages in the place of those that events have shortened. */

/** A message as the session keeps it. */
export interface WholeMessage {
  readonly type: "whole";
  readonly thread: string;
  readonly message: ReportedMessage;
}

/** Shows the whole of a message, or of the outputs in it, where the thread still has them. */
export const foldWhole = (draft: FoldDraft, { thread, message }: WholeMessage): void => {
  const { id, parts, pos } = message;
  const entries = ownEntries(draft, thread) ?? [];
  for (const [at, entry] of entries.entries()) {
    if (entry.kind === "message" && entry.message === id) entries[at] = { ...entry, parts, truncated: false };
    if (entry.kind !== "call" || entry.pos !== pos) continue;
    for (const part of parts)
      if (part.type === "tool_result" && part.call === entry.call && part.content !== undefined)
        entries[at] = { ...entry, output: outputOf(part.content), truncated: false };
  }
};
