import { unavailableParts } from "../availability.ts";
import { isDurationSchema, isSizeSchema } from "../json-schema.ts";
import type { JsonSchema } from "../json-schema.ts";

/** Writes the reference page of `team.yaml` from its JSON Schema and the list of unavailable parts. */

/** Map with its own keys, one section of the page. */
interface ReferenceSection {
  readonly path: string;
  readonly schema: JsonSchema;
}

const wholeFile = "The file";

const valueText = (value: unknown): string =>
  `\`${typeof value === "string" && value !== "" ? value : JSON.stringify(value)}\``;

const numberText = ({ type, minimum, exclusiveMinimum, maximum, exclusiveMaximum }: JsonSchema): string => {
  const word = type === "integer" ? "whole number" : "number";
  const least =
    typeof minimum === "number"
      ? ` from ${minimum}`
      : typeof exclusiveMinimum === "number"
        ? ` above ${exclusiveMinimum}`
        : "";
  const below = typeof exclusiveMaximum === "number" ? `, below ${exclusiveMaximum}` : "";
  return `${word}${least}${typeof maximum === "number" ? ` to ${maximum}` : below}`;
};

const textText = (schema: JsonSchema): string => {
  if (isDurationSchema(schema)) return "duration";
  if (isSizeSchema(schema)) return "size";
  return typeof schema["maxLength"] === "number" ? `text (at most ${schema["maxLength"]})` : "text";
};

const plainTypes: Readonly<Record<string, (schema: JsonSchema) => string>> = {
  string: textText,
  number: numberText,
  integer: numberText,
  boolean: () => "true or false",
  null: () => "null",
  array: ({ items = {}, maxItems }) =>
    `list${typeof maxItems === "number" ? ` (at most ${maxItems})` : ""} of ${typeText(items)}`,
  object: ({ additionalProperties: values, properties }) =>
    typeof values === "object" && properties === undefined ? `map to ${typeText(values)}` : "map",
};

/** Describes the permitted values. */
const typeText = (schema: JsonSchema): string => {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return [...new Set(choices.map(typeText))].join(" or ");
  if (schema.const !== undefined) return valueText(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(valueText).join(" ");
  return plainTypes[schema.type ?? ""]?.(schema) ?? "any value";
};

const defaultText = (schema: JsonSchema, required: boolean): string => {
  const value = schema["default"];
  if (value === undefined) return required ? "required" : "–";
  return valueText(value);
};

/** Returns the sentences about the parts of a key that this release lacks. */
const lackText = (path: string): string => {
  const sentences = unavailableParts
    .filter((each) => each.path.replaceAll(".*", "[]").replace(/\[\]$/, "") === path)
    .map(({ cannot }) => ` This release cannot ${cannot}.`);
  return [...new Set(sentences)].join("");
};

const escapeCell = (text: string): string => text.replaceAll("|", String.raw`\|`).replaceAll("<", "&lt;");

const rowsOf = ({ path, schema }: ReferenceSection): string =>
  [
    ["key", "value", "default", "what it is"],
    ["---", "---", "---", "---"],
    ...Object.entries(schema.properties ?? {}).map(([key, value]) => [
      `\`${key}\``,
      typeText(value),
      defaultText(value, schema.required?.includes(key) === true),
      `${value.description ?? ""}${lackText(path === wholeFile ? key : `${path}.${key}`)}`,
    ]),
  ]
    .map((cells) => `| ${cells.map(escapeCell).join(" | ")} |`)
    .join("\n");

/**
 * Names a map that `effects[]` may hold, like `effects[kind: compact]`: by its kind, otherwise by its required
 * keys.
 */
const choicePath = (path: string, { properties, required }: JsonSchema): string => {
  const kind = properties?.["kind"]?.const;
  const mark = typeof kind === "string" ? `kind: ${kind}` : `with ${required?.join(", ") ?? ""}`;
  return `${path.replace(/\[\]$/, "")}[${mark}]`;
};

/** Returns the maps that a value may be or contain, without those inside them. */
const mapsIn = (path: string, schema: JsonSchema): readonly ReferenceSection[] => {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    const maps = choices.filter(({ properties: keys }) => keys !== undefined);
    return choices.flatMap((choice) =>
      mapsIn(maps.length > 1 && maps.includes(choice) ? choicePath(path, choice) : path, choice),
    );
  }
  if (schema.items !== undefined) return mapsIn(`${path}[]`, schema.items);
  const { properties, additionalProperties: values } = schema;
  if (properties === undefined) return typeof values === "object" ? mapsIn(`${path}.*`, values) : [];
  return [{ path, schema }];
};

const sectionText = (section: ReferenceSection, known: string | undefined): string => {
  const title = `## ${section.path}\n`;
  if (known !== undefined) return `${title}\nThe same keys as [${known}](#${anchorOf(known)}).\n`;
  const { description } = section.schema;
  return `${title}${description === undefined ? "" : `\n${description}\n`}\n${rowsOf(section)}\n`;
};

/** Returns the anchor that GitHub gives to a heading. */
const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");

/** Describes maps of the same keys once; others refer to the first. */
const sectionsOf = (section: ReferenceSection, described: Map<string, string>): readonly string[] => {
  const keys = JSON.stringify(section.schema.properties);
  const known = described.get(keys);
  if (known !== undefined) return [sectionText(section, known)];
  described.set(keys, section.path);
  const inner = Object.entries(section.schema.properties ?? {}).flatMap(([key, value]) =>
    mapsIn(`${section.path}.${key}`, value),
  );
  return [sectionText(section, undefined), ...inner.flatMap((each) => sectionsOf(each, described))];
};

const pageHeading = `# Every key of team.yaml

Made from the schema; \`npm run unit -- test/config/reference.test.ts -u\` writes it anew. A default of – means that the
key may be left out. "This release cannot" marks what a build refuses as \`not_available\` when it is written, other than
as the value that switches it off. A duration is a text like \`90s\` or \`1h30m\`; a size is bytes, or a text like \`64KiB\`.
`;

/** Formats the page as Markdown: a section for each map, a row for each key. */
export const referencePage = (schema: JsonSchema): string => {
  const described = new Map<string, string>();
  const top = Object.entries(schema.properties ?? {}).flatMap(([key, value]) => mapsIn(key, value));
  const first = sectionText({ path: wholeFile, schema }, undefined);
  return [pageHeading, first, ...top.flatMap((section) => sectionsOf(section, described))].join("\n");
};
