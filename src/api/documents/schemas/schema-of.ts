import * as z from "zod";
import type { Json } from "../../../chat/message.ts";

/** This file ties the schemas of answers, events and frames to the types of the code that makes them. */

type IsJson<T> = [T] extends [Json] ? ([Json] extends [T] ? true : false) : false;

/** Makes types comparable that differ only in `readonly` and in how they were put together. */
type Plain<T> =
  IsJson<T> extends true
    ? "any JSON"
    : T extends readonly (infer Item)[]
      ? readonly Plain<Item>[]
      : T extends object
        ? { readonly [Key in keyof T]: Plain<T[Key]> }
        : T;

/** Both are compared as the compiler compares the bounds of two functions, that is exactly. */
type Exact<T> = <Any>() => Any extends T ? true : false;

/** The tuple makes the compiler wait until both types are known. */
type Same<One, Other> = [One, Other] extends [unknown, unknown]
  ? Exact<Plain<One>> extends Exact<Plain<Other>>
    ? true
    : false
  : never;

/** Defines the schema of a type; it does not compile unless it describes that type and no other. */
export const schemaOf =
  <Type>() =>
  <Schema extends z.ZodType>(
    schema: Schema,
    ..._check: Same<z.output<Schema>, Type> extends true ? [] : [{ readonly "differs from": Plain<Type> }]
  ): Schema =>
    schema;

/** Accepts any JSON value; a field that has it must be there. */
export const json = z.custom<Json>((value) => value !== undefined);

/** Gives milliseconds since the epoch. */
export const time = z.int();

/** Names a schema, which documents then hold once. */
export const nameSchema = <Schema extends z.ZodType>(
  id: string,
  description: string,
  schema: Schema,
): Schema => schema.meta({ id, description });
