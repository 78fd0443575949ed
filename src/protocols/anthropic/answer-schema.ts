import { fieldsOf, isJsonObject } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { resolveReference } from "../../tools/schema/keywords.ts";
import { isFilled, isOfType, mapInner, pickKeywords } from "../json-schema.ts";

/**
 * Writes the schema of an answer in the subset of JSON Schema that the Messages API enforces, as Anthropic's SDK does.
 * The subset has no bounds, which the runtime checks; it is not used for a schema whose meaning it would change.
 */

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const keywords = wordsOf(
  "type title description enum const items properties required anyOf default format $defs definitions",
);
const keywordsOfReference = wordsOf("$ref $defs definitions");
const formats = wordsOf("date-time time date duration email hostname uri ipv4 ipv6 uuid");

/** Keywords of which a schema needs one: the API has no schema for values of any type. */
const typing = wordsOf("type enum const anyOf oneOf");

const toSubset = (schema: Json): Json => {
  if (!isJsonObject(schema)) return {};
  if ("$ref" in schema) return mapInner(pickKeywords(schema, keywordsOfReference), toSubset);
  const { oneOf, format, ...rest } = schema;
  const phrased = {
    ...(oneOf !== undefined && { anyOf: oneOf }),
    ...(typeof format === "string" && formats.has(format) && { format }),
    ...rest,
  };
  const kept = mapInner(pickKeywords(phrased, keywords), toSubset);
  return isOfType(kept, "object") ? { ...kept, additionalProperties: false } : kept;
};

/** Returns whether an answer chooses the names of fields; the subset closes all objects, which leaves it none. */
const isMap = (schema: JsonObject): boolean => {
  const { additionalProperties: more, properties, patternProperties } = schema;
  if (patternProperties !== undefined || isFilled(more)) return true;
  return isOfType(schema, "object") && more !== false && !isFilled(properties);
};

const isPrimitive = (value: Json): boolean => typeof value !== "object" || value === null;

const hasPrimitives = ({ enum: values = [], const: value = null }: JsonObject): boolean =>
  [values, [value]].flat().every(isPrimitive);

const innerSchemas = ({ items = [], anyOf = [], oneOf = [], properties }: JsonObject): readonly Json[] =>
  [items, anyOf, oneOf, Object.values(fieldsOf(properties))].flat();

/**
 * Returns whether a schema means the same in the subset, apart from bounds. Schemas that must all fit do not: closed,
 * they exclude each other.
 */
const fitsSubset = (root: Json): boolean => {
  /** Whether the target of each reference fits; one that leads back to itself does not. */
  const known = new Map<Json, boolean>();
  const fitsTarget = (ref: string): boolean => {
    if (!known.has(ref)) {
      known.set(ref, false);
      known.set(ref, fits(resolveReference(root, ref) ?? true));
    }
    return known.get(ref) === true;
  };
  const fits = (schema: Json): boolean => {
    if (!isJsonObject(schema)) return false;
    const { $ref: ref } = schema;
    if (typeof ref === "string") return fitsTarget(ref);
    if ("allOf" in schema || isMap(schema) || !hasPrimitives(schema)) return false;
    return Object.keys(schema).some((key) => typing.has(key)) && innerSchemas(schema).every(fits);
  };
  return fits(root);
};

/** Returns the schema to enforce; undefined if the API could not enforce what it means. */
export const answerSchemaOf = (schema: Json): Record<string, Json> | undefined =>
  fitsSubset(schema) ? { ...fieldsOf(toSubset(schema)) } : undefined;
