import { isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { isList, resolveReference } from "./json-schema.ts";

/** This file checks whether a JSON Schema can be used: small, of known shape, and without unsupported keywords. */

const maxSchemaBytes = 65_536;

const maxSchemaDepth = 16;

const typeNames = ["null", "boolean", "integer", "number", "string", "array", "object"];

const isCount = (value: Json): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

const areNames = (value: Json): boolean => isList(value) && value.every((each) => typeof each === "string");

/** Whether a value has more than `most` levels; it looks no deeper than that, since callers may send any depth. */
const nestsDeeper = (value: Json, most: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (most === 0 || Object.values(value).some((each: Json) => nestsDeeper(each, most - 1)));

/** Says what is wrong with a keyword's value in the schema `root`; null if nothing is. */
type KeywordCheck = (value: Json, root: Json) => string | null;

const referenceProblem: KeywordCheck = (value, root) => {
  if (typeof value !== "string" || !/^#(\/|$)/.test(value))
    return "only references inside the schema are followed";
  const found = resolveReference(root, value);
  return isJsonObject(found) || typeof found === "boolean"
    ? null
    : `there is nothing at ${value.slice(0, 100)}`;
};

const requireThat =
  (fits: (value: Json) => boolean, message: string): KeywordCheck =>
  (value) =>
    fits(value) ? null : message;

const checkEach = (values: readonly (readonly [string, Json])[], root: Json): string | null => {
  for (const [key, value] of values) {
    const problem = findProblem(value, root);
    if (problem !== null) return `${key}: ${problem}`;
  }
  return null;
};

const checkSchemaList: KeywordCheck = (value, root) =>
  isList(value) && value.length > 0
    ? checkEach(
        value.map((item, at) => [String(at), item]),
        root,
      )
    : "must be a list of schemas";

const isType = (value: Json): boolean => {
  const names = isList(value) ? value : [value];
  return names.length > 0 && names.every((name) => typeof name === "string" && typeNames.includes(name));
};

const areNameLists = (value: Json): boolean =>
  isJsonObject(value) && Object.values(value).every((item) => areNames(item));

const keywordRules: readonly (readonly [keywords: string, KeywordCheck])[] = [
  ["additionalItems additionalProperties contains else if not propertyNames then", findProblem],
  ["allOf anyOf oneOf prefixItems", checkSchemaList],
  [
    "$defs definitions dependentSchemas patternProperties properties",
    (value, root) =>
      isJsonObject(value) ? checkEach(Object.entries(value), root) : "must be an object of schemas",
  ],
  ["items", (value, root) => (isList(value) ? checkSchemaList(value, root) : findProblem(value, root))],
  ["type", requireThat(isType, `must be among ${typeNames.join(", ")}`)],
  ["required", requireThat(areNames, "must be a list of names")],
  ["dependentRequired", requireThat(areNameLists, "must be an object of lists of names")],
  [
    "maxContains maxItems maxLength maxProperties minContains minItems minLength minProperties",
    requireThat(isCount, "must be a whole number from 0"),
  ],
  [
    "exclusiveMaximum exclusiveMinimum maximum minimum",
    requireThat((value) => typeof value === "number", "must be a number"),
  ],
  ["multipleOf", requireThat((value) => typeof value === "number" && value > 0, "must be a number over 0")],
  ["uniqueItems", requireThat((value) => typeof value === "boolean", "must be true or false")],
  ["enum", requireThat((value) => isList(value) && value.length > 0, "must be a list of values")],
  ["$ref", referenceProblem],
  [
    "$dynamicRef $recursiveRef dependencies unevaluatedItems unevaluatedProperties",
    () => "is not supported; write the schema without it",
  ],
];

const keywordChecks = new Map(
  keywordRules.flatMap(([names, check]) =>
    names.split(" ").map((name): readonly [string, KeywordCheck] => [name, check]),
  ),
);

function findProblem(schema: Json, root: Json): string | null {
  if (typeof schema === "boolean") return null;
  if (!isJsonObject(schema)) return "must be a schema: an object, true or false";
  for (const [keyword, value] of Object.entries(schema)) {
    const problem = keywordChecks.get(keyword)?.(value, root) ?? null;
    if (problem !== null) return `${keyword}: ${problem}`;
  }
  return null;
}

/** Says in a sentence why a schema cannot be used; null if it can. At most 64 KiB, 16 levels, only local references. */
export const schemaProblem = (schema: Json): string | null => {
  if (!isJsonObject(schema)) return "a JSON Schema is an object";
  if (nestsDeeper(schema, maxSchemaDepth)) return `the schema is nested deeper than ${maxSchemaDepth} levels`;
  if (utf8Length(JSON.stringify(schema)) > maxSchemaBytes) return "the schema is longer than 64 KiB";
  return findProblem(schema, schema);
};
