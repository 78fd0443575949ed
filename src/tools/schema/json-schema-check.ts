import { isFields } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { isList, referenced } from "./json-schema.ts";

/** Whether a JSON Schema can be used: small, of known shape, and nothing in it that would be passed over in silence. */

const longest = 65_536;

const deepest = 16;

const typeNames = ["null", "boolean", "integer", "number", "string", "array", "object"];

const isCount = (value: Json): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

const areNames = (value: Json): boolean => isList(value) && value.every((each) => typeof each === "string");

/** Whether a value has more than `most` levels; looks no deeper than that, since callers may send any depth. */
const isDeeper = (value: Json, most: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (most === 0 || Object.values(value).some((each: Json) => isDeeper(each, most - 1)));

/** What is wrong with a keyword's value, in the schema `root`; null if nothing is. */
type Check = (value: Json, root: Json) => string | null;

const referenceProblem: Check = (value, root) => {
  if (typeof value !== "string" || !/^#(\/|$)/.test(value))
    return "only references inside the schema are followed";
  const found = referenced(root, value);
  return isFields(found) || typeof found === "boolean" ? null : `there is nothing at ${value.slice(0, 100)}`;
};

const must =
  (fits: (value: Json) => boolean, message: string): Check =>
  (value) =>
    fits(value) ? null : message;

const each = (values: readonly (readonly [string, Json])[], root: Json): string | null => {
  for (const [key, value] of values) {
    const problem = problemIn(value, root);
    if (problem !== null) return `${key}: ${problem}`;
  }
  return null;
};

const schemasIn: Check = (value, root) =>
  isList(value) && value.length > 0
    ? each(
        value.map((item, at) => [String(at), item]),
        root,
      )
    : "must be a list of schemas";

const isType = (value: Json): boolean => {
  const names = isList(value) ? value : [value];
  return names.length > 0 && names.every((name) => typeof name === "string" && typeNames.includes(name));
};

const areNameLists = (value: Json): boolean =>
  isFields(value) && Object.values(value).every((item) => areNames(item));

const rules: readonly (readonly [keywords: string, Check])[] = [
  ["additionalItems additionalProperties contains else if not propertyNames then", problemIn],
  ["allOf anyOf oneOf prefixItems", schemasIn],
  [
    "$defs definitions dependentSchemas patternProperties properties",
    (value, root) => (isFields(value) ? each(Object.entries(value), root) : "must be an object of schemas"),
  ],
  ["items", (value, root) => (isList(value) ? schemasIn(value, root) : problemIn(value, root))],
  ["type", must(isType, `must be among ${typeNames.join(", ")}`)],
  ["required", must(areNames, "must be a list of names")],
  ["dependentRequired", must(areNameLists, "must be an object of lists of names")],
  [
    "maxContains maxItems maxLength maxProperties minContains minItems minLength minProperties",
    must(isCount, "must be a whole number from 0"),
  ],
  [
    "exclusiveMaximum exclusiveMinimum maximum minimum",
    must((value) => typeof value === "number", "must be a number"),
  ],
  ["multipleOf", must((value) => typeof value === "number" && value > 0, "must be a number over 0")],
  ["uniqueItems", must((value) => typeof value === "boolean", "must be true or false")],
  ["enum", must((value) => isList(value) && value.length > 0, "must be a list of values")],
  ["$ref", referenceProblem],
  [
    "$dynamicRef $recursiveRef dependencies unevaluatedItems unevaluatedProperties",
    () => "is not supported; write the schema without it",
  ],
];

const checks = new Map(
  rules.flatMap(([names, check]) => names.split(" ").map((name): readonly [string, Check] => [name, check])),
);

function problemIn(schema: Json, root: Json): string | null {
  if (typeof schema === "boolean") return null;
  if (!isFields(schema)) return "must be a schema: an object, true or false";
  for (const [keyword, value] of Object.entries(schema)) {
    const problem = checks.get(keyword)?.(value, root) ?? null;
    if (problem !== null) return `${keyword}: ${problem}`;
  }
  return null;
}

/** Why a schema cannot be used, as a sentence; null if it can. At most 64 KiB, 16 levels, references inside only. */
export const schemaProblem = (schema: Json): string | null => {
  if (!isFields(schema)) return "a JSON Schema is an object";
  if (isDeeper(schema, deepest)) return `the schema is nested deeper than ${deepest} levels`;
  if (utf8Length(JSON.stringify(schema)) > longest) return "the schema is longer than 64 KiB";
  return problemIn(schema, schema);
};
