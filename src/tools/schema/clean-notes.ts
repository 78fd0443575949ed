import { isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { mapSchemasUnder, schemaPlaces } from "./keywords.ts";

/** Cleans the notes of a JSON Schema: keywords that inform a reader and refuse no value. */

const textNotes: ReadonlySet<string> = new Set(["title", "description"]);

/** Notes that can be dropped without changing a schema's meaning. */
const droppedNotes: ReadonlySet<string> = new Set(["$comment", "examples"]);

/** Returns a schema with its titles and descriptions cleaned, without comments and examples; values stay unchanged. */
export const cleanNotes = (schema: Json, clean: (text: string) => string): Json => {
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => !droppedNotes.has(keyword));
  const cleaned = kept.map(([keyword, value]): readonly [string, Json] => {
    if (textNotes.has(keyword) && typeof value === "string") return [keyword, clean(value)];
    const place = schemaPlaces.get(keyword);
    if (place === undefined) return [keyword, value];
    return [keyword, mapSchemasUnder(place, value, (inner) => cleanNotes(inner, clean))];
  });
  return Object.fromEntries(cleaned);
};
