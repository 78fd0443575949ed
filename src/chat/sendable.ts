import { isDeeper, deepestInput } from "./json.ts";
import type { Message, Part } from "./message.ts";

/** This file mends what no provider accepts, whoever wrote it: lone surrogates and unfinished arguments. */

export type Defect = "text_mended" | "arguments_too_deep";

export interface Sendable {
  readonly message: Message;
  readonly defects: readonly Defect[];
}

/** Matches the escapes of a JSON text, both halves of a pair as one. */
const escapes =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}(?:\\u[dD][c-fC-F][\da-fA-F]{2})?|u[dD][c-fC-F][\da-fA-F]{2}|[^])/g;

/** The length of the escape of a single surrogate. */
const oneSurrogate = 6;

/** Replaces escapes of lone surrogates, which JSON allows and strict servers refuse, by U+FFFD. */
export const withWholeEscapes = (json: string): string =>
  /\\u[dD][89a-fA-F]/.test(json)
    ? json.replace(escapes, (escape) => (escape.length === oneSurrogate ? "\\ufffd" : escape))
    : json;

const longestInvalid = 2_000;

/** Wraps arguments that cannot be parsed in an object that contains them. */
export const wrapUnparsable = (args: string): string =>
  JSON.stringify({ _invalid: args.slice(0, longestInvalid).toWellFormed() });

/** Mends a text with lone surrogates. */
const mendText = (text: string, defects: Set<Defect>): string => {
  if (text.isWellFormed()) return text;
  defects.add("text_mended");
  return text.toWellFormed();
};

const mendArguments = (args: string, defects: Set<Defect>): string => {
  if (isDeeper(args, deepestInput)) {
    defects.add("arguments_too_deep");
    return wrapUnparsable(args);
  }
  const text = withWholeEscapes(args.toWellFormed());
  if (text !== args) defects.add("text_mended");
  return text;
};

/** Mends a part for sending; the defects found are added to `defects`. */
const mendPart = <P extends Part>(part: P, defects: Set<Defect>): P => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { ...part, text: mendText(part.text, defects) };
    case "tool_call":
      return { ...part, args: mendArguments(part.args, defects) };
    case "tool_result":
      return { ...part, content: part.content.map((each) => mendPart(each, defects)) };
    case "image":
    case "document": {
      const { name, url } = part;
      return {
        ...part,
        ...(name === undefined ? {} : { name: mendText(name, defects) }),
        ...(url === undefined ? {} : { url: mendText(url, defects) }),
      };
    }
  }
};

const sendableCache = new WeakMap<Message, Sendable>();

/** Makes a message that every provider accepts: the same object if nothing is wrong with it. */
export const makeSendable = (message: Message): Sendable => {
  const before = sendableCache.get(message);
  if (before !== undefined) return before;
  const defects = new Set<Defect>();
  const parts = message.parts.map((part) => mendPart(part, defects));
  const sendable = { message: defects.size === 0 ? message : { ...message, parts }, defects: [...defects] };
  sendableCache.set(message, sendable);
  return sendable;
};
