import { isJsonObject, parseJson } from "../chat/json.ts";
import type { Json } from "../chat/message.ts";
import { wrapUnparsable, withWholeEscapes } from "../chat/sendable.ts";

/** A string as JSON; lone surrogates, which strict servers refuse, become U+FFFD. */
export const quoteJson = (text: string): string =>
  JSON.stringify(text.isWellFormed() ? text : text.toWellFormed());

/** A value as JSON that strict servers take. */
export const serialise = (value: object): string => withWholeEscapes(JSON.stringify(value));

/** Elements of a list, joined by a comma if there are some on both sides. */
export const joinElements = (one: string, other: string): string =>
  one === "" || other === "" ? one + other : `${one},${other}`;

/** True for text that shows: neither empty nor only white space. */
export const isVisible = (text: string): boolean => /\S/.test(text);

/** Only figures like these may be beyond what a server can count. */
const largeNumber = /\d{300}|[eE]\+?\d{3}/;

const hasFiniteNumbers = (value: Json): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).every(hasFiniteNumbers)
    : typeof value !== "number" || Number.isFinite(value);

/**
 * A call's arguments as a JSON object for the replay: as the model wrote them; `{}` for empty text;
 * whatever is no object that servers can read, by its depth or its numbers, as `{"_invalid": "<first 2 000 characters>"}`.
 */
export const replayArguments = (args: string): string => {
  const text = args.toWellFormed().trim();
  if (text === "") return "{}";
  const value = parseJson(text);
  if (!isJsonObject(value) || (largeNumber.test(text) && !hasFiniteNumbers(value)))
    return wrapUnparsable(text);
  return withWholeEscapes(text);
};
