import { isJsonObject, parseJson } from "../chat/json.ts";
import type { Json } from "../chat/message.ts";
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
