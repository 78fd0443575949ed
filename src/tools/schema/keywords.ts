import type { JsonObject } from "../../chat/json.ts";
import { isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";

/** Defines what the keywords of JSON Schema hold: schemas, or values of their own. */

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

const splitWords = (text: string): readonly string[] => text.split(" ");

const pairWith = <T>(words: string, value: T): readonly (readonly [string, T])[] =>
  splitWords(words).map((word) => [word, value] as const);

/** How a keyword holds schemas: one, a list of them, or an object of them; in older drafts `items` may be a list. */
export type SchemaPlace = "schema" | "list" | "map" | "either";

export const schemaPlaces: ReadonlyMap<string, SchemaPlace> = new Map<string, SchemaPlace>([
  ...pairWith("additionalItems additionalProperties contains contentSchema else if not", "schema" as const),
  ...pairWith("propertyNames then unevaluatedItems unevaluatedProperties", "schema" as const),
  ...pairWith("allOf anyOf oneOf prefixItems", "list" as const),
  ...pairWith("$defs definitions dependentSchemas patternProperties properties", "map" as const),
  ["items", "either"],
]);

/** Lists the schemas that a keyword's value holds, each with its steps from the keyword. */
export const schemasUnder = (
  place: SchemaPlace,
  value: Json,
): readonly (readonly [key: string | null, schema: Json])[] => {
  if (place === "map") return isJsonObject(value) ? Object.entries(value) : [];
  if (place === "schema" || (place === "either" && !isList(value))) return [[null, value]];
  return isList(value) ? value.map((item, at) => [String(at), item] as const) : [];
};

/** Returns a keyword's value with its schemas changed. */
export const mapSchemasUnder = (place: SchemaPlace, value: Json, change: (schema: Json) => Json): Json => {
  if (place === "map") {
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, schema]) => [key, change(schema)]));
  }
  if (place === "schema" || (place === "either" && !isList(value))) return change(value);
  return isList(value) ? value.map((schema) => change(schema)) : value;
};

/** Returns whether schemas are nested in each other in more than `most` levels. */
export const nestsSchemasDeeper = (schema: Json, most: number): boolean => {
  if (!isJsonObject(schema)) return false;
  if (most === 0) return true;
  return Object.entries(schema).some(([keyword, value]) => {
    const place = schemaPlaces.get(keyword);
    return (
      place !== undefined &&
      schemasUnder(place, value).some(([, inner]) => nestsSchemasDeeper(inner, most - 1))
    );
  });
};

const typeNames: readonly string[] = splitWords("null boolean integer number string array object");

const isCount = (value: Json): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

const areNames = (value: Json): boolean => isList(value) && value.every((each) => typeof each === "string");

const isType = (value: Json): boolean => {
  const names = isList(value) ? value : [value];
  return names.length > 0 && names.every((name) => typeof name === "string" && typeNames.includes(name));
};

const areNameLists = (value: Json): boolean =>
  isJsonObject(value) && Object.values(value).every((item) => areNames(item));

interface ValueRule {
  readonly fits: (value: Json) => boolean;
  readonly rule: string;
}

/** Rules for the own values of keywords. */
export const valueRules: ReadonlyMap<string, ValueRule> = new Map<string, ValueRule>([
  ["type", { fits: isType, rule: `must be among ${typeNames.join(", ")}` }],
  ["required", { fits: areNames, rule: "must be a list of names" }],
  ["dependentRequired", { fits: areNameLists, rule: "must be an object of lists of names" }],
  ...pairWith("maxContains maxItems maxLength maxProperties minContains minItems minLength minProperties", {
    fits: isCount,
    rule: "must be a whole number from 0",
  }),
  ...pairWith("exclusiveMaximum exclusiveMinimum maximum minimum", {
    fits: (value: Json) => typeof value === "number",
    rule: "must be a number",
  }),
  [
    "multipleOf",
    { fits: (value) => typeof value === "number" && value > 0, rule: "must be a number over 0" },
  ],
  ["uniqueItems", { fits: (value) => typeof value === "boolean", rule: "must be true or false" }],
  ["enum", { fits: (value) => isList(value) && value.length > 0, rule: "must be a list of values" }],
]);

const decodePercents = (step: string): string => {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
};

const decodeStep = (step: string): string => decodePercents(step).replaceAll("~1", "/").replaceAll("~0", "~");

/** Resolves a pointer like `#/$defs/a` within `root`; returns undefined if there is nothing. */
export const resolveReference = (root: Json, reference: string): Json | undefined => {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let found: Json | undefined = root;
  for (const step of reference.slice(2).split("/")) {
    const key = decodeStep(step);
    if (isList(found)) found = found[Number(key)];
    else found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
};

/** Returns whether a value is a schema by its kind: an object, true or false. */
export const isSchema = (value: Json | undefined): value is JsonObject | boolean =>
  isJsonObject(value) || typeof value === "boolean";
