import * as z from "zod";
import { findMeantBranch, messageOf } from "../schema.ts";
import { findNearestName } from "../tools/suggest.ts";
import type { Problem } from "./problems.ts";

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
