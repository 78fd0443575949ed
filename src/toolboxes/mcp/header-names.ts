import { isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { schemaPlaces, schemasUnder } from "../../tools/schema/keywords.ts";

/**
 * Checks the headers that a tool of a 2026 server names for its arguments (SEP-2243): a client may not offer a tool
 * whose headers it could not send.
 */

const keyword = "x-mcp-header";

/** Matches the names that RFC 9110 allows for headers. */
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const sentTypes: readonly Json[] = ["string", "integer", "boolean"];

/** Position of a schema: only a property with one place in the arguments may name a header. */
type Position = "root" | "property" | "elsewhere";

const nameProblem = (name: Json, type: Json | undefined, known: Set<string>): string | null => {
  if (typeof name !== "string" || !headerName.test(name)) return "is not a header name";
  if (!sentTypes.includes(type ?? null)) return "is at a property that is not a string, integer or boolean";
  // Header names are case-insensitive.
  if (known.has(name.toLowerCase())) return "names a header twice";
  known.add(name.toLowerCase());
  return null;
};

const findProblem = (schema: Json, position: Position, known: Set<string>): string | null => {
  if (!isJsonObject(schema)) return null;
  const { [keyword]: name, type } = schema;
  if (name !== undefined && position !== "property") return "is not at a property";
  const own = name === undefined ? null : nameProblem(name, type, known);
  if (own !== null) return own;
  for (const [key, value] of Object.entries(schema)) {
    const inner = key === "properties" && position !== "elsewhere" ? "property" : "elsewhere";
    const place = schemaPlaces.get(key);
    for (const [, each] of place === undefined ? [] : schemasUnder(place, value)) {
      const problem = findProblem(each, inner, known);
      if (problem !== null) return problem;
    }
  }
  return null;
};

/** Explains in a sentence why the headers that a tool's schema names cannot be sent; returns null if they can. */
export const headerProblem = (schema: Json): string | null => {
  const problem = findProblem(schema, "root", new Set());
  return problem === null ? null : `an ${keyword} of its schema ${problem}`;
};
