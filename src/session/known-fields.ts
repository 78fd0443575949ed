import * as z from "zod";

/** Reads from a request's schema which fields it has, for an answer that names them. */

type Schema = z.core.$ZodType;

const wrappers = [
  z.ZodOptional,
  z.ZodNullable,
  z.ZodDefault,
  z.ZodPrefault,
  z.ZodReadonly,
  z.ZodLazy,
] as const;

const partOfValue = (value: unknown, key: PropertyKey): unknown =>
  typeof value === "object" && value !== null
    ? (value as Readonly<Record<PropertyKey, unknown>>)[key]
    : undefined;

/**
 * Finds the options of a union that a value is meant to be, by its discriminating field; all if that does not
 * decide.
 */
const optionsFor = (union: z.ZodUnion, value: unknown): readonly Schema[] => {
  if (!(union instanceof z.ZodDiscriminatedUnion)) return union.options;
  const { discriminator } = union.def;
  const kind = partOfValue(value, discriminator) as z.core.util.Primitive;
  const meant = union.options.filter(({ _zod }) => _zod.propValues?.[discriminator]?.has(kind) === true);
  return meant.length === 0 ? union.options : meant;
};

/** Lists what a value may be: the branches of a union, and what optional and transformed schemas hold. */
const branchesOf = (schema: Schema, value: unknown): readonly Schema[] => {
  if (schema instanceof z.ZodUnion)
    return optionsFor(schema, value).flatMap((each) => branchesOf(each, value));
  if (schema instanceof z.ZodPipe) return branchesOf(schema.in, value);
  for (const wrapper of wrappers) if (schema instanceof wrapper) return branchesOf(schema.unwrap(), value);
  return [schema];
};

const partOf = (schema: Schema, key: PropertyKey, part: unknown): readonly Schema[] => {
  if (schema instanceof z.ZodArray) return branchesOf(schema.element, part);
  if (schema instanceof z.ZodRecord) return branchesOf(schema.valueType, part);
  if (!(schema instanceof z.ZodObject)) return [];
  const field: Schema | undefined = schema.shape[String(key)];
  return field === undefined ? [] : branchesOf(field, part);
};

/** Lists the names of the fields that a schema has for a value, at a path of it; empty where names are free. */
export const knownFields = (
  schema: Schema,
  value: unknown,
  path: readonly PropertyKey[],
): readonly string[] => {
  let found = branchesOf(schema, value);
  let part = value;
  for (const key of path) {
    part = partOfValue(part, key);
    found = found.flatMap((each) => partOf(each, key, part));
  }
  const names = found.flatMap((each) => (each instanceof z.ZodObject ? Object.keys(each.shape) : []));
  return [...new Set(names)];
};
