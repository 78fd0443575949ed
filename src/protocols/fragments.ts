import type { Message } from "../chat/message.ts";
import { sha256Hex } from "../sandbox/sha256.ts";

/**
 * The messages of a body as texts, and the digest of a body: a chain over its parts, so that a turn hashes only the
 * new part of the history. Bodies with the same digest have the same bytes, since the parts determine them.
 */

/** Text that a digest covers; each object always stands for the same text. */
interface HashedText {
  readonly text: string;
}

/** A message as it is sent to a target; both determine its text. */
export type Fragment<T extends HashedText = HashedText> = T & {
  readonly message: Message;
  readonly target: string;
};

/** Length beyond which fragments are built each time: keeping them would cost more memory than it saves time. */
const longestKept = 256 * 1024;

const isKept = ({ text }: HashedText): boolean => text.length <= longestKept;

/** The newest messages of a chat that were sent; `undefined` in place of what is not kept. */
interface SentHistory<T extends HashedText> {
  readonly messages: readonly Message[];
  readonly fragments: readonly (Fragment<T> | undefined)[];
}

/**
 * Creates a cache in which each message object is serialised once, until it is sent to another target. A target's name
 * says everything besides the message on which the text depends. What stands where it stood in the chat's last request
 * is found by its place, which is much faster than a lookup.
 */
export const createFragmentCache = <T extends HashedText>() => {
  const kept = new WeakMap<Message, Fragment<T>>();
  const newest = new WeakMap<Message, SentHistory<T>>();
  return (
    messages: readonly Message[],
    targetAt: (at: number) => string,
    build: (message: Message, at: number) => T,
  ): readonly Fragment<T>[] => {
    const [first] = messages;
    if (first === undefined) return [];
    const sent = newest.get(first);
    const fragments = messages.map((message, at) => {
      const target = targetAt(at);
      const known = sent?.messages[at] === message ? sent.fragments[at] : kept.get(message);
      if (known?.target === target) return known;
      const fragment = { ...build(message, at), message, target };
      if (isKept(fragment)) kept.set(message, fragment);
      return fragment;
    });
    newest.set(first, { messages, fragments: fragments.map((each) => (isKept(each) ? each : undefined)) });
    return fragments;
  };
};

/** Hashes texts, each preceded by its length, so that no other texts have the same input. Hex. */
const hashTexts = (texts: readonly string[]): string =>
  sha256Hex(texts.map((text) => `${text.length}\n${text}`).join(""));

interface LongText extends HashedText {
  readonly target: string;
  /** A fragment is shorter once an image of it is no longer stored. */
  readonly length: number;
}

/** Hashes of long fragments, which are built each time but need not be hashed each time. */
const longTexts = new WeakMap<Message, LongText>();

const hashedText = (fragment: Fragment): HashedText => {
  if (isKept(fragment)) return fragment;
  const { message, target, text } = fragment;
  const { length } = text;
  const known = longTexts.get(message);
  if (known?.target === target && known.length === length) return known;
  const hashed = { target, length, text: `#${hashTexts([text])}` };
  longTexts.set(message, hashed);
  return hashed;
};

let knownHead = { text: "", digest: "" };

/** Hashes a head; the last one is cached, since it rarely changes from turn to turn. */
const hashHead = (text: string): string => {
  if (knownHead.text !== text) knownHead = { text, digest: hashTexts([text]) };
  return knownHead.digest;
};

/** Number of consecutive messages in one link of the chain. */
const linkLength = 8;

/** Messages, and the digests of the chain up to each whole link of them. */
interface Chain {
  readonly messages: readonly HashedText[];
  readonly digests: readonly string[];
}

/** The newest chain by its first message. */
const newestChains = new WeakMap<HashedText, Chain>();

/** Returns the number of messages with which both lists begin. */
const countSame = (one: readonly HashedText[], other: readonly HashedText[]): number => {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at++;
  return at;
};

/** Returns the digest of the chain up to the last whole link, and computes it from where the newest chain differs. */
const hashChain = (messages: readonly HashedText[]): string => {
  const [first] = messages;
  if (first === undefined) return "";
  const known = newestChains.get(first);
  const same = known === undefined ? 0 : countSame(known.messages, messages);
  const digests = known?.digests.slice(0, Math.floor(same / linkLength)) ?? [];
  for (let at = digests.length * linkLength; at + linkLength <= messages.length; at += linkLength) {
    const texts = messages.slice(at, at + linkLength).map(({ text }) => text);
    digests.push(hashTexts([digests.at(-1) ?? "", ...texts]));
  }
  newestChains.set(first, { messages, digests });
  return digests.at(-1) ?? "";
};

/** Parts of a body: the text before the messages, the messages, and everything else. */
interface BodyParts {
  readonly head: string;
  readonly fragments: readonly Fragment[];
  readonly rest: string;
}

/** Computes the digest of a body. Hex. */
export const digestBody = ({ head, fragments, rest }: BodyParts): string => {
  const messages = fragments.map(hashedText);
  const whole = messages.length - (messages.length % linkLength);
  const open = messages.slice(whole).map(({ text }) => text);
  return hashTexts([hashHead(head), hashChain(messages), ...open, rest]);
};
