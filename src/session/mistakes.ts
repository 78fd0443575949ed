import * as z from "zod";
import { findMeantBranch, messageOf } from "../schema.ts";
import { findNearestName } from "../tools/suggest.ts";
import type { Problem } from "./problems.ts";
import { deepestInput, depthOf } from "../chat/json.ts";
import { refuse } from "./problems.ts";

/** Reads from a request's schema which fields it has, for an answer that names them. */

type Schema = z.core.$ZodType;

const wrappers = [
  z.ZodOptional,
  z.ZodNullable,
  z.ZodDefault,
  z.ZodPrefault,
  z.ZodReadonly,
  z.ZodLazy,
] as const;

const partOfValue = (value: unknown, key: PropertyKey): unknown =>
  typeof value === "object" && value !== null
    ? (value as Readonly<Record<PropertyKey, unknown>>)[key]
    : undefined;

/** Finds the options of a union that a value is meant to be by its discriminating field; all if it does not decide. */
const optionsFor = (union: z.ZodUnion, value: unknown): readonly Schema[] => {
  if (!(union instanceof z.ZodDiscriminatedUnion)) return union.options;
  const { discriminator } = union.def;
  const kind = partOfValue(value, discriminator) as z.core.util.Primitive;
  const meant = union.options.filter(({ _zod }) => _zod.propValues?.[discriminator]?.has(kind) === true);
  return meant.length === 0 ? union.options : meant;
};

/** Lists what a value may be: the branches of a union, and what optional and transformed schemas hold. */
const branchesOf = (schema: Schema, value: unknown): readonly Schema[] => {
  if (schema instanceof z.ZodUnion)
    return optionsFor(schema, value).flatMap((each) => branchesOf(each, value));
  if (schema instanceof z.ZodPipe) return branchesOf(schema.in, value);
  for (const wrapper of wrappers) if (schema instanceof wrapper) return branchesOf(schema.unwrap(), value);
  return [schema];
};

const partOf = (schema: Schema, key: PropertyKey, part: unknown): readonly Schema[] => {
  if (schema instanceof z.ZodArray) return branchesOf(schema.element, part);
  if (schema instanceof z.ZodRecord) return branchesOf(schema.valueType, part);
  if (!(schema instanceof z.ZodObject)) return [];
  const field: Schema | undefined = schema.shape[String(key)];
  return field === undefined ? [] : branchesOf(field, part);
};

/** Lists the names of the fields that a schema has for a value, at a path of it; empty where names are free. */
const knownFields = (schema: Schema, value: unknown, path: readonly PropertyKey[]): readonly string[] => {
  let found = branchesOf(schema, value);
  let part = value;
  for (const key of path) {
    part = partOfValue(part, key);
    found = found.flatMap((each) => partOf(each, key, part));
  }
  const names = found.flatMap((each) => (each instanceof z.ZodObject ? Object.keys(each.shape) : []));
  return [...new Set(names)];
};

/** Reports what a schema found wrong in a request, field by field. */

type FieldProblem = NonNullable<Problem["errors"]>[number];

type SchemaIssue = z.core.$ZodIssue;

const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** Number of mistakes that a refusal names, and of the fields of one place. */
const mostNamed = 20;

/** Names the field that was probably meant, and all known ones. */
export const unknownFieldMessage = (key: string, known: readonly string[]): string =>
  `${key} is not a field here${suggestKnown(key, known)}`;

/** Names the value that was probably meant, and all known ones. */
const suggestKnown = (name: string, known: readonly string[]): string => {
  const nearest = findNearestName(name, known);
  const meant = nearest === null ? "" : `; did you mean ${nearest}?`;
  return `${meant}${known.length === 0 ? "" : ` (known: ${known.join(", ")})`}`;
};

/** Returns the message for a field that names no known kind; undefined if the issue is about something else. */
const unknownKindMessage = (
  issue: z.core.$ZodIssueInvalidUnion,
  value: unknown,
  path: readonly PropertyKey[],
): string | undefined => {
  if (issue.discriminator === undefined || !("options" in issue)) return undefined;
  const kind = path.reduce(partOfValue, value);
  const known = issue.options.map(String);
  return typeof kind === "string"
    ? `there is no ${issue.discriminator} ${kind}${suggestKnown(kind, known)}`
    : `${issue.discriminator} is one of ${known.join(", ")}`;
};

/** Returns the problems of an issue; for a union, those of the branch that the caller meant. */
const problemsOf = (
  issue: SchemaIssue,
  base: readonly PropertyKey[],
  schema: z.ZodType,
  value: unknown,
): readonly FieldProblem[] => {
  const path = [...base, ...issue.path];
  const pointer = pointerOf(path);
  if (issue.code === "unrecognized_keys")
    return issue.keys.slice(0, mostNamed).map((key) => ({
      pointer: pointerOf([...path, key]),
      code: "unknown_field",
      message: unknownFieldMessage(key, knownFields(schema, value, path)),
    }));
  if (issue.code !== "invalid_union") return [{ pointer, code: issue.code, message: messageOf(issue) }];
  const meant = findMeantBranch(issue);
  return meant === undefined
    ? [{ pointer, code: issue.code, message: unknownKindMessage(issue, value, path) ?? messageOf(issue) }]
    : meant.flatMap((inner) => problemsOf(inner, path, schema, value));
};

const isUnknown = ({ code }: FieldProblem): boolean => code === "unknown_field";

/** Lists the first fields of a value that do not fit a schema, each by its pointer; an unknown one, which explains a missing one, leads. */
export const fieldProblems = (
  { issues }: z.ZodError,
  schema: z.ZodType,
  value: unknown,
): readonly FieldProblem[] =>
  issues
    .slice(0, mostNamed)
    .flatMap((issue) => problemsOf(issue, [], schema, value))
    .toSorted((one, other) => Number(isUnknown(other)) - Number(isUnknown(one)));

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Finds, at any depth, a name that a schema with free names would drop silently; returns null if there is none. */
export const findReservedField = (params: unknown): FieldProblem | null => {
  const open: { readonly value: unknown; readonly path: string }[] = [{ value: params, path: "" }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!isContainer(next.value)) continue;
    const { value, path } = next;
    if (Object.hasOwn(value, "__proto__"))
      return { pointer: `${path}/__proto__`, code: "reserved_key", message: "no field may have this name" };
    for (const [key, each] of Object.entries(value))
      if (isContainer(each)) open.push({ value: each, path: `${path}${pointerOf([key])}` });
  }
  return null;
};

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
