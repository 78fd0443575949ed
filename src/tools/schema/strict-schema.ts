import type { JsonObject } from "../../chat/json.ts";
import { isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { isList } from "./keywords.ts";

const strictKeys = new Set(
  "$schema $id type title description enum const items properties required additionalProperties anyOf $ref $defs default pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split(
    " ",
  ),
);

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

/** Returns whether an object schema is closed and requires all of its properties. */
const isClosed = (schema: JsonObject): boolean => {
  const { type, properties, required, additionalProperties } = schema as Record<string, Json | undefined>;
  if (type !== "object" && properties === undefined) return true;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const wanted = isList(required) ? required : [];
  return additionalProperties === false && names.every((name) => wanted.includes(name));
};

const fitsStrictMode = (schema: Json): boolean =>
  isJsonObject(schema) &&
  Object.keys(schema).every((key) => strictKeys.has(key)) &&
  isClosed(schema) &&
  innerSchemas(schema).every(fitsStrictMode);

/**
 * Returns whether strict modes accept an answer's schema: objects closed, every property required, known keywords
 * only.
 */
export const isStrictSchema = (schema: Json): boolean =>
  isJsonObject(schema) && schema["type"] === "object" && fitsStrictMode(schema);
