import type { JsonObject } from "../../chat/json.ts";
import { fieldsOf, isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { canonicalJson } from "../canonical.ts";
import { isList, resolveReference } from "./keywords.ts";
import { firstCharacters } from "../../chat/text.ts";

/**
 * Checks values against JSON Schemas from callers, with the 2020-12 assertions that `schemaProblem` accepts. Time
 * is limited, `$ref` may recurse. Some keywords are never run, like `pattern` and `format`: what only they decide
 * counts as fitting, also where a schema says what must not fit.
 */

interface CheckWork {
  readonly root: Json;
  /** Effort that remains: about one unit for each schema applied to a small value. */
  left: number;
  /** Number of keywords so far that could have refused the value and were not run. */
  skipped: number;
}

interface CheckPlace {
  readonly work: CheckWork;
  readonly path: readonly (string | number)[];
  readonly depth: number;
}

/** Mismatch: its path, and the violated rule as a sentence. */
interface Misfit {
  readonly path: readonly (string | number)[];
  readonly rule: string;
}

const maxEffort = 400_000;

const maxCheckDepth = 200;

const listOf = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);

const namesIn = (rule: Json | undefined): readonly string[] =>
  listOf(rule).filter((name) => typeof name === "string");

const typeOf = (value: Json): string => {
  if (value === null) return "null";
  if (isList(value)) return "array";
  return typeof value;
};

const reportMisfit = ({ path }: CheckPlace, rule: string): readonly Misfit[] => [{ path, rule }];

const misfitUnless = (fits: boolean, place: CheckPlace, rule: () => string): readonly Misfit[] =>
  fits ? [] : reportMisfit(place, rule());

const stepInto = (place: CheckPlace, key: string | number): CheckPlace => ({
  ...place,
  path: [...place.path, key],
});

type Keyword = (rule: Json, value: Json, place: CheckPlace, schema: JsonObject) => readonly Misfit[];

/** Creates the check of a keyword that applies to values of one kind only. */
const forObjects =
  (
    check: (rule: Json, value: JsonObject, place: CheckPlace, schema: JsonObject) => readonly Misfit[],
  ): Keyword =>
  (rule, value, place, schema) =>
    isJsonObject(value) ? check(rule, value, place, schema) : [];

const forLists =
  (
    check: (rule: Json, value: readonly Json[], place: CheckPlace, schema: JsonObject) => readonly Misfit[],
  ): Keyword =>
  (rule, value, place, schema) =>
    isList(value) ? check(rule, value, place, schema) : [];

const createBound =
  (
    measure: (value: Json) => number | null,
    fits: (size: number, limit: number) => boolean,
    rule: (limit: number) => string,
  ): Keyword =>
  (limit, value, place) => {
    const size = measure(value);
    if (size === null || typeof limit !== "number") return [];
    return misfitUnless(fits(size, limit), place, () => rule(limit));
  };

const numberOf = (value: Json): number | null => (typeof value === "number" ? value : null);

const lengthOf = (value: Json): number | null => (typeof value === "string" ? [...value].length : null);

const itemsOf = (value: Json): number | null => (isList(value) ? value.length : null);

const keysOf = (value: Json): number | null => (isJsonObject(value) ? Object.keys(value).length : null);

const atLeast = (size: number, limit: number): boolean => size >= limit;

const atMost = (size: number, limit: number): boolean => size <= limit;

const isMultiple = (value: number, step: number): boolean => {
  const ratio = value / step;
  return Math.abs(ratio - Math.round(ratio)) < 1e-9 * Math.max(1, Math.abs(ratio));
};

/** Compares for equality at the cost of the smaller side at most. */
const isSame = (a: Json, b: Json): boolean => {
  if (isList(a) && isList(b))
    return a.length === b.length && a.every((each, at) => isSame(each, b[at] ?? null));
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key] ?? null, b[key] ?? null))
  );
};

const areUnique = (values: readonly Json[], work: CheckWork): boolean => {
  const texts = values.map(canonicalJson);
  work.left -= texts.reduce((sum, text) => sum + text.length, 0) / 50;
  return new Set(texts).size === values.length;
};

const listValues = (values: readonly Json[]): string =>
  values
    .slice(0, 12)
    .map((value) => firstCharacters(JSON.stringify(value), 100))
    .join(", ");

const checkType: Keyword = (rule, value, place) => {
  const allowed = namesIn(isList(rule) ? rule : [rule]);
  const type = typeOf(value);
  const fits = allowed.includes(type) || (allowed.includes("integer") && Number.isInteger(value));
  return misfitUnless(fits, place, () => `expected ${allowed.join(" or ")}, found ${type}`);
};

const checkAdditional = forObjects((rule, value, place, schema) => {
  // Keys that only a pattern could match are accepted, since patterns are not run.
  if (schema["patternProperties"] !== undefined) return [];
  const known = fieldsOf(schema["properties"]);
  return Object.entries(value)
    .filter(([key]) => !Object.hasOwn(known, key))
    .flatMap(([key, item]) =>
      rule === false
        ? reportMisfit(stepInto(place, key), "is not allowed here")
        : applySchema(rule, item, stepInto(place, key)),
    );
});

/** Number of checks that fit, and of those that fit for certain, with no keyword skipped. */
interface FitCount {
  readonly fitting: number;
  readonly certain: number;
}

const countFits = ({ work }: CheckPlace, checks: readonly (() => readonly Misfit[])[]): FitCount => {
  let fitting = 0;
  let certain = 0;
  for (const check of checks) {
    const before = work.skipped;
    if (check().length > 0) continue;
    fitting += 1;
    if (work.skipped === before) certain += 1;
  }
  return { fitting, certain };
};

const checkContains = forLists((rule, value, place, schema) => {
  const least = numberOf(schema["minContains"] ?? 1) ?? 1;
  const most = numberOf(schema["maxContains"] ?? null) ?? Infinity;
  const checks = value.map((item, at) => () => applySchema(rule, item, stepInto(place, at)));
  const { fitting, certain } = countFits(place, checks);
  return misfitUnless(
    fitting >= least && certain <= most,
    place,
    () => `must contain ${least} to ${most} items that fit`,
  );
});

const checkItems = forLists((rule, value, place, schema) => {
  const first = isList(rule) ? rule : listOf(schema["prefixItems"]);
  const rest = isList(rule) ? (schema["additionalItems"] ?? true) : rule;
  return value.flatMap((item, at) => {
    const own = isList(rule) ? first[at] : undefined;
    if (own !== undefined) return applySchema(own, item, stepInto(place, at));
    return at < first.length ? [] : applySchema(rest, item, stepInto(place, at));
  });
});

const countForms = (rule: Json, value: Json, place: CheckPlace): FitCount =>
  countFits(
    place,
    listOf(rule).map((each) => () => applySchema(each, value, place)),
  );

const countForm = (rule: Json, value: Json, place: CheckPlace): FitCount => countForms([rule], value, place);

/** Creates a keyword that is not run on values to which it applies. */
const skipFor =
  (applies: (value: Json) => boolean): Keyword =>
  (_rule, value, { work }) => {
    if (applies(value)) work.skipped += 1;
    return [];
  };

const isText = (value: Json): boolean => typeof value === "string";

const keywordTable: Readonly<Record<string, Keyword>> = {
  type: checkType,
  enum: (rule, value, place) => {
    place.work.left -= listOf(rule).length / 10;
    const fits = listOf(rule).some((each) => isSame(each, value));
    return misfitUnless(fits, place, () => `must be one of ${listValues(listOf(rule))}`);
  },
  const: (rule, value, place) =>
    misfitUnless(isSame(rule, value), place, () => `must be ${listValues([rule])}`),
  minimum: createBound(numberOf, atLeast, (limit) => `must be at least ${limit}`),
  maximum: createBound(numberOf, atMost, (limit) => `must be at most ${limit}`),
  exclusiveMinimum: createBound(
    numberOf,
    (size, limit) => size > limit,
    (limit) => `must be over ${limit}`,
  ),
  exclusiveMaximum: createBound(
    numberOf,
    (size, limit) => size < limit,
    (limit) => `must be under ${limit}`,
  ),
  multipleOf: createBound(numberOf, isMultiple, (limit) => `must be a multiple of ${limit}`),
  minLength: createBound(lengthOf, atLeast, (limit) => `must have at least ${limit} characters`),
  maxLength: createBound(lengthOf, atMost, (limit) => `must have at most ${limit} characters`),
  minItems: createBound(itemsOf, atLeast, (limit) => `must have at least ${limit} items`),
  maxItems: createBound(itemsOf, atMost, (limit) => `must have at most ${limit} items`),
  minProperties: createBound(keysOf, atLeast, (limit) => `must have at least ${limit} fields`),
  maxProperties: createBound(keysOf, atMost, (limit) => `must have at most ${limit} fields`),
  uniqueItems: forLists((rule, value, place) =>
    misfitUnless(rule !== true || areUnique(value, place.work), place, () => "items must differ"),
  ),
  prefixItems: forLists((rule, value, place) =>
    listOf(rule).flatMap((each, at) =>
      at < value.length ? applySchema(each, value[at] ?? null, stepInto(place, at)) : [],
    ),
  ),
  items: checkItems,
  contains: checkContains,
  required: forObjects((rule, value, place) =>
    namesIn(rule).flatMap((key) =>
      Object.hasOwn(value, key) ? [] : reportMisfit(stepInto(place, key), "is required"),
    ),
  ),
  properties: forObjects((rule, value, place) =>
    Object.entries(fieldsOf(rule)).flatMap(([key, each]) =>
      Object.hasOwn(value, key) ? applySchema(each, value[key] ?? null, stepInto(place, key)) : [],
    ),
  ),
  additionalProperties: checkAdditional,
  propertyNames: forObjects((rule, value, place) =>
    Object.keys(value).flatMap((key) => applySchema(rule, key, stepInto(place, key))),
  ),
  dependentRequired: forObjects((rule, value, place) =>
    Object.entries(fieldsOf(rule))
      .filter(([key]) => Object.hasOwn(value, key))
      .flatMap(([key, needed]) =>
        namesIn(needed)
          .filter((other) => !Object.hasOwn(value, other))
          .flatMap((other) => reportMisfit(stepInto(place, other), `is required beside ${key}`)),
      ),
  ),
  dependentSchemas: forObjects((rule, value, place) =>
    Object.entries(fieldsOf(rule)).flatMap(([key, each]) =>
      Object.hasOwn(value, key) ? applySchema(each, value, place) : [],
    ),
  ),
  allOf: (rule, value, place) => listOf(rule).flatMap((each) => applySchema(each, value, place)),
  anyOf: (rule, value, place) =>
    misfitUnless(countForms(rule, value, place).fitting > 0, place, () => "fits none of the allowed forms"),
  oneOf: (rule, value, place) => {
    const { fitting, certain } = countForms(rule, value, place);
    return misfitUnless(
      fitting > 0 && certain <= 1,
      place,
      () => "must fit exactly one of the allowed forms",
    );
  },
  not: (rule, value, place) =>
    misfitUnless(countForm(rule, value, place).certain === 0, place, () => "has a form that is not allowed"),
  if: (rule, value, place, schema) => {
    const { fitting, certain } = countForm(rule, value, place);
    if (fitting !== certain) return [];
    const branch = fitting > 0 ? schema["then"] : schema["else"];
    return branch === undefined ? [] : applySchema(branch, value, place);
  },
  format: skipFor(isText),
  pattern: skipFor(isText),
  patternProperties: skipFor(isJsonObject),
  unevaluatedItems: skipFor(isList),
  unevaluatedProperties: skipFor(isJsonObject),
  $ref: (rule, value, place) => {
    const found = typeof rule === "string" ? resolveReference(place.work.root, rule) : undefined;
    return found === undefined ? [] : applySchema(found, value, place);
  },
};

const tooMuch = "could not be checked: schema and value are too deep or too large for each other";

const sizeOf = (value: Json): number => {
  if (typeof value === "string") return value.length / 200;
  return isList(value) ? value.length / 20 : (keysOf(value) ?? 0) / 20;
};

function applySchema(schema: Json, value: Json, at: CheckPlace): readonly Misfit[] {
  const { work } = at;
  const place = { ...at, depth: at.depth + 1 };
  work.left = place.depth > maxCheckDepth ? -1 : work.left - 1 - sizeOf(value);
  if (work.left < 0) return reportMisfit(at, tooMuch);
  if (schema === false) return reportMisfit(at, "is not allowed here");
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([name, rule]) =>
    Object.hasOwn(keywordTable, name) ? (keywordTable[name]?.(rule, value, place, schema) ?? []) : [],
  );
}

/** Finds mismatches with `schema`, which is `root` or part of it: at most five, with paths from the value. */
export const findMisfits = (schema: Json, value: Json, root: Json = schema): readonly Misfit[] => {
  const work = { root, left: maxEffort, skipped: 0 };
  const found = applySchema(schema, value, { work, path: [], depth: 0 });
  return work.left < 0 ? [{ path: [], rule: tooMuch }] : found.slice(0, 5);
};

/** Lists mismatches, at most five sentences like `a.0.b: must be at least 2`. `whole` names the value. */
export const findSchemaErrors = (schema: Json, value: Json, whole: string): readonly string[] =>
  findMisfits(schema, value).map(
    ({ path, rule }) => `${path.length === 0 ? whole : path.join(".")}: ${rule}`,
  );
