import * as z from "zod";

/** This file reads from a request's schema which fields it has, for an answer that names them. */

type Schema = z.core.$ZodType;

const wrappers = [
  z.ZodOptional,
  z.ZodNullable,
  z.ZodDefault,
  z.ZodPrefault,
  z.ZodReadonly,
  z.ZodLazy,
] as const;

/** Lists what a value may be: the branches of a union, and what optional and transformed schemas hold. */
const branchesOf = (schema: Schema): readonly Schema[] => {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(branchesOf);
  if (schema instanceof z.ZodPipe) return branchesOf(schema.in);
  for (const wrapper of wrappers) if (schema instanceof wrapper) return branchesOf(schema.unwrap());
  return [schema];
};

const partOf = (schema: Schema, key: PropertyKey): readonly Schema[] => {
  if (schema instanceof z.ZodArray) return branchesOf(schema.element);
  if (schema instanceof z.ZodRecord) return branchesOf(schema.valueType);
  if (!(schema instanceof z.ZodObject)) return [];
  const field: Schema | undefined = schema.shape[String(key)];
  return field === undefined ? [] : branchesOf(field);
};

/** Lists the names of the fields that a schema has at a path; empty where names are free. */
export const knownFields = (schema: Schema, path: readonly PropertyKey[]): readonly string[] => {
  const found = path.reduce<readonly Schema[]>(
    (schemas, key) => schemas.flatMap((each) => partOf(each, key)),
    branchesOf(schema),
  );
  const names = found.flatMap((each) => (each instanceof z.ZodObject ? Object.keys(each.shape) : []));
  return [...new Set(names)];
};
