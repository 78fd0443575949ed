import type { ReportedMessage, StoredEvent } from "../../src/agent/state/events.ts";
import type { ContentPart, Json } from "../../src/chat/message.ts";
import type { Bench } from "./bench.ts";

/** A client that shows the messages of `main`: it holds a snapshot and takes in the events after it (AP-24). */

export interface SeenSnapshot {
  readonly seq: number;
  readonly messages: readonly ReportedMessage[];
}

/** A client that begins with the first event has seen this. */
export const emptySnapshot: SeenSnapshot = { seq: 0, messages: [] };

export const takeSnapshot = (bench: Bench): SeenSnapshot => bench.ok("snapshot") as unknown as SeenSnapshot;

const contentOf = (output: Json): readonly ContentPart[] =>
  typeof output === "string" ? [{ type: "text", text: output }] : (output as unknown as ContentPart[]);

const isPinned = ({ marks = [] }: ReportedMessage): boolean => marks.includes("pinned");

const withPin = (message: ReportedMessage, pinned: boolean): ReportedMessage => {
  const marks = (message.marks ?? []).filter((mark) => mark !== "pinned");
  return { ...message, marks: pinned ? [...marks, "pinned"] : marks };
};

export const foldMessages = (
  { seq: after, messages }: SeenSnapshot,
  events: readonly StoredEvent[],
): readonly ReportedMessage[] => {
  const shown = new Map(messages.map((message) => [message.id, message]));
  const outputs = new Map<string, Json>();
  const withOutput = (message: ReportedMessage): ReportedMessage => ({
    ...message,
    parts: message.parts.map((part) =>
      part.type === "tool_result" && part.content === undefined
        ? { ...part, content: contentOf(outputs.get(part.call) ?? null) }
        : part,
    ),
  });
  for (const { seq, type, thread, call = "", data } of events) {
    if (seq <= after || thread !== "main") continue;
    if (type === "tool_call_end") outputs.set(call, data.output);
    if (type === "messages_retired") for (const id of data.messages) shown.delete(id);
    if (type === "session_updated" && typeof data["message"] === "string") {
      const known = shown.get(data["message"]);
      if (known !== undefined) shown.set(known.id, withPin(known, data["pinned"] === true));
    }
    if (type !== "message_added") continue;
    const { summary } = data.message;
    if (summary !== undefined)
      for (const each of shown.values())
        if (each.pos >= summary.from && each.pos <= summary.to && !isPinned(each)) shown.delete(each.id);
    shown.set(data.message.id, withOutput(data.message));
  }
  return [...shown.values()].sort((a, b) => a.pos - b.pos);
};
