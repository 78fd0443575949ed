import { deepestInput, depthOf } from "../chat/json.ts";
import { refuse } from "./problems.ts";

/** Parses JSON that a caller sent. */

/** Refuses a text as `invalid_json`, with the line and the column of the error. */
export const refuseJson = (sentence: string, text: string, at: number): never => {
  const { line, column } = positionIn(text, at);
  return refuse("invalid_json", `${sentence} at line ${line}, column ${column}.`, { meta: { line, column } });
};

/** Parses a text; `what` names it in a refusal. */
export const parseInput = (text: string, what: "body" | "frame"): unknown => {
  const refused = (why: string): never =>
    refuseJson(`The ${what} ${why}`, text, findJsonFault(text, deepestInput) ?? text.length);
  if (depthOf(text) > deepestInput) return refused(`nests deeper than ${deepestInput} levels`);
  try {
    return JSON.parse(text);
  } catch {
    return refused("is not JSON");
  }
};

/** This file finds where a text stops being JSON: the platform's parser says it only sometimes, and in words. */

interface TextPosition {
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

export const positionIn = (text: string, at: number): TextPosition => {
  const lines = text.slice(0, at).split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
};

const spaces = /[ \t\n\r]*/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** Matches a piece of a string between its quotes; it is bounded so that a long string is not matched in one go. */
const piece = /(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})){1,1000}/y;

interface JsonReader {
  at: number;
  /** Moves past a match at the present index, if there is one. */
  readonly take: (pattern: RegExp) => boolean;
  /** Does the same for one character between spaces. */
  readonly mark: (character: string) => boolean;
}

const createJsonReader = (text: string): JsonReader => {
  const reader: JsonReader = {
    at: 0,
    take: (pattern) => {
      pattern.lastIndex = reader.at;
      const taken = pattern.test(text);
      if (taken) reader.at = pattern.lastIndex;
      return taken;
    },
    mark: (character) => {
      reader.take(spaces);
      const taken = text.startsWith(character, reader.at);
      if (taken) reader.at += character.length;
      reader.take(spaces);
      return taken;
    },
  };
  return reader;
};

const readString = ({ take }: JsonReader): boolean => {
  if (!take(/"/y)) return false;
  while (take(piece));
  return take(/"/y);
};

const readList = ({ mark }: JsonReader, close: string, item: () => boolean): boolean => {
  if (mark(close)) return true;
  do if (!item()) return false;
  while (mark(","));
  return mark(close);
};

const readValue = (reader: JsonReader, deepest: number): boolean => {
  const { take, mark } = reader;
  const inner = (): boolean => readValue(reader, deepest - 1);
  if (deepest > 0 && mark("[")) return readList(reader, "]", inner);
  if (deepest > 0 && mark("{"))
    return readList(reader, "}", () => readString(reader) && mark(":") && inner());
  take(spaces);
  return readString(reader) || take(scalar);
};

/**
 * The index at which a text stops being JSON that nests at most `deepest` levels: that of the first impossible
 * character, or the text's length if it ends too early. Null if the text is such JSON.
 */
export const findJsonFault = (text: string, deepest: number): number | null => {
  const reader = createJsonReader(text);
  const isValue = readValue(reader, deepest);
  if (isValue) reader.take(spaces);
  return isValue && reader.at === text.length ? null : reader.at;
};
