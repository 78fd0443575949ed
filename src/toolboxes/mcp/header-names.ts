import { isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { schemaPlaces, schemasUnder } from "../../tools/schema/keywords.ts";

/**
 * This file checks the headers that a tool of a 2026 server names for its arguments (SEP-2243): a client may not offer a
 * tool whose names it could not send.
 */

const keyword = "x-mcp-header";

/** The names that RFC 9110 allows for headers. */
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const sentTypes: readonly Json[] = ["string", "integer", "boolean"];

/** Where a schema stands: only a property that has one place in the arguments may name a header. */
type Position = "root" | "property" | "elsewhere";

const nameProblem = (name: Json, type: Json | undefined, known: Set<string>): string | null => {
  if (typeof name !== "string" || !headerName.test(name)) return "is no name of a header";
  if (!sentTypes.includes(type ?? null)) return "stands at a property that is no string, integer or boolean";
  // Names of headers are equal in any case.
  if (known.has(name.toLowerCase())) return "names a header twice";
  known.add(name.toLowerCase());
  return null;
};

const findProblem = (schema: Json, position: Position, known: Set<string>): string | null => {
  if (!isJsonObject(schema)) return null;
  const { [keyword]: name, type } = schema;
  if (name !== undefined && position !== "property") return "stands elsewhere than at a property";
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

/** Says in a sentence why the headers that a tool's schema names cannot be sent; null if they can. */
export const headerProblem = (schema: Json): string | null => {
  const problem = findProblem(schema, "root", new Set());
  return problem === null ? null : `an ${keyword} of its schema ${problem}`;
};
