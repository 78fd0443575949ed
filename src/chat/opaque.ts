import type { Message, Part } from "./message.ts";

/** Messages without the data that only their model understands, so that their wire forms can be cached. */
const bareMessages = new WeakMap<Message, Message>();

const withoutData = (part: Part): Part => {
  if (!("opaque" in part)) return part;
  const { opaque: _, ...bare } = part;
  return bare;
};

/** Takes signatures and encrypted reasoning out of the messages before a `pos`. */
export const withoutOpaque = (messages: readonly Message[], before: number): readonly Message[] =>
  before === 0
    ? messages
    : messages.map((message) => {
        if (message.pos >= before) return message;
        const bare = bareMessages.get(message) ?? { ...message, parts: message.parts.map(withoutData) };
        bareMessages.set(message, bare);
        return bare;
      });
