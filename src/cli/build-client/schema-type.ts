import * as z from "zod";

/** Formats the TypeScript type that a schema describes. */

interface JsonSchema {
  readonly [key: string]: unknown;
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const schemasIn = (value: unknown): readonly JsonSchema[] =>
  Array.isArray(value) ? value.filter(isSchema) : [];

const propertyName = (name: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);

/** Formats the comment of a property, if its schema describes it. */
const commentOf = ({ description }: JsonSchema): string =>
  typeof description === "string" ? `/** ${description} */\n` : "";

const objectType = ({ properties, required, additionalProperties: rest }: JsonSchema): string => {
  const needed = new Set(Array.isArray(required) ? required : []);
  const fields = Object.entries(isSchema(properties) ? properties : {}).map(([name, schema]) =>
    isSchema(schema)
      ? `${commentOf(schema)}readonly ${propertyName(name)}${needed.has(name) ? "" : "?"}: ${typeOf(schema)};`
      : "",
  );
  if (fields.length === 0)
    return isSchema(rest) ? `Readonly<Record<string, ${typeOf(rest)}>>` : "Readonly<Record<string, never>>";
  const separator = fields.some((field) => field.includes("/**")) ? "\n" : " ";
  return ["{", ...fields, "}"].join(separator);
};

const typesByName: Readonly<Record<string, (schema: JsonSchema) => string>> = {
  string: () => "string",
  number: () => "number",
  integer: () => "number",
  boolean: () => "boolean",
  null: () => "null",
  array: ({ items }) => `readonly ${isSchema(items) ? inParentheses(typeOf(items)) : "Json"}[]`,
  object: objectType,
};

const inParentheses = (type: string): string => (type.includes("|") ? `(${type})` : type);

const namedSchemas = "#/components/schemas/";

/** Returns the type of a reference; of the schemas without a name, only that of any JSON value refers to itself. */
const referredType = (reference: string): string =>
  reference.startsWith(namedSchemas)
    ? `AnswerSchemas[${JSON.stringify(reference.slice(namedSchemas.length))}]`
    : "Json";

const typeOf = (schema: JsonSchema): string => {
  const { $ref: reference, const: value, enum: values, anyOf, oneOf, allOf, type } = schema;
  if (typeof reference === "string") return referredType(reference);
  if (value !== undefined) return JSON.stringify(value);
  if (Array.isArray(values)) return values.map((each) => JSON.stringify(each)).join(" | ");
  const union = schemasIn(anyOf ?? oneOf);
  if (union.length > 0) return [...new Set(union.map(typeOf))].join(" | ");
  const parts = schemasIn(allOf);
  if (parts.length > 0) return parts.map((part) => inParentheses(typeOf(part))).join(" & ");
  if (Array.isArray(type)) return type.map((each: unknown) => typeOf({ ...schema, type: each })).join(" | ");
  return typesByName[String(type)]?.(schema) ?? "Json";
};

/** Returns the type of the values that a schema accepts. */
export const acceptedType = (schema: z.ZodType): string => {
  const described: unknown = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return isSchema(described) ? typeOf(described) : "Json";
};

/** Returns the type of an answer, from its schema in the documents. */
export const answeredType = (schema: JsonSchema): string => typeOf(schema);
