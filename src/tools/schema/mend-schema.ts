import type { JsonObject } from "../../chat/json.ts";
import { isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { SchemaPlace } from "./keywords.ts";
import {
  isList,
  isSchema,
  resolveReference,
  schemaPlaces,
  schemasUnder,
  valueRules,
  mapSchemasUnder,
} from "./keywords.ts";
import { firstCharacters } from "../../chat/text.ts";

/**
 * Converts a JSON Schema of another author, of draft 4 to 2020-12, to one of 2020-12 that `schemaProblem` and
 * models' APIs accept, and that accepts every value that the original accepts.
 */

type Fields = Record<string, Json>;

/** Names of schemas in the original: `$id`s as addresses, anchors as addresses with a fragment. */
type SchemaNames = Map<string, JsonObject>;

/** Address for schemas without one, so that relative references can be distinguished from remote ones. */
const ownAddress = "schema:/own";

/** Reference that waits until the place of its schema in the copy is known. */
interface OpenReference {
  readonly holder: Fields;
  readonly target: JsonObject | boolean;
}

interface Mending {
  readonly names: SchemaNames;
  /** Pointers of the original's schemas in the copy. */
  readonly pointers: Map<JsonObject, string>;
  readonly open: OpenReference[];
  /** First reference that leads out of the schema. */
  remote: string | null;
}

/** Names of schemas, which have no meaning in the copy. */
const nameKeywords: ReadonlySet<string> = new Set(
  "$anchor $dynamicAnchor $id $recursiveAnchor $schema $vocabulary id".split(" "),
);

const referenceKeywords: ReadonlySet<string> = new Set(["$dynamicRef", "$recursiveRef", "$ref"]);

const isText = (value: Json): boolean => typeof value === "string";

const isBoolean = (value: Json): boolean => typeof value === "boolean";

/** Required types of keywords that inform about a schema and refuse nothing. */
const noteRules: ReadonlyMap<string, (value: Json) => boolean> = new Map([
  ...["title", "description", "$comment", "format", "pattern", "contentEncoding", "contentMediaType"].map(
    (name) => [name, isText] as const,
  ),
  ...["deprecated", "readOnly", "writeOnly"].map((name) => [name, isBoolean] as const),
  ["examples", isList],
]);

const textField = (schema: JsonObject, key: string): string | null => {
  const value = schema[key];
  return typeof value === "string" ? value : null;
};

const addressOf = (schema: JsonObject, base: string): string => {
  const id = textField(schema, "$id") ?? textField(schema, "id");
  const address = id === null || id.startsWith("#") ? null : URL.parse(id, base);
  if (address === null) return base;
  address.hash = "";
  return address.href;
};

/** Names the first schema at an address; a second one with the same name is ignored. */
const nameSchema = (names: SchemaNames, name: string, schema: JsonObject): void => {
  if (!names.has(name)) names.set(name, schema);
};

/** Lists the names of a schema within its address; in older drafts an anchor is an id that begins with `#`. */
const anchorsOf = (schema: JsonObject): readonly string[] => {
  const ids = ["$id", "id"].map((key) => textField(schema, key) ?? "").filter((id) => /^#./.test(id));
  const anchors = ["$anchor", "$dynamicAnchor"].map((key) => textField(schema, key) ?? "");
  return [...ids.map((id) => id.slice(1)), ...anchors].filter((anchor) => anchor !== "");
};

const collectNames = (schema: Json, base: string, names: SchemaNames): void => {
  if (!isJsonObject(schema)) return;
  const address = addressOf(schema, base);
  if (address !== base) nameSchema(names, address, schema);
  for (const anchor of anchorsOf(schema)) nameSchema(names, `${address}#${anchor}`, schema);
  for (const [keyword, value] of Object.entries(schema)) {
    const place = keyword === "dependencies" ? "map" : schemaPlaces.get(keyword);
    if (place === undefined) continue;
    for (const [, inner] of schemasUnder(place, value)) collectNames(inner, address, names);
  }
};

/** Finds the target of a reference: a value of the schema, undefined if there is none, null if it leads outside. */
const findTarget = (reference: string, base: string, names: SchemaNames): Json | undefined => {
  const address = URL.parse(reference, base);
  if (address === null) return reference.startsWith("#") ? undefined : null;
  const at = reference.indexOf("#");
  const fragment = at < 0 ? "" : reference.slice(at + 1);
  address.hash = "";
  const whole = names.get(address.href);
  if (whole === undefined) return null;
  return fragment === "" || fragment.startsWith("/")
    ? resolveReference(whole, `#${fragment}`)
    : names.get(`${address.href}#${fragment}`);
};

/**
 * Encodes a step of a pointer; a fragment may contain `$` unencoded, and not every API decodes the pointers it
 * receives.
 */
const encodeStep = (step: string): string =>
  encodeURIComponent(step.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")).replaceAll("%24", "$");

/** Replaces the older form of an exclusive bound, which is true or false beside the bound. */
const renewBound = (schema: Fields, bound: string, exclusive: string): void => {
  if (typeof schema[exclusive] !== "boolean") return;
  const limit = schema[bound];
  const isExclusive = schema[exclusive] && typeof limit === "number";
  delete schema[exclusive];
  if (!isExclusive) return;
  delete schema[bound];
  schema[exclusive] = limit;
};

const renewItems = (schema: Fields): void => {
  const { items, additionalItems: rest } = schema;
  delete schema["additionalItems"];
  if (!isList(items)) return;
  delete schema["items"];
  if (items.length > 0) schema["prefixItems"] = items;
  if (isSchema(rest)) schema["items"] = rest;
};

const renewDependencies = (schema: Fields): void => {
  const { dependencies } = schema;
  delete schema["dependencies"];
  if (!isJsonObject(dependencies)) return;
  const entries = Object.entries(dependencies);
  const names = entries.filter(([, each]) => isList(each));
  const schemas = entries.filter(([, each]) => !isList(each));
  if (names.length > 0) schema["dependentRequired"] ??= Object.fromEntries(names);
  if (schemas.length > 0) schema["dependentSchemas"] ??= Object.fromEntries(schemas);
};

/** Converts keywords of older drafts to their equivalents in 2020-12. */
const renew = (schema: JsonObject): JsonObject => {
  const renewed: Fields = { ...schema };
  renewBound(renewed, "minimum", "exclusiveMinimum");
  renewBound(renewed, "maximum", "exclusiveMaximum");
  renewItems(renewed);
  renewDependencies(renewed);
  return renewed;
};

const withoutRepeats = (value: Json): Json =>
  isList(value) && value.every(isText) ? [...new Set(value)] : value;

/** Returns the value of a keyword without schemas; undefined if it has no meaning and is omitted. */
const mendValue = (keyword: string, value: Json): Json | undefined => {
  const rule = valueRules.get(keyword);
  const fits = rule === undefined ? noteRules.get(keyword) : rule.fits;
  if (fits?.(value) === false) return undefined;
  if (keyword === "dependentRequired" && isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, names]) => [key, withoutRepeats(names)]));
  return keyword === "required" || keyword === "type" ? withoutRepeats(value) : value;
};

/** Returns the value of a keyword with its schemas mended; undefined if it holds none. */
const mendPlace = (
  work: Mending,
  place: SchemaPlace,
  value: Json,
  at: { readonly base: string; readonly pointer: string },
): Json | undefined => {
  const inner = schemasUnder(place, value);
  const mended = inner.map(([key, schema]): readonly [string, Json] => {
    const pointer = key === null ? at.pointer : `${at.pointer}/${encodeStep(key)}`;
    return [key ?? "", mendInner(work, schema, { base: at.base, pointer })];
  });
  if (place === "map") return isJsonObject(value) ? Object.fromEntries(mended) : undefined;
  const schemas = mended.map(([, schema]) => schema);
  if (place === "schema" || !isList(value)) return isSchema(value) ? schemas[0] : undefined;
  return schemas.length === 0 ? undefined : schemas;
};

const openReference = (work: Mending, holder: Fields, reference: Json, base: string): void => {
  if (typeof reference !== "string") return;
  const target = findTarget(reference, base, work.names);
  if (target === null) work.remote ??= reference;
  else if (isSchema(target)) work.open.push({ holder, target });
};

function mendInner(
  work: Mending,
  schema: Json,
  { base, pointer }: { readonly base: string; readonly pointer: string },
): Fields | boolean {
  if (typeof schema === "boolean") return schema;
  if (!isJsonObject(schema)) return true;
  work.pointers.set(schema, pointer);
  const address = addressOf(schema, base);
  const kept: [string, Json][] = [];
  for (const [keyword, value] of Object.entries(renew(schema))) {
    if (referenceKeywords.has(keyword) || (nameKeywords.has(keyword) && isText(value))) continue;
    const place = schemaPlaces.get(keyword);
    const at = { base: address, pointer: `${pointer}/${encodeStep(keyword)}` };
    const mended = place === undefined ? mendValue(keyword, value) : mendPlace(work, place, value, at);
    if (mended !== undefined) kept.push([keyword, mended]);
  }
  const copy: Fields = Object.fromEntries(kept);
  const { $ref, $dynamicRef, $recursiveRef } = schema as Readonly<Record<string, Json | undefined>>;
  openReference(work, copy, $ref ?? $dynamicRef ?? $recursiveRef ?? null, address);
  return copy;
}

/** Adds a schema outside the places for schemas to the definitions of the copy, unless it is there. */
const define = (work: Mending, root: Fields, target: JsonObject | boolean): string => {
  const known = isJsonObject(root["$defs"]) ? root["$defs"] : {};
  // The original place of true and false is unknown.
  const same = Object.keys(known).find((name) => known[name] === target);
  if (same !== undefined) return `#/$defs/${encodeStep(same)}`;
  let at = Object.keys(known).length;
  while (Object.hasOwn(known, `s${at}`)) at += 1;
  const pointer = `#/$defs/s${at}`;
  root["$defs"] = { ...known, [`s${at}`]: mendInner(work, target, { base: ownAddress, pointer }) };
  return pointer;
};

/** Returns the schema in 2020-12, or a sentence about why it cannot be used: it refers to another schema elsewhere. */
export const mendSchema = (schema: JsonObject): JsonObject | string => {
  const names: SchemaNames = new Map([[ownAddress, schema]]);
  collectNames(schema, ownAddress, names);
  const work: Mending = { names, pointers: new Map(), open: [], remote: null };
  const mended = mendInner(work, schema, { base: ownAddress, pointer: "#" });
  const root = typeof mended === "boolean" ? {} : mended;
  for (let next = work.open.pop(); next !== undefined; next = work.open.pop()) {
    const { holder, target } = next;
    const pointer = isJsonObject(target) ? work.pointers.get(target) : undefined;
    holder["$ref"] = pointer ?? define(work, root, target);
  }
  return work.remote === null
    ? root
    : `it refers to ${firstCharacters(work.remote, 200)}, and only references inside it are followed`;
};

/** Cleans the notes of a JSON Schema: keywords that inform a reader and refuse no value. */

const textNotes: ReadonlySet<string> = new Set(["title", "description"]);

/** Notes that can be dropped without changing a schema's meaning. */
const droppedNotes: ReadonlySet<string> = new Set(["$comment", "examples"]);

/** Returns a schema with its titles and descriptions cleaned, without comments and examples; values stay unchanged. */
export const cleanNotes = (schema: Json, clean: (text: string) => string): Json => {
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => !droppedNotes.has(keyword));
  const cleaned = kept.map(([keyword, value]): readonly [string, Json] => {
    if (textNotes.has(keyword) && typeof value === "string") return [keyword, clean(value)];
    const place = schemaPlaces.get(keyword);
    if (place === undefined) return [keyword, value];
    return [keyword, mapSchemasUnder(place, value, (inner) => cleanNotes(inner, clean))];
  });
  return Object.fromEntries(cleaned);
};
