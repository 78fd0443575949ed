import { isJsonObject, parseJson } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { ToolSpec } from "../../model/completer.ts";
import { resolveReference } from "../../tools/schema/keywords.ts";
import { foldRoot } from "../json-schema.ts";
import { hash8 } from "../tool-names.ts";

/**
 * Matches the argument names that the Messages API allows: it refuses a whole request for one other name in one
 * tool, like `filter[id]` or `$top`. Declarations rename such an argument, and replies are read under the tool's
 * own name; a reply may use either.
 */
const allowed = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Returns an argument's name as it is sent: other characters become `_`; a changed or long name ends in `_` and its
 * hash.
 */
export const wireArgumentName = (name: string): string =>
  allowed.test(name) ? name : `${name.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 55)}_${hash8(name)}`;

const propertiesOf = (schema: Json): JsonObject =>
  isJsonObject(schema) && isJsonObject(schema["properties"]) ? schema["properties"] : {};

const renameKeys = (fields: JsonObject, change: (value: Json) => Json = (value) => value): JsonObject =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [wireArgumentName(name), change(value)]));

const renameListed = (names: Json): Json =>
  Array.isArray(names)
    ? names.map((name: Json) => (typeof name === "string" ? wireArgumentName(name) : name))
    : names;

/** Renamers for the keywords of an object's schema that name properties. */
const renames: Readonly<Record<string, (value: Json) => Json>> = {
  properties: (value) => (isJsonObject(value) ? renameKeys(value) : value),
  required: renameListed,
  dependentRequired: (value) => (isJsonObject(value) ? renameKeys(value, renameListed) : value),
  dependentSchemas: (value) => (isJsonObject(value) ? renameKeys(value, renameProperties) : value),
};

function renameProperties(schema: Json): Json {
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, renames[keyword]?.(value) ?? value]),
  );
}

/** Rewrites the references to properties of the root. */
const renameReferences = (schema: Json, root: Json): Json =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) => {
    if (key !== "$ref" || typeof value !== "string" || !value.startsWith("#/properties/")) return value;
    const [step = "", ...rest] = value.slice("#/properties/".length).split("/");
    const target = resolveReference(root, `#/properties/${step}`);
    const name = Object.entries(propertiesOf(root)).find(([, property]) => property === target)?.[0];
    return name === undefined ? value : ["#/properties", wireArgumentName(name), ...rest].join("/");
  }) as Json;

/** Returns the schema of a tool's arguments as it is sent. */
export const wireSchema = (schema: Json): Json => {
  const folded = foldRoot(schema);
  const isPlain = Object.keys(propertiesOf(folded)).every((name) => allowed.test(name));
  return isPlain ? folded : renameReferences(renameProperties(folded), folded);
};

type ArgumentNames = ReadonlyMap<string, string>;

const namesCache = new WeakMap<readonly ToolSpec[], ReadonlyMap<string, ArgumentNames>>();

const namesOf = ({ schema }: ToolSpec): ArgumentNames =>
  new Map(
    Object.keys(propertiesOf(foldRoot(schema)))
      .filter((name) => !allowed.test(name))
      .map((name) => [wireArgumentName(name), name]),
  );

/**
 * Maps sent names back to the names of arguments, by tool and once per list; tools that need no mapping are
 * omitted.
 */
export const argumentNamesByWire = (tools: readonly ToolSpec[]): ReadonlyMap<string, ArgumentNames> => {
  const known = namesCache.get(tools);
  if (known !== undefined) return known;
  const all = tools.map((tool) => [tool.name, namesOf(tool)] as const);
  const names = new Map(all.filter(([, own]) => own.size > 0));
  namesCache.set(tools, names);
  return names;
};

/** Reads the arguments of a call by their own names; a text that is not an object stays unchanged. */
export const readArguments = (text: string, names: ArgumentNames): string => {
  const value = parseJson(text);
  if (!isJsonObject(value)) return text;
  return JSON.stringify(
    Object.fromEntries(Object.entries(value).map(([name, each]) => [names.get(name) ?? name, each])),
  );
};
