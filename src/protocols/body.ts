import { sha256Hex } from "../sandbox/sha256.ts";
import { isJsonObject, parseJson } from "../chat/json.ts";
import type { Json, Message } from "../chat/message.ts";
import { wrapUnparsable, withWholeEscapes } from "../chat/view.ts";
import type { ToolSpec } from "../model/completer.ts";
import type { SchemaDialect } from "./json-schema.ts";

/** Formats a string as JSON; lone surrogates, which strict servers refuse, become U+FFFD. */
export const quoteJson = (text: string): string =>
  JSON.stringify(text.isWellFormed() ? text : text.toWellFormed());

/** Formats a value as JSON that strict servers accept. */
export const serialise = (value: object): string => withWholeEscapes(JSON.stringify(value));

/** Joins the elements of two lists by a comma, unless one is empty. */
export const joinElements = (one: string, other: string): string =>
  one === "" || other === "" ? one + other : `${one},${other}`;

/** Returns whether a text is visible: neither empty nor only white space. */
export const isVisible = (text: string): boolean => /\S/.test(text);

/** Matches the only figures that can exceed what a server can represent. */
const largeNumber = /\d{300}|[eE]\+?\d{3}/;

const hasFiniteNumbers = (value: Json): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).every(hasFiniteNumbers)
    : typeof value !== "number" || Number.isFinite(value);

/**
 * Returns a call's arguments as a JSON object for the replay: unchanged as the model wrote them; `{}` for empty
 * text; if servers cannot read them (depth, numbers, not an object), `{"_invalid": "<first 2 000 characters>"}`.
 */
export const replayArguments = (args: string): string => {
  const text = args.toWellFormed().trim();
  if (text === "") return "{}";
  const value = parseJson(text);
  if (!isJsonObject(value) || (largeNumber.test(text) && !hasFiniteNumbers(value)))
    return wrapUnparsable(text);
  return withWholeEscapes(text);
};

/** Length beyond which messages are serialised each time: keeping them would cost more memory than it saves time. */
const longestKept = 256 * 1024;

/** Creates a cache in which each message object is serialised once, until it is sent to another target. */
export const createFragmentCache = <Fragment extends MessageText>() => {
  const cache = new WeakMap<Message, { readonly target: string; readonly fragment: Fragment }>();
  return (target: string, build: (message: Message) => Fragment) =>
    (message: Message): Fragment => {
      const known = cache.get(message);
      if (known?.target === target) return known.fragment;
      const fragment = build(message);
      if (fragment.text.length <= longestKept) cache.set(message, { target, fragment });
      return fragment;
    };
};

/** Creates a cache in which each tool is serialised once, until it is sent in another dialect. */
export const createToolCache = (
  build: (tool: ToolSpec, dialect: SchemaDialect) => object,
): ((tool: ToolSpec, dialect: SchemaDialect) => string) => {
  const cache = new WeakMap<ToolSpec, { readonly dialect: SchemaDialect; readonly text: string }>();
  return (tool, dialect) => {
    const known = cache.get(tool);
    if (known?.dialect === dialect) return known.text;
    const text = serialise(build(tool, dialect));
    cache.set(tool, { dialect, text });
    return text;
  };
};

/**
 * Computes the digest of a request's body as a chain over its parts, so that a turn hashes only the new part of the
 * history. Bodies with the same digest have the same bytes, since the parts determine them.
 */

/** Parts of a body: the text before the messages, each message as it is serialised, and everything else. */
interface BodyParts {
  readonly head: string;
  /** Serialised messages; each object always stands for the same text. */
  readonly messages: readonly MessageText[];
  readonly rest: string;
}

interface MessageText {
  readonly text: string;
}

/** Hashes texts, each preceded by its length, so that no other texts have the same input. Hex. */
const hashTexts = (texts: readonly string[]): string =>
  sha256Hex(texts.map((text) => `${text.length}\n${text}`).join(""));

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
  readonly messages: readonly MessageText[];
  readonly digest: string;
}

const knownLinks = new WeakMap<MessageText, Link>();

/** Returns the digest of a chain extended by these messages; each link is cached by its first message. */
const hashLink = (before: string, messages: readonly MessageText[]): string => {
  const [first = { text: "" }] = messages;
  const known = knownLinks.get(first);
  if (known?.before === before && known.messages.every((message, at) => message === messages[at]))
    return known.digest;
  const digest = hashTexts([before, ...messages.map(({ text }) => text)]);
  knownLinks.set(first, { before, messages, digest });
  return digest;
};

/** Computes the digest of a body. Hex. */
export const digestBody = ({ head, messages, rest }: BodyParts): string => {
  const whole = messages.length - (messages.length % linkLength);
  let digest = hashHead(head);
  for (let at = 0; at < whole; at += linkLength)
    digest = hashLink(digest, messages.slice(at, at + linkLength));
  return hashTexts([digest, ...messages.slice(whole).map(({ text }) => text), rest]);
};
