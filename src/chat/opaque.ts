import type { Message, Opaque, Part } from "./message.ts";

/** Messages without the data that only their model understands, so that their wire forms can be cached. */
const bareMessages = new WeakMap<Message, Message>();

/** Takes a signature or encrypted reasoning out of a part; a text has neither, but the phase that its model gave it. */
const withoutData = (part: Part): Part => {
  if (part.type === "text" || !("opaque" in part)) return part;
  const { opaque: _, ...bare } = part;
  return bare;
};

/** Returns whether a message holds a signature or encrypted reasoning. */
const isSealed = ({ parts }: Message): boolean => parts.some((part) => withoutData(part) !== part);

/** Returns whether a message holds what a model target gets back and may refuse: its own signature or reasoning. */
export const isSealedBy = (
  { parts }: Message,
  { provider, model }: Pick<Opaque, "provider" | "model">,
): boolean =>
  parts.some(
    (part) =>
      part.type !== "text" &&
      "opaque" in part &&
      part.opaque?.provider === provider &&
      part.opaque.model === model,
  );

const bareMessage = (message: Message): Message => {
  const bare = bareMessages.get(message) ?? { ...message, parts: message.parts.map(withoutData) };
  bareMessages.set(message, bare);
  return bare;
};

/** Takes signatures and encrypted reasoning out of the messages before a `pos`. */
export const withoutOpaque = (messages: readonly Message[], before: number): readonly Message[] =>
  before === 0
    ? messages
    : messages.map((message) => (message.pos < before && isSealed(message) ? bareMessage(message) : message));
