import type { Fields } from "../../chat/json.ts";
import { fieldsOf, isFields } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { canonicalJson } from "../canonical.ts";

/**
 * Checks values against JSON Schemas that come from callers: the assertions of 2020-12 that
 * `schemaProblem` lets through. Time is bounded, `$ref` may recurse; `pattern` and `format` are never run.
 */

interface Work {
  readonly root: Json;
  /** Effort that may still be spent: about one a schema applied to a small value. */
  left: number;
}

interface Place {
  readonly work: Work;
  readonly path: readonly (string | number)[];
  readonly depth: number;
}

/** What does not fit: where, and the rule, as a sentence. */
interface Misfit {
  readonly path: readonly (string | number)[];
  readonly rule: string;
}

const mostEffort = 400_000;

const deepest = 200;

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

const listOf = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);

const namesIn = (rule: Json | undefined): readonly string[] =>
  listOf(rule).filter((name) => typeof name === "string");

const typeOf = (value: Json): string => {
  if (value === null) return "null";
  if (isList(value)) return "array";
  return typeof value;
};

const misfit = ({ path }: Place, rule: string): readonly Misfit[] => [{ path, rule }];

const unless = (fits: boolean, place: Place, rule: () => string): readonly Misfit[] =>
  fits ? [] : misfit(place, rule());

const inside = (place: Place, key: string | number): Place => ({ ...place, path: [...place.path, key] });

const decoded = (step: string): string => {
  const plain = step.replaceAll("~1", "/").replaceAll("~0", "~");
  return /^(?:[^%]|%[0-7][0-9a-f])*$/i.test(plain) ? decodeURIComponent(plain) : plain;
};

/** The schema that a reference within `root` names; undefined if there is none. */
export const referenced = (root: Json, reference: string): Json | undefined => {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let found: Json | undefined = root;
  for (const step of reference.slice(2).split("/")) {
    const key = decoded(step);
    if (isList(found)) found = found[Number(key)];
    else found = isFields(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
};

type Keyword = (rule: Json, value: Json, place: Place, schema: Fields) => readonly Misfit[];

/** A keyword that says something about values of one kind only. */
const ofObjects =
  (check: (rule: Json, value: Fields, place: Place, schema: Fields) => readonly Misfit[]): Keyword =>
  (rule, value, place, schema) =>
    isFields(value) ? check(rule, value, place, schema) : [];

const ofLists =
  (check: (rule: Json, value: readonly Json[], place: Place, schema: Fields) => readonly Misfit[]): Keyword =>
  (rule, value, place, schema) =>
    isList(value) ? check(rule, value, place, schema) : [];

const bound =
  (
    measure: (value: Json) => number | null,
    fits: (size: number, limit: number) => boolean,
    rule: (limit: number) => string,
  ): Keyword =>
  (limit, value, place) => {
    const size = measure(value);
    if (size === null || typeof limit !== "number") return [];
    return unless(fits(size, limit), place, () => rule(limit));
  };

const numberOf = (value: Json): number | null => (typeof value === "number" ? value : null);

const lengthOf = (value: Json): number | null => (typeof value === "string" ? [...value].length : null);

const itemsOf = (value: Json): number | null => (isList(value) ? value.length : null);

const keysOf = (value: Json): number | null => (isFields(value) ? Object.keys(value).length : null);

const atLeast = (size: number, limit: number): boolean => size >= limit;

const atMost = (size: number, limit: number): boolean => size <= limit;

const isMultiple = (value: number, step: number): boolean => {
  const ratio = value / step;
  return Math.abs(ratio - Math.round(ratio)) < 1e-9 * Math.max(1, Math.abs(ratio));
};

/** Equality that costs no more than the smaller side. */
const isSame = (a: Json, b: Json): boolean => {
  if (isList(a) && isList(b))
    return a.length === b.length && a.every((each, at) => isSame(each, b[at] ?? null));
  if (!isFields(a) || !isFields(b)) return a === b;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key] ?? null, b[key] ?? null))
  );
};

const areUnique = (values: readonly Json[], work: Work): boolean => {
  const texts = values.map(canonicalJson);
  work.left -= texts.reduce((sum, text) => sum + text.length, 0) / 50;
  return new Set(texts).size === values.length;
};

const shown = (values: readonly Json[]): string =>
  values
    .slice(0, 12)
    .map((value) => JSON.stringify(value).slice(0, 100))
    .join(", ");

const types: Keyword = (rule, value, place) => {
  const allowed = namesIn(isList(rule) ? rule : [rule]);
  const type = typeOf(value);
  const fits = allowed.includes(type) || (allowed.includes("integer") && Number.isInteger(value));
  return unless(fits, place, () => `expected ${allowed.join(" or ")}, found ${type}`);
};

const additional = ofObjects((rule, value, place, schema) => {
  // Keys that only a pattern would tell apart are let through: patterns are not run.
  if (schema["patternProperties"] !== undefined) return [];
  const known = fieldsOf(schema["properties"]);
  return Object.entries(value)
    .filter(([key]) => !Object.hasOwn(known, key))
    .flatMap(([key, item]) =>
      rule === false
        ? misfit(inside(place, key), "is not allowed here")
        : apply(rule, item, inside(place, key)),
    );
});

const contains = ofLists((rule, value, place, schema) => {
  const least = numberOf(schema["minContains"] ?? 1) ?? 1;
  const most = numberOf(schema["maxContains"] ?? null) ?? Infinity;
  const count = value.filter((item, at) => apply(rule, item, inside(place, at)).length === 0).length;
  return unless(
    count >= least && count <= most,
    place,
    () => `must contain ${least} to ${most} items that fit`,
  );
});

const items = ofLists((rule, value, place, schema) => {
  const first = isList(rule) ? rule : listOf(schema["prefixItems"]);
  const rest = isList(rule) ? (schema["additionalItems"] ?? true) : rule;
  return value.flatMap((item, at) => {
    const own = isList(rule) ? first[at] : undefined;
    if (own !== undefined) return apply(own, item, inside(place, at));
    return at < first.length ? [] : apply(rest, item, inside(place, at));
  });
});

const branches = (rule: Json, value: Json, place: Place): number =>
  listOf(rule).filter((each) => apply(each, value, place).length === 0).length;

const keywords: Readonly<Record<string, Keyword>> = {
  type: types,
  enum: (rule, value, place) => {
    place.work.left -= listOf(rule).length / 10;
    const fits = listOf(rule).some((each) => isSame(each, value));
    return unless(fits, place, () => `must be one of ${shown(listOf(rule))}`);
  },
  const: (rule, value, place) => unless(isSame(rule, value), place, () => `must be ${shown([rule])}`),
  minimum: bound(numberOf, atLeast, (limit) => `must be at least ${limit}`),
  maximum: bound(numberOf, atMost, (limit) => `must be at most ${limit}`),
  exclusiveMinimum: bound(
    numberOf,
    (size, limit) => size > limit,
    (limit) => `must be over ${limit}`,
  ),
  exclusiveMaximum: bound(
    numberOf,
    (size, limit) => size < limit,
    (limit) => `must be under ${limit}`,
  ),
  multipleOf: bound(numberOf, isMultiple, (limit) => `must be a multiple of ${limit}`),
  minLength: bound(lengthOf, atLeast, (limit) => `must have at least ${limit} characters`),
  maxLength: bound(lengthOf, atMost, (limit) => `must have at most ${limit} characters`),
  minItems: bound(itemsOf, atLeast, (limit) => `must have at least ${limit} items`),
  maxItems: bound(itemsOf, atMost, (limit) => `must have at most ${limit} items`),
  minProperties: bound(keysOf, atLeast, (limit) => `must have at least ${limit} fields`),
  maxProperties: bound(keysOf, atMost, (limit) => `must have at most ${limit} fields`),
  uniqueItems: ofLists((rule, value, place) =>
    unless(rule !== true || areUnique(value, place.work), place, () => "items must differ"),
  ),
  prefixItems: ofLists((rule, value, place) =>
    listOf(rule).flatMap((each, at) =>
      at < value.length ? apply(each, value[at] ?? null, inside(place, at)) : [],
    ),
  ),
  items,
  contains,
  required: ofObjects((rule, value, place) =>
    namesIn(rule).flatMap((key) =>
      Object.hasOwn(value, key) ? [] : misfit(inside(place, key), "is required"),
    ),
  ),
  properties: ofObjects((rule, value, place) =>
    Object.entries(fieldsOf(rule)).flatMap(([key, each]) =>
      Object.hasOwn(value, key) ? apply(each, value[key] ?? null, inside(place, key)) : [],
    ),
  ),
  additionalProperties: additional,
  propertyNames: ofObjects((rule, value, place) =>
    Object.keys(value).flatMap((key) => apply(rule, key, inside(place, key))),
  ),
  dependentRequired: ofObjects((rule, value, place) =>
    Object.entries(fieldsOf(rule))
      .filter(([key]) => Object.hasOwn(value, key))
      .flatMap(([key, needed]) =>
        namesIn(needed)
          .filter((other) => !Object.hasOwn(value, other))
          .flatMap((other) => misfit(inside(place, other), `is required beside ${key}`)),
      ),
  ),
  dependentSchemas: ofObjects((rule, value, place) =>
    Object.entries(fieldsOf(rule)).flatMap(([key, each]) =>
      Object.hasOwn(value, key) ? apply(each, value, place) : [],
    ),
  ),
  allOf: (rule, value, place) => listOf(rule).flatMap((each) => apply(each, value, place)),
  anyOf: (rule, value, place) =>
    unless(branches(rule, value, place) > 0, place, () => "fits none of the allowed forms"),
  oneOf: (rule, value, place) =>
    unless(branches(rule, value, place) === 1, place, () => "must fit exactly one of the allowed forms"),
  not: (rule, value, place) =>
    unless(apply(rule, value, place).length > 0, place, () => "has a form that is not allowed"),
  if: (rule, value, place, schema) => {
    const branch = apply(rule, value, place).length === 0 ? schema["then"] : schema["else"];
    return branch === undefined ? [] : apply(branch, value, place);
  },
  $ref: (rule, value, place) => {
    const found = typeof rule === "string" ? referenced(place.work.root, rule) : undefined;
    return found === undefined ? [] : apply(found, value, place);
  },
};

const tooMuch = "could not be checked: schema and value are too deep or too large for each other";

const sizeOf = (value: Json): number => {
  if (typeof value === "string") return value.length / 200;
  return isList(value) ? value.length / 20 : (keysOf(value) ?? 0) / 20;
};

function apply(schema: Json, value: Json, at: Place): readonly Misfit[] {
  const { work } = at;
  const place = { ...at, depth: at.depth + 1 };
  work.left = place.depth > deepest ? -1 : work.left - 1 - sizeOf(value);
  if (work.left < 0) return misfit(at, tooMuch);
  if (schema === false) return misfit(at, "is not allowed here");
  if (!isFields(schema)) return [];
  return Object.entries(schema).flatMap(([name, rule]) =>
    Object.hasOwn(keywords, name) ? (keywords[name]?.(rule, value, place, schema) ?? []) : [],
  );
}

/** What of a value does not fit a schema, at most five sentences like `a.0.b: must be at least 2`; empty = it fits. `whole` names the value. */
export const schemaMisfits = (schema: Json, value: Json, whole: string): readonly string[] => {
  const work = { root: schema, left: mostEffort };
  const found = apply(schema, value, { work, path: [], depth: 0 });
  if (work.left < 0) return [`${whole}: ${tooMuch}`];
  return found.slice(0, 5).map(({ path, rule }) => `${path.length === 0 ? whole : path.join(".")}: ${rule}`);
};
