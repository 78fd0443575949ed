import { isFields, parseJson } from "../chat/json.ts";

/** A string as JSON; lone surrogates, which strict servers refuse, become U+FFFD. */
export const quote = (text: string): string =>
  JSON.stringify(text.isWellFormed() ? text : text.toWellFormed());

const longestInvalid = 2_000;

const invalid = (args: string): string => `{"_invalid":${quote(args.slice(0, longestInvalid))}}`;

/** Elements of a list, joined by a comma if there are some on both sides. */
export const joined = (one: string, other: string): string =>
  one === "" || other === "" ? one + other : `${one},${other}`;

/** True for text that shows: neither empty nor only white space. */
export const isVisible = (text: string): boolean => /\S/.test(text);

/**
 * A call's arguments as a JSON object for the replay (MO-8): as the model wrote them; `{}` for empty text (TB-2);
 * whatever is no object as `{"_invalid": "<first 2 000 characters>"}`.
 */
export const replayArguments = (args: string): string => {
  if (!isVisible(args)) return "{}";
  const value = parseJson(args);
  if (!isFields(value)) return invalid(args);
  // An escape such as \ud800 without its other half is legal JSON, but strict servers refuse it.
  if (!/\\ud[89a-f]/i.test(args)) return args.trim();
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "string" ? inner.toWellFormed() : inner,
  );
};
