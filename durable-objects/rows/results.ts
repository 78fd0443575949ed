import { callsOfRun } from "../../src/agent/state/run.ts";
import type { Thread } from "../../src/agent/state/thread.ts";
import type { Message, ToolResultPart } from "../../src/chat/message.ts";

/** Finds the results of calls among the messages. */

/** Messages that a commit wrote. */
export type WrittenMessages = ReadonlyMap<string, Message>;

export const messageKey = (thread: string, pos: number): string => `${thread} ${pos}`;

export const resultOf = (call: string, { parts }: Message): ToolResultPart | null => {
  const [part] = parts;
  return part?.type === "tool_result" && part.call === call ? part : null;
};

/** Returns the places of the results of a thread's open calls: they follow the reply in the order of its calls. */
export const resultPlaces = (thread: Thread | undefined): ReadonlyMap<string, number> => {
  const calls = callsOfRun(thread?.run ?? null);
  const reply = calls.length === 0 ? undefined : thread?.chat.findLast(({ role }) => role === "assistant");
  return new Map(reply === undefined ? [] : calls.map(({ call }, index) => [call.id, reply.pos + 1 + index]));
};

export const isResultAt = (written: WrittenMessages, thread: string, pos: number, call: string): boolean => {
  const message = written.get(messageKey(thread, pos));
  return message !== undefined && resultOf(call, message) !== null;
};
