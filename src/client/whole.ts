import type { ReportedMessage, StoredEvent } from "../agent/state/events.ts";
import { outputOf } from "./fold/calls.ts";

/** This file puts whole messages in the place of those that events have shortened. */

/** The output of each call whose result a message holds. */
const outputsOf = ({ parts }: ReportedMessage) =>
  new Map(
    parts.flatMap((part) =>
      part.type === "tool_result" && part.content !== undefined
        ? [[part.call, outputOf(part.content)] as const]
        : [],
    ),
  );

/** Returns the log with a message as the session keeps it. */
export const putWholeMessage = (
  log: readonly StoredEvent[],
  thread: string,
  whole: ReportedMessage,
): readonly StoredEvent[] => {
  const outputs = outputsOf(whole);
  return log.map((event): StoredEvent => {
    if (event.thread !== thread) return event;
    if (event.type === "message_added" && event.data.message.id === whole.id)
      return { ...event, data: { message: whole, final: event.data.final } };
    const output =
      event.type === "tool_call_end" && event.turn === whole.turn ? outputs.get(event.call ?? "") : undefined;
    if (event.type !== "tool_call_end" || output === undefined) return event;
    return { ...event, data: { ...event.data, output, truncated: false } };
  });
};
