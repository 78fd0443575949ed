import * as z from "zod";
import type { Json } from "../../../chat/message.ts";

/** Ties the schemas of answers, events and frames to the types of the code that produces them. */

type IsJson<T> = [T] extends [Json] ? ([Json] extends [T] ? true : false) : false;

/** Makes types comparable that differ only in `readonly` and in how they were composed. */
type Plain<T> =
  IsJson<T> extends true
    ? "any JSON"
    : T extends readonly (infer Item)[]
      ? readonly Plain<Item>[]
      : T extends object
        ? { readonly [Key in keyof T]: Plain<T[Key]> }
        : T;

/** Compares two types exactly, as the compiler compares the bounds of two functions. */
type Exact<T> = <Any>() => Any extends T ? true : false;

/** Compares two types; the tuple makes the compiler wait until both are known. */
type Same<One, Other> = [One, Other] extends [unknown, unknown]
  ? Exact<Plain<One>> extends Exact<Plain<Other>>
    ? true
    : false
  : never;

/** Returns the definer of a type's schema; it does not compile unless the schema describes that type exactly. */
export const schemaOf =
  <Type>() =>
  <Schema extends z.ZodType>(
    schema: Schema,
    ..._check: Same<z.output<Schema>, Type> extends true ? [] : [{ readonly "differs from": Plain<Type> }]
  ): Schema =>
    schema;

/** Accepts any JSON value; a field with this schema is required. */
export const json = z.custom<Json>((value) => value !== undefined);

/** Milliseconds since the epoch. */
export const time = z.int();

/** Names a schema, so that documents hold it once. */
export const nameSchema = <Schema extends z.ZodType>(
  id: string,
  description: string,
  schema: Schema,
): Schema => schema.meta({ id, description });
