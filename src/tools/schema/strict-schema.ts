import type { JsonObject } from "../../chat/json.ts";
import { fieldsOf, isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { isList } from "./keywords.ts";

const strictKeys = new Set(
  "$schema $id type title description enum const items properties required additionalProperties anyOf $ref $defs pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split(
    " ",
  ),
);

const strictFormats = new Set<Json | undefined>([
  undefined,
  ..."date-time time date duration email hostname ipv4 ipv6 uuid".split(" "),
]);

/** Returns the schemas directly inside a schema, in the positions that strict mode allows. */
const innerSchemas = ({
  items,
  anyOf,
  properties,
  $defs,
}: Readonly<Record<string, Json | undefined>>): Json[] => [
  ...(items === undefined ? [] : [items]),
  ...(isList(anyOf) ? anyOf : []),
  ...(isJsonObject(properties) ? Object.values(properties) : []),
  ...(isJsonObject($defs) ? Object.values($defs) : []),
];

/** Returns whether an object schema is closed and requires exactly its properties. */
const isClosed = ({ properties, required = [], additionalProperties }: JsonObject): boolean => {
  const names = new Set<Json>(Object.keys(fieldsOf(properties)));
  const wanted = new Set(isList(required) ? required : []);
  return additionalProperties === false && names.symmetricDifference(wanted).size === 0;
};

/** Returns whether a schema says what kind of values it is for, and of objects and lists what they hold. */
const isTyped = (schema: JsonObject): boolean => {
  const { type, anyOf, items, properties } = schema as Record<string, Json | undefined>;
  const kinds = [type ?? []].flat();
  if (kinds.length === 0) return isList(anyOf) && properties === undefined;
  const holdsObject = kinds.includes("object") || properties !== undefined;
  return (!holdsObject || isClosed(schema)) && (!kinds.includes("array") || isJsonObject(items));
};

const fitsStrictMode = (schema: Json): boolean => {
  if (!isJsonObject(schema)) return false;
  if ("$ref" in schema) return Object.keys(schema).length === 1;
  return (
    Object.keys(schema).every((key) => strictKeys.has(key)) &&
    strictFormats.has(schema["format"]) &&
    isTyped(schema) &&
    innerSchemas(schema).every(fitsStrictMode)
  );
};

/**
 * Returns whether strict modes accept an answer's schema: objects closed, every property required, every value of a
 * known type, known keywords and formats only.
 */
export const isStrictSchema = (schema: Json): boolean =>
  isJsonObject(schema) && schema["type"] === "object" && !("anyOf" in schema) && fitsStrictMode(schema);
