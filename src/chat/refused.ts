import type { ContentPart, Message, Opaque, Part, ToolResultPart } from "./message.ts";

/** What of a chat a provider may refuse: its own signatures and encrypted reasoning, or images and documents. */
export type RefusedKind = "reasoning" | "media";

/** The `pos` before which each kind stays out of requests; a kind that was not refused is absent. */
export type RefusedBefore = Readonly<Partial<Record<RefusedKind, number>>>;

/** Takes a signature or encrypted reasoning out of a part; a text has neither, but the phase that its model gave it. */
const withoutData = (part: Part): Part => {
  if (part.type === "text" || !("opaque" in part)) return part;
  const { opaque: _, ...bare } = part;
  return bare;
};

const omitMedia = (part: ContentPart): ContentPart =>
  part.type === "text"
    ? part
    : {
        type: "text",
        text: `[${part.type} omitted: the provider refused an image or document of this chat]`,
      };

const omitResultMedia = (part: ToolResultPart): ToolResultPart =>
  part.content.every(({ type }) => type === "text")
    ? part
    : { ...part, content: part.content.map(omitMedia) };

/** Says in a text that there was an image or document, also in the result of a tool. */
const withoutMedia = (part: Part): Part => {
  if (part.type === "image" || part.type === "document") return omitMedia(part);
  return part.type === "tool_result" ? omitResultMedia(part) : part;
};

/** How each kind leaves a part; a part without it stays the same object. */
const removals: Readonly<Record<RefusedKind, (part: Part) => Part>> = {
  reasoning: withoutData,
  media: withoutMedia,
};

/** Messages without what was refused, so that their wire forms can be cached. */
const bareMessages: Readonly<Record<RefusedKind, WeakMap<Message, Message>>> = {
  reasoning: new WeakMap(),
  media: new WeakMap(),
};

/** Returns a message without one kind; a message that has nothing of it stays the same object. */
const bareMessage = (message: Message, kind: RefusedKind): Message => {
  const known = bareMessages[kind].get(message);
  if (known !== undefined) return known;
  const parts = message.parts.map(removals[kind]);
  if (parts.every((part, at) => part === message.parts[at])) return message;
  const bare = { ...message, parts };
  bareMessages[kind].set(message, bare);
  return bare;
};

/** Returns whether a message holds what a model target gets and may refuse; of reasoning it gets only its own. */
export const holdsRefusable = (
  { parts }: Message,
  kind: RefusedKind,
  { provider, model }: Pick<Opaque, "provider" | "model">,
): boolean =>
  parts.some((part) => {
    if (removals[kind](part) === part) return false;
    return !("opaque" in part) || (part.opaque?.provider === provider && part.opaque.model === model);
  });

/** Returns what is left out of the messages before a `pos` alone. */
export const limitRefused = (before: RefusedBefore, end: number): RefusedBefore =>
  Object.fromEntries(Object.entries(before).map(([kind, pos]) => [kind, Math.min(pos, end)]));

const kinds: readonly RefusedKind[] = ["reasoning", "media"];

/** Takes out of the messages what the provider refused. */
export const withoutRefused = (messages: readonly Message[], before: RefusedBefore): readonly Message[] =>
  kinds.reduce((all, kind) => {
    const { [kind]: end = 0 } = before;
    return end === 0 ? all : all.map((message) => (message.pos < end ? bareMessage(message, kind) : message));
  }, messages);
