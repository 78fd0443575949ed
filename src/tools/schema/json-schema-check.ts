import { isJsonObject, isShallow } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { utf8Length } from "../../chat/tokens.ts";
import type { SchemaPlace } from "./keywords.ts";
import {
  isList,
  isSchema,
  nestsSchemasDeeper,
  resolveReference,
  schemaPlaces,
  schemasUnder,
  valueRules,
} from "./keywords.ts";
import { firstCharacters } from "../../chat/text.ts";

/** Checks whether a JSON Schema can be used: small, of known shape, and without unsupported keywords. */

const maxSchemaBytes = 65_536;

const maxSchemaDepth = 16;

/** Deepest level of JSON for values inside a schema, like defaults, together with the schemas around them. */
const maxJsonDepth = 64;

/** Keywords that are refused because they are not checked, so that no author relies on them. */
const unchecked: ReadonlySet<string> = new Set([
  "$dynamicRef",
  "$recursiveRef",
  "dependencies",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

interface SchemaCheck {
  readonly root: Json;
  /** Keywords that the schema may not have. */
  readonly refused: ReadonlySet<string>;
}

const referenceProblem = (value: Json, root: Json): string | null => {
  if (typeof value !== "string" || !/^#(\/|$)/.test(value))
    return "only references inside the schema are followed";
  return isSchema(resolveReference(root, value))
    ? null
    : `there is nothing at ${firstCharacters(value, 100)}`;
};

const shapeProblem = (place: SchemaPlace, value: Json): string | null => {
  if (place === "map") return isJsonObject(value) ? null : "must be an object of schemas";
  if (place === "schema" || (place === "either" && !isList(value))) return null;
  return isList(value) && value.length > 0 ? null : "must be a list of schemas";
};

const placeProblem = (place: SchemaPlace, value: Json, check: SchemaCheck): string | null => {
  const shape = shapeProblem(place, value);
  if (shape !== null) return shape;
  for (const [key, inner] of schemasUnder(place, value)) {
    const problem = findProblem(inner, check);
    if (problem !== null) return key === null ? problem : `${key}: ${problem}`;
  }
  return null;
};

const keywordProblem = (keyword: string, value: Json, check: SchemaCheck): string | null => {
  if (check.refused.has(keyword)) return "is not supported; write the schema without it";
  if (keyword === "$ref") return referenceProblem(value, check.root);
  const place = schemaPlaces.get(keyword);
  if (place !== undefined) return placeProblem(place, value, check);
  const expected = valueRules.get(keyword);
  return expected === undefined || expected.fits(value) ? null : expected.rule;
};

function findProblem(schema: Json, check: SchemaCheck): string | null {
  if (typeof schema === "boolean") return null;
  if (!isJsonObject(schema)) return "must be a schema: an object, true or false";
  for (const [keyword, value] of Object.entries(schema)) {
    const problem = keywordProblem(keyword, value, check);
    if (problem !== null) return `${keyword}: ${problem}`;
  }
  return null;
}

/** Returns a sentence if a schema is too deep, otherwise null. Schemas nest at most `deepest` levels. */
export const depthProblem = (schema: Json, deepest: number): string | null =>
  !isShallow(schema, maxJsonDepth) || nestsSchemasDeeper(schema, deepest)
    ? `the schema is nested deeper than ${deepest} levels`
    : null;

/**
 * Explains in a sentence why a schema cannot be used; null if it can. At most 64 KiB, 16 levels, only local
 * references.
 */
export const schemaProblem = (schema: Json): string | null => {
  if (!isJsonObject(schema)) return "a JSON Schema is an object";
  const tooDeep = depthProblem(schema, maxSchemaDepth);
  if (tooDeep !== null) return tooDeep;
  if (utf8Length(JSON.stringify(schema)) > maxSchemaBytes) return "the schema is longer than 64 KiB";
  return findProblem(schema, { root: schema, refused: unchecked });
};

/** Explains in a sentence what in a mended schema is not JSON Schema 2020-12; returns null if it is valid. */
export const mendedSchemaProblem = (schema: Json): string | null =>
  findProblem(schema, { root: schema, refused: new Set(["$dynamicRef", "$recursiveRef", "dependencies"]) });
