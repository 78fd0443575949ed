import * as z from "zod";
import type { Located } from "./document/document.ts";
import { nodeAt, scalarTextOf } from "./document/located.ts";
import type { Path } from "./document/diagnostics.ts";
import { plainTeamSchemas } from "./schema.ts";
import type { TeamSchemas } from "./schema.ts";

/** Creates the JSON Schema of `team.yaml` for editors from the zod schema alone. */

export interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly "x-names"?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly [key: string]: unknown;
}

/** Known names by subject (`agents`, `tools`, …); each subject present becomes an enum. */
export type KnownNames = Readonly<Record<string, readonly string[]>>;

/** Returns whether a keyword is a bound or restriction that does not help an editor. */
const isNoise = (key: string, value: unknown): boolean =>
  (key === "maximum" && value === Number.MAX_SAFE_INTEGER) ||
  (key === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
  key === "propertyNames";

/** Replaces every `x-names` marker by an enum of the names; drops markers without names. */
const withNames = (value: unknown, names: KnownNames): unknown => {
  if (Array.isArray(value)) return value.map((item) => withNames(item, names));
  if (typeof value !== "object" || value === null) return value;
  const { "x-names": subject, ...rest } = value as Record<string, unknown>;
  const copy = Object.fromEntries(
    Object.entries(rest)
      .filter(([key, item]) => !isNoise(key, item))
      .map(([key, item]) => [key, withNames(item, names)]),
  );
  const known = typeof subject === "string" ? names[subject] : undefined;
  return known === undefined || known.length === 0 ? copy : { ...copy, enum: known };
};

const schemaCache = new WeakMap<z.ZodType, JsonSchema>();

/** Returns the JSON Schema of a whole document as written, without any team's names. */
export const baseSchemaOf = (whole: z.ZodType): JsonSchema => {
  const known = schemaCache.get(whole) ?? (z.toJSONSchema(whole, { io: "input" }) as JsonSchema);
  schemaCache.set(whole, known);
  return known;
};

/** Returns the schema of a team file; a team's own schema includes its effects and offers its names as enums. */
export const teamJsonSchema = (
  names: KnownNames = {},
  schemas: TeamSchemas = plainTeamSchemas,
): JsonSchema => {
  const schema = withNames(baseSchemaOf(schemas.team), names) as JsonSchema;
  return {
    ...schema,
    title: "Limpet team",
    description: "A team of agents: providers, agents and how they run.",
    patternProperties: { "^x-": {} },
  };
};

const branchesOf = (schema: JsonSchema): readonly JsonSchema[] => {
  const inner = schema.anyOf ?? schema.oneOf;
  return inner === undefined ? [schema] : inner.flatMap(branchesOf);
};

const matchesKind = (schema: JsonSchema, node: Located | undefined): boolean => {
  const kind = schema.properties?.["kind"]?.const;
  return kind === undefined || scalarTextOf(nodeAt(node, ["kind"])) === kind;
};

/** Returns the possible schemas of a value; a `kind` that it names leaves one. */
const schemasFor = (schema: JsonSchema, node: Located | undefined): readonly JsonSchema[] =>
  branchesOf(schema).filter((branch) => matchesKind(branch, node));

/** Returns the possible schemas of the value below a key or index of these. */
export const schemasBelow = (
  schemas: readonly JsonSchema[],
  part: string | number,
  node: Located | undefined,
): readonly JsonSchema[] =>
  schemas.flatMap(({ items, properties, additionalProperties }) => {
    if (typeof part === "number") return items === undefined ? [] : schemasFor(items, node);
    const property = properties?.[part];
    if (property !== undefined) return schemasFor(property, node);
    return typeof additionalProperties === "object" ? schemasFor(additionalProperties, node) : [];
  });

/** Returns whether a schema describes durations like `10m`. */
export const isDurationSchema = ({ pattern }: JsonSchema): boolean =>
  typeof pattern === "string" && pattern.includes("(ms|s|m|h|d)");

/** Returns whether a schema describes sizes like `32MiB`. */
export const isSizeSchema = ({ pattern }: JsonSchema): boolean =>
  typeof pattern === "string" && pattern.includes("(KiB|MiB|GiB)");

/** Returns the possible keys of the map at `path` of a document with the schema `whole`. */
export const keysAt = (root: Located, path: Path, whole: z.ZodType = plainTeamSchemas.team): string[] => {
  let found = branchesOf(baseSchemaOf(whole));
  path.forEach((part, index) => {
    found = schemasBelow(found, part, nodeAt(root, path.slice(0, index + 1)));
  });
  return [...new Set(found.flatMap((schema) => Object.keys(schema.properties ?? {})))];
};
