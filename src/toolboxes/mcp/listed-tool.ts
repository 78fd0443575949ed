import type { Json } from "../../chat/message.ts";
import { fieldsOf, isJsonObject, isShallow } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import { sha256Hex } from "../../sandbox/sha256.ts";
import { firstCharacters } from "../../chat/text.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { canonicalJson } from "../../tools/canonical.ts";
import { depthProblem, mendedSchemaProblem } from "../../tools/schema/json-schema-check.ts";
import { mendSchema } from "../../tools/schema/mend-schema.ts";
import type { ListedTool, McpEndpoint } from "./port.ts";

/** This file reads what a server says of a tool, and says why a tool cannot be offered. */

/** The fields of a tool that are read; the client has checked their types. */
interface DescribedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
  readonly annotations?: object | undefined;
  readonly execution?: { readonly taskSupport?: string | undefined } | undefined;
}

const longestDescription = 1_024;

const longestSchema = 32_768;

/** Schemas of a tool nest in each other at most so deep; a reference counts nothing. */
const deepestSchema = 8;

/** Beyond so many levels of JSON, which no schema within the limit needs, a schema is not read. */
const deepestJson = 64;

/** Characters that nobody sees and a model reads: controls, marks of writing direction, tags. */
const hiddenCharacters =
  /(?![\n\t])[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu;

const cutToBytes = (text: string, most: number): string => {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= most) return text;
  return new TextDecoder().decode(bytes.subarray(0, most)).replace(/\uFFFD$/, "");
};

const cleanDescription = (text: string): string =>
  cutToBytes(text.toWellFormed().replace(hiddenCharacters, ""), longestDescription);

/** Cleans the descriptions inside a schema; everything else stays as it is. */
const cleanSchema = (schema: Json): Json => {
  if (Array.isArray(schema)) return schema.map(cleanSchema);
  if (!isJsonObject(schema)) return schema;
  const cleaned = Object.entries(schema).map(([key, value]): [string, Json] => [
    key,
    (key === "description" || key === "title") && typeof value === "string"
      ? cleanDescription(value)
      : cleanSchema(value),
  ]);
  return Object.fromEntries(cleaned);
};

const hint = (annotations: object | undefined, name: string): boolean =>
  (annotations as Readonly<Record<string, unknown>> | undefined)?.[name] === true;

const tooDeep = `its schema is nested deeper than ${deepestSchema} levels`;

/** Returns a tool's schema as models get it and calls are checked by it, or says why it cannot be used. */
const readSchema = (raw: Json, redact: McpEndpoint["redact"]): JsonObject | string => {
  if (!isShallow(raw, deepestJson)) return tooDeep;
  const given = fieldsOf(cleanSchema(redact(raw)));
  if (utf8Length(JSON.stringify(given)) > longestSchema) return "its schema is longer than 32 KiB";
  const schema = mendSchema(given);
  if (typeof schema === "string") return `its schema cannot be used: ${schema}`;
  if (depthProblem(schema, deepestSchema) !== null) return tooDeep;
  const problem = mendedSchemaProblem(schema);
  return problem === null ? { ...schema, type: "object" } : `its schema cannot be used: ${problem}`;
};

/** Returns a tool within our limits, or the sentence about why it is left out. */
export const readListedTool = (tool: DescribedTool, redact: McpEndpoint["redact"]): ListedTool | string => {
  const { name, description = "", inputSchema, outputSchema, annotations } = tool;
  const shownName = firstCharacters(cleanDescription(redact(name)), 100);
  if (tool.execution?.taskSupport === "required") return `${shownName}: it runs as a task only`;
  const schema = readSchema(inputSchema as Json, redact);
  if (typeof schema === "string") return `${shownName}: ${cleanDescription(schema)}`;
  const described = { name, description, inputSchema, outputSchema, annotations };
  return {
    remote: name,
    description: cleanDescription(redact(description)) || `The tool ${shownName}.`,
    schema,
    hints: { readOnly: hint(annotations, "readOnlyHint"), idempotent: hint(annotations, "idempotentHint") },
    hash: sha256Hex(canonicalJson(described)),
  };
};
