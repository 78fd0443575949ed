import * as z from "zod";

/** Converts the schemas of the code to JSON Schema 2020-12, as both documents hold them. */

export type SchemaObject = Readonly<Record<string, unknown>>;

type MutableSchema = Record<string, unknown>;

interface Converted {
  readonly schema: SchemaObject;
  /** Named schemas that the schema refers to. */
  readonly named: Readonly<Record<string, SchemaObject>>;
}

const refOf = (name: string): string => `#/components/schemas/${name}`;

/** Returns whether a pipe transforms its input: then only its output has a schema. */
const isTransforming = (schema: z.core.$ZodType): schema is z.ZodPipe =>
  schema instanceof z.ZodPipe && schema.in instanceof z.ZodTransform;

const isSafeBound = (value: unknown): boolean =>
  value === Number.MAX_SAFE_INTEGER || value === Number.MIN_SAFE_INTEGER;

/** Removes what carries no information: the bounds of every whole number, and that names are texts. */
const simplify = (json: MutableSchema): void => {
  for (const key of ["minimum", "maximum"]) if (isSafeBound(json[key])) delete json[key];
  if (JSON.stringify(json["propertyNames"]) === '{"type":"string"}') delete json["propertyNames"];
};

const convert = (schema: z.ZodType, io: "input" | "output"): SchemaObject =>
  z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const json: MutableSchema = jsonSchema;
      if (io === "input" && isTransforming(zodSchema)) {
        const { $schema: _, ...after } = convert(zodSchema.out as z.ZodType, io);
        Object.assign(json, after);
      }
      // Answers may grow, so clients ignore fields that they do not know.
      if (io === "output" && json["additionalProperties"] === false) delete json["additionalProperties"];
      simplify(json);
    },
  });

/** Returns whether a schema has no name of ours: only those of any JSON value, which refer to themselves. */
const isAnyJson = (name: string): boolean => name.startsWith("__");

/** Rewrites references for the documents, and lets any JSON value be an empty schema. */
const moveRefs = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(moveRefs);
  if (typeof value !== "object" || value === null) return value;
  const { $ref: ref, ...rest } = value as SchemaObject;
  const moved = Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, moveRefs(each)]));
  if (typeof ref !== "string") return moved;
  const name = ref.replace("#/$defs/", "");
  return isAnyJson(name) ? moved : { ...moved, $ref: refOf(name) };
};

/** Converts a schema and, separately, those that it contains and that have a name by `id`. */
const toJsonSchema = (schema: z.ZodType, io: "input" | "output"): Converted => {
  const { $schema: _, $defs: defs = {}, id: __, ...own } = convert(schema, io);
  const named = Object.entries(defs as Readonly<Record<string, SchemaObject>>).flatMap(
    ([name, { id: ___, ...def }]) =>
      isAnyJson(name) ? [] : [[name, moveRefs(def) as SchemaObject] as const],
  );
  return { schema: moveRefs(own) as SchemaObject, named: Object.fromEntries(named) };
};

/** Schemas of a document, each once. */
export interface SchemaCollection {
  /** Returns the schema to use in a place: a reference if it has a name. */
  readonly place: (schema: z.ZodType, io: "input" | "output") => SchemaObject;
  /** Returns all named schemas, in the order of their names. */
  readonly all: () => Readonly<Record<string, SchemaObject>>;
}

export const collectSchemas = (): SchemaCollection => {
  const found = new Map<string, SchemaObject>();
  const keep = (name: string, schema: SchemaObject): void => {
    const known = found.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`two schemas have the name ${name}`);
    found.set(name, schema);
  };
  return {
    place: (schema, io) => {
      const { schema: own, named } = toJsonSchema(schema, io);
      for (const [name, each] of Object.entries(named)) keep(name, each);
      return own;
    },
    all: () => Object.fromEntries([...found].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
};
