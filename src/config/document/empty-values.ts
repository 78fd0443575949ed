import type { JsonSchema } from "../json-schema.ts";
import { isDurationSchema, isSizeSchema, schemasBelow } from "../json-schema.ts";
import type { Path } from "./diagnostics.ts";
import type { Located, MapEntry } from "./document.ts";

/** Drops keys without a value, which count as absent; Go writes unset values as `null` or `""`. */

/** Lists that allow everything if they are absent, so that a missing value could be meant as the opposite. */
const allowLists: ReadonlySet<string> = new Set(["writable_paths", "may_call", "tools"]);

/** Keys of addresses and paths, which a schema does not distinguish from other texts. */
const placeKeys: ReadonlySet<string> = new Set([
  "base_url",
  "url",
  "endpoint",
  "search_url",
  "permissions_file",
  "work_dir",
  "working_dir",
]);

const takesAnyValue = ({ type, enum: words, const: word }: JsonSchema): boolean =>
  type === "null" || (type === undefined && words === undefined && word === undefined);

/** Returns whether a schema takes durations, sizes or certain words, and so no empty text. */
const isChoice = (schema: JsonSchema): boolean => {
  const words = schema.enum ?? (typeof schema.const === "string" ? [schema.const] : null);
  return words === null ? isDurationSchema(schema) || isSizeSchema(schema) : !words.includes("");
};

const isEmptyText = (key: string, schemas: readonly JsonSchema[]): boolean => {
  const texts = schemas.filter(({ type, const: word }) => type === "string" || typeof word === "string");
  return placeKeys.has(key) || (texts.length > 0 && texts.every(isChoice));
};

const isEmpty = (key: string, node: Located, schemas: readonly JsonSchema[]): boolean => {
  if (node.kind !== "scalar" || schemas.length === 0) return false;
  if (node.value === "") return isEmptyText(key, schemas);
  return node.value === null && !allowLists.has(key) && !schemas.some(takesAnyValue);
};

/** Drops optional keys that have no value and reports the path of each. */
export const dropEmpty = (
  node: Located,
  schemas: readonly JsonSchema[],
  report: (path: Path) => void,
  path: Path = [],
): Located => {
  if (node.kind === "scalar") return node;
  if (node.kind === "list") {
    const items = node.items.map((item, index) =>
      dropEmpty(item, schemasBelow(schemas, index, item), report, [...path, index]),
    );
    return { ...node, items };
  }
  const required = new Set(schemas.flatMap((schema) => schema.required ?? []));
  const entries = new Map<string, MapEntry>();
  for (const [key, entry] of node.entries) {
    const below = schemasBelow(schemas, key, entry.node);
    if (!required.has(key) && isEmpty(key, entry.node, below)) report([...path, key]);
    else entries.set(key, { ...entry, node: dropEmpty(entry.node, below, report, [...path, key]) });
  }
  return { ...node, entries };
};
