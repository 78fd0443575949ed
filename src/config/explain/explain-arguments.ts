import type { JsonSchema } from "../json-schema.ts";
import { builtInToolSchemas } from "../known.ts";

/** Describes the arguments of built-in tools for `limpet explain --tools`, from their definitions. */

const typeText = (schema: JsonSchema): string => {
  const { type, enum: values, items, properties, anyOf } = schema;
  if (values !== undefined) return values.map(String).join("|");
  if (anyOf !== undefined) return anyOf.map(typeText).join(" | ");
  if (properties !== undefined) return argumentsText(schema);
  return items === undefined ? (type ?? "any") : `[${typeText(items)}]`;
};

/** Formats the fields of an object: `?` follows those that may be left out, `=` what holds then. */
const argumentsText = ({ properties = {}, required = [] }: JsonSchema): string => {
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? "" : "?";
    const standard = field["default"] === undefined ? "" : ` = ${JSON.stringify(field["default"])}`;
    return `${name}${mark}: ${typeText(field)}${standard}`;
  });
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
};

/** Lists the built-in tools under their toolboxes, each with its arguments. */
export const toolLines = (): readonly string[] =>
  Object.entries(builtInToolSchemas()).flatMap(([toolbox, tools]) => [
    toolbox,
    ...Object.entries(tools).map(([name, schema]) => `  ${name}  ${argumentsText(schema)}`),
  ]);
