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

/**
 * Creates a cache in which each message object is serialised once, until it is sent to another target. A target's name
 * says everything besides the message on which the text depends.
 */
export const createFragmentCache = <T extends HashedText>() => {
  const kept = new WeakMap<Message, Fragment<T>>();
  return (target: string, build: (message: Message) => T) =>
    (message: Message): Fragment<T> => {
      const known = kept.get(message);
      if (known?.target === target) return known;
      const fragment = { ...build(message), message, target };
      if (fragment.text.length <= longestKept) kept.set(message, fragment);
      return fragment;
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
  const { message, target, text } = fragment;
  const { length } = text;
  if (length <= longestKept) return fragment;
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

interface Link {
  readonly before: string;
  readonly messages: readonly HashedText[];
  readonly digest: string;
}

const knownLinks = new WeakMap<HashedText, Link>();

/** Returns the digest of a chain extended by the link that begins here; each link is cached by its first message. */
const hashLink = (before: string, all: readonly HashedText[], at: number): string => {
  const first = all[at] ?? { text: "" };
  const known = knownLinks.get(first);
  if (known?.before === before && known.messages.every((message, index) => message === all[at + index]))
    return known.digest;
  const messages = all.slice(at, at + linkLength);
  const digest = hashTexts([before, ...messages.map(({ text }) => text)]);
  knownLinks.set(first, { before, messages, digest });
  return digest;
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
  let digest = hashHead(head);
  for (let at = 0; at < whole; at += linkLength) digest = hashLink(digest, messages, at);
  return hashTexts([digest, ...messages.slice(whole).map(({ text }) => text), rest]);
};
