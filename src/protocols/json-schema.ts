import { fieldsOf, isJsonObject } from "../chat/json.ts";
import type { JsonObject } from "../chat/json.ts";
import type { Json } from "../chat/message.ts";
import { resolveReference } from "../tools/schema/keywords.ts";

/**
 * Part of JSON Schema that a server accepts: `full` all of it, `closed` all but lengths, with objects that are closed
 * unless they say that they are open, `minimal` the common subset without references.
 */
export type SchemaDialect = "full" | "closed" | "minimal";

/** Where the references of a schema are replaced by their targets. */
interface Inlining {
  readonly root: Json;
  /** References that are being replaced. */
  readonly open: readonly string[];
  /** Characters of targets that may still be put in: definitions that use each other twice double at each level. */
  readonly room: { left: number };
}

const mostInlined = 256 * 1024;

const inliningOf = (root: Json): Inlining => ({ root, open: [], room: { left: mostInlined } });

/** Returns a reference's target; undefined if there is none, if it leads back to itself, or if there is no room. */
const follow = (
  ref: string,
  { root, open, room }: Inlining,
): { readonly target: Json; readonly inside: Inlining } | undefined => {
  const target = open.includes(ref) ? undefined : resolveReference(root, ref);
  if (target === undefined) return undefined;
  room.left -= JSON.stringify(target).length;
  return room.left < 0 ? undefined : { target, inside: { root, open: [...open, ref], room } };
};

const minimalKeys = new Set(
  "type format title description enum items minItems maxItems properties required anyOf minimum maximum minLength maxLength pattern nullable".split(
    " ",
  ),
);
/** Replaces keywords of newer drafts by older ones of the common subset. */
const rephrase = (schema: JsonObject): JsonObject => {
  const out: Record<string, Json> = { ...schema };
  if ("const" in schema) out["enum"] = [schema["const"] ?? null];
  if (schema["oneOf"] !== undefined) out["anyOf"] = schema["oneOf"];
  const types = schema["type"];
  if (Array.isArray(types)) {
    const named = types.filter((type) => type !== "null");
    if (named.length < types.length) out["nullable"] = true;
    if (named.length === 1) out["type"] = named[0] as Json;
    else {
      delete out["type"];
      out["anyOf"] = named.map((type: Json) => ({ type }));
    }
  }
  return out;
};

const mapFields = (fields: JsonObject, map: (schema: Json) => Json): JsonObject =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, map(value)]));

/** Applies `map` to every schema directly inside `schema`; other keywords stay. */
export const mapInner = (schema: JsonObject, map: (schema: Json) => Json): JsonObject => {
  const out: Record<string, Json> = { ...schema };
  for (const key of ["items", "contains", "additionalProperties", "propertyNames", "not"])
    if (isJsonObject(out[key])) out[key] = map(out[key]);
  for (const key of ["anyOf", "oneOf", "allOf", "prefixItems"]) {
    const list = out[key];
    if (Array.isArray(list)) out[key] = list.map((inner: Json) => map(inner));
  }
  for (const key of ["properties", "patternProperties", "$defs", "definitions"])
    if (isJsonObject(out[key])) out[key] = mapFields(out[key], map);
  return out;
};

export const pickKeywords = (schema: JsonObject, keys: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => keys.has(key)));

/** Returns the required names that are properties. */
const knownNames = ({ properties, required }: JsonObject): readonly Json[] =>
  isJsonObject(properties) && Array.isArray(required)
    ? required.filter((name: Json) => typeof name === "string" && Object.hasOwn(properties, name))
    : [];

/** Returns the values of an enum of texts, without null, which `nullable` expresses; null if there are others. */
const textsOf = (values: Json | undefined): readonly Json[] | null => {
  const named = Array.isArray(values) ? values.filter((each) => each !== null) : [];
  return named.length > 0 && named.every((each) => typeof each === "string") ? named : null;
};

/**
 * Returns whether Google accepts a keyword: it refuses most formats, values that are not texts, and fields of an
 * object without any.
 */
const isTaken = (schema: JsonObject, key: string): boolean => {
  const { type = "object", [key]: value } = schema;
  switch (key) {
    case "format":
      return type === "number" || type === "integer" || value === "date-time" || value === "enum";
    case "enum":
      return textsOf(value) !== null;
    case "properties":
      return type === "object";
    case "required":
      return type === "object" && knownNames(schema).length > 0;
    default:
      return true;
  }
};

const dropRefused = (schema: JsonObject): JsonObject => {
  const taken = Object.fromEntries(Object.entries(schema).filter(([key]) => isTaken(schema, key)));
  return {
    ...taken,
    ...("enum" in taken ? { type: "string", enum: textsOf(schema["enum"]) ?? [] } : {}),
    ...("required" in taken ? { required: knownNames(schema) } : {}),
  };
};

export const isOfType = ({ type }: JsonObject, name: string): boolean => [type].flat().includes(name);

/** Says that a list may hold anything, where its schema says nothing: servers refuse a whole request for that. */
const withItems = (schema: JsonObject, anything: Json): JsonObject =>
  isOfType(schema, "array") && !isFilled(schema["items"]) ? { ...schema, items: anything } : schema;

export const isFilled = (schema: Json | undefined): boolean =>
  isJsonObject(schema) && Object.keys(schema).length > 0;

const toMinimal = (schema: Json, from: Inlining): Json => {
  if (!isJsonObject(schema)) return {};
  const ref = schema["$ref"];
  if (typeof ref === "string") {
    const found = follow(ref, from);
    return found === undefined ? { type: "object" } : toMinimal(found.target, found.inside);
  }
  const kept = withItems(dropRefused(pickKeywords(rephrase(schema), minimalKeys)), { type: "object" });
  return mapInner(kept, (inner) => toMinimal(inner, from));
};

/** Keywords that xAI has refused together with the whole request. */
const lengthKeys = new Set(["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"]);

/** Returns what stands for `additionalProperties` where an object is closed unless it says that it is open. */
const opennessOf = (schema: JsonObject): Json | undefined => {
  const { additionalProperties: more, properties } = schema;
  if (more === undefined) return isOfType(schema, "object") && properties === undefined ? true : undefined;
  if (more === false) return undefined;
  return isJsonObject(more) && Object.keys(more).length > 0 ? more : true;
};

const toClosed = (schema: Json): Json => {
  if (!isJsonObject(schema)) return schema;
  const { additionalProperties: _, ...rest } = schema;
  const kept = Object.fromEntries(Object.entries(rest).filter(([key]) => !lengthKeys.has(key)));
  const more = opennessOf(schema);
  return mapInner(more === undefined ? kept : { ...kept, additionalProperties: more }, toClosed);
};

/** Keywords that servers refuse at the root of a tool's parameters, together with the whole request. */
const refusedAtRoot = new Set(["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const"]);

/** Replaces references to a place that is refused by their targets; one that cannot be followed accepts anything. */
const inlineRefused = (schema: Json, from: Inlining): Json => {
  if (!isJsonObject(schema)) return schema;
  const ref = schema["$ref"];
  if (typeof ref !== "string" || !refusedAtRoot.has(ref.split("/")[1] ?? ""))
    return mapInner(schema, (inner) => inlineRefused(inner, from));
  const found = follow(ref, from);
  return found === undefined ? {} : inlineRefused(found.target, found.inside);
};

/**
 * Returns the schemas in a list at the root, with the targets of references; one that cannot be followed adds
 * nothing.
 */
const branchesOf = (list: Json | undefined, from: Inlining): readonly JsonObject[] =>
  (Array.isArray(list) ? list : []).flatMap((branch: Json) => {
    const ref = isJsonObject(branch) ? branch["$ref"] : undefined;
    if (typeof ref !== "string") return [foldBranches(branch, from)];
    const found = follow(ref, from);
    return found === undefined ? [] : [foldBranches(found.target, found.inside)];
  });

/** Merges the properties of several schemas; one that differs between them may match any. */
const gatherProperties = (schemas: readonly JsonObject[]): JsonObject => {
  const found = new Map<string, Map<string, Json>>();
  for (const { properties } of schemas)
    for (const [name, value] of Object.entries(isJsonObject(properties) ? properties : {}))
      found.set(name, (found.get(name) ?? new Map<string, Json>()).set(JSON.stringify(value), value));
  const gathered = [...found].map(([name, variants]): readonly [string, Json] => {
    const [first = {}, ...more] = variants.values();
    return [name, more.length === 0 ? first : { anyOf: [first, ...more] }];
  });
  return Object.fromEntries(gathered);
};

const foldBranches = (schema: Json, from: Inlining): JsonObject => {
  if (!isJsonObject(schema)) return {};
  if (Object.keys(schema).every((key) => !refusedAtRoot.has(key))) return schema;
  const [all = [], any = [], one = []] = ["allOf", "anyOf", "oneOf"].map((key) =>
    branchesOf(schema[key], from),
  );
  const required = [...all, schema].flatMap(({ required: names }) => (Array.isArray(names) ? names : []));
  const kept = Object.entries(schema).filter(([key]) => !refusedAtRoot.has(key));
  return {
    ...Object.fromEntries(kept),
    type: "object",
    properties: gatherProperties([schema, ...all, ...any, ...one]),
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
  };
};

/**
 * Rewrites the parameters of a tool as one object: alternatives at the root add their properties. Their further
 * requirements are still enforced by the runtime's own check.
 */
export const foldRoot = (schema: Json): Json =>
  isJsonObject(schema) && Object.keys(schema).some((key) => refusedAtRoot.has(key))
    ? inlineRefused(foldBranches(schema, inliningOf(schema)), inliningOf(schema))
    : schema;

const withAllItems = (schema: Json): Json =>
  isJsonObject(schema) ? withItems(mapInner(schema, withAllItems), {}) : schema;

/** Adapts the parameters of a tool to a server's dialect, with all that chat servers require of them. */
export const adaptParameters = (schema: Json, dialect: SchemaDialect): JsonObject => {
  const folded = fieldsOf(foldRoot(schema));
  if (dialect === "minimal") return fieldsOf(adaptSchema(folded, dialect));
  const root = "properties" in folded ? folded : { ...folded, properties: {} };
  return fieldsOf(withAllItems(adaptSchema(root, dialect)));
};

/** Adapts a schema to a server's dialect. Lost requirements are still enforced by the runtime's own check. */
export const adaptSchema = (schema: Json, dialect: SchemaDialect): Json => {
  switch (dialect) {
    case "full":
      return schema;
    case "closed":
      return toClosed(schema);
    case "minimal":
      return toMinimal(schema, inliningOf(schema));
  }
};
