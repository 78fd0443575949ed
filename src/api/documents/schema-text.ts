import { allScopes } from "../../session/rpc.ts";
import type { SchemaObject } from "./json-schema.ts";

/** Describes in words what a JSON Schema accepts, for readers of the reference. */

const asObject = (value: unknown): SchemaObject =>
  typeof value === "object" && value !== null ? (value as SchemaObject) : {};

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const nameOf = (ref: unknown): string | null =>
  typeof ref === "string" ? (ref.split("/").at(-1) ?? null) : null;

const plain: Readonly<Record<string, string>> = {
  string: "text",
  integer: "number",
  number: "number",
  boolean: "true or false",
  null: "null",
};

const objectText = ({ properties, additionalProperties: rest }: SchemaObject): string => {
  if (properties !== undefined) return `{${Object.keys(asObject(properties)).join(", ")}}`;
  return typeof rest === "object" ? `map to ${typeText(asObject(rest))}` : "object";
};

const isScopes = (values: readonly unknown[]): boolean =>
  values.length === allScopes.length && allScopes.every((scope) => values.includes(scope));

const valuesText = (values: readonly unknown[]): string => {
  if (isScopes(values)) return "scope";
  return values.length > mostValues ? "one of many" : values.map(String).join("/");
};

/** Number of values of a choice that are listed. */
const mostValues = 20;

/** Describes briefly the kind of value that a schema accepts. */
export function typeText(schema: SchemaObject): string {
  const { $ref: ref, const: value, enum: values, type, items } = schema;
  const name = nameOf(ref);
  if (name !== null) return name;
  const choices = [...asList(schema["anyOf"]), ...asList(schema["oneOf"])].map(asObject);
  if (choices.length > 0) return [...new Set(choices.map(typeText))].join(" or ");
  if (value !== undefined) return JSON.stringify(value);
  if (Array.isArray(values)) return valuesText(values);
  if (Array.isArray(type))
    return type.map((each: unknown) => typeText({ ...schema, type: each })).join(" or ");
  if (type === "array") return `list of ${typeText(asObject(items))}`;
  return type === "object" ? objectText(schema) : (plain[String(type)] ?? "any JSON");
}

/** Field of an object, in words. */
export interface FieldText {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** What holds if the field is absent, as text; null if the schema names nothing, or more than one value. */
  readonly standard: string | null;
  readonly says: string;
}

const standardOf = ({ default: value }: SchemaObject): string | null =>
  ["string", "number", "boolean"].includes(typeof value) ? String(value) : null;

/** Lists the fields of an object schema. */
export const fieldTexts = (schema: SchemaObject): readonly FieldText[] =>
  Object.entries(asObject(schema["properties"])).map(([name, field]) => {
    const { description, ...rest } = asObject(field);
    return {
      name,
      type: typeText(rest),
      isRequired: asList(schema["required"]).includes(name),
      standard: standardOf(rest),
      says: typeof description === "string" ? description : "",
    };
  });

/** Escapes what Markdown and HTML would interpret, except inside code. */
const escapeCell = (cell: string): string =>
  cell
    .replaceAll("|", String.raw`\|`)
    .split("`")
    .map((part, at) => (at % 2 === 0 ? part.replaceAll("<", "&lt;") : part))
    .join("`");

/** Formats cells as a Markdown table. */
export const tableText = (heads: readonly string[], rows: readonly (readonly string[])[]): string => {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n");
};

/** Formats a field for a sentence: its name, its kind unless it is a text, its default, and its description. */
export const fieldText = ({ name, type, standard, says }: FieldText): string => {
  const kinds = [
    ...(type === "text" ? [] : [type]),
    ...(standard === null ? [] : [`by default ${standard || "empty"}`]),
  ];
  const kind = kinds.length === 0 ? "" : ` (${kinds.join(", ")})`;
  return `\`${name}\`${kind}${says === "" ? "" : `: ${says.replace(/\.$/, "")}`}`;
};
