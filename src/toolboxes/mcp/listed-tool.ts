import type { Json } from "../../chat/message.ts";
import { fieldsOf, isJsonObject, isShallow } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import { sha256Hex } from "../../sandbox/sha256.ts";
import { firstCharacters } from "../../chat/text.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { canonicalJson } from "../../tools/canonical.ts";
import { cleanNotes, mendSchema } from "../../tools/schema/mend-schema.ts";
import { depthProblem, mendedSchemaProblem } from "../../tools/schema/json-schema-check.ts";
import { findHidden, removeHidden } from "./hidden-text.ts";
import { headerProblem } from "./header-names.ts";
import type { ListedTool, McpEndpoint } from "./port.ts";
import { nameOf } from "./tool-pages.ts";

/** Reads the description of a tool, and explains why a tool cannot be offered. */

/** Fields of a tool that are read. */
interface DescribedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema: Json;
  readonly annotations: JsonObject | null;
}

/** Parameters for reading the tools of a server. */
interface ToolReading {
  readonly redact: McpEndpoint["redact"];
  /** Whether the server has a revision in which schemas name headers for arguments. */
  readonly namesHeaders: boolean;
}

const longestDescription = 1_024;

const longestSchema = 32_768;

/** Deepest nesting of schemas in a tool; references do not count. */
const deepestSchema = 8;

/** Deepest level of JSON that is read of a schema; no schema within the limit needs more. */
const deepestJson = 64;

const cutToBytes = (text: string, most: number): string => {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= most) return text;
  return new TextDecoder().decode(bytes.subarray(0, most)).replace(/\uFFFD$/, "");
};

const cleanDescription = (text: string): string =>
  cutToBytes(removeHidden(text.toWellFormed()), longestDescription);

const annotationNames = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/** Returns the annotations that the protocol knows. */
const readAnnotations = (given: Json | undefined): JsonObject | null => {
  if (!isJsonObject(given)) return null;
  return Object.fromEntries(Object.entries(given).filter(([name]) => annotationNames.includes(name)));
};

const tooDeep = `its schema is nested deeper than ${deepestSchema} levels`;

/** Returns the fields of a tool, or a sentence about why it cannot be used. */
const readFields = (tool: Json): DescribedTool | string => {
  const { description: told, inputSchema, outputSchema, annotations, execution } = fieldsOf(tool);
  const description = told ?? "";
  if (fieldsOf(execution)["taskSupport"] === "required") return "it runs as a task only";
  if (typeof description !== "string") return "its description is not a text";
  if (!isJsonObject(inputSchema)) return "it has no schema of its arguments";
  if ((inputSchema["type"] ?? "object") !== "object") return "its schema is of another type than object";
  const read = {
    name: nameOf(tool),
    description,
    inputSchema,
    outputSchema: outputSchema ?? null,
    annotations: readAnnotations(annotations),
  };
  return isShallow(read, deepestJson + 1) ? read : tooDeep;
};

/** Returns a tool's schema for models and for the check of calls, or a sentence about why it cannot be used. */
const readSchema = (raw: JsonObject, { redact, namesHeaders }: ToolReading): JsonObject | string => {
  const header = namesHeaders ? headerProblem(raw) : null;
  if (header !== null) return header;
  const given = fieldsOf(cleanNotes(redact(raw), cleanDescription));
  if (utf8Length(JSON.stringify(given)) > longestSchema) return "its schema is longer than 32 KiB";
  const mended = mendSchema(given);
  if (typeof mended === "string") return `its schema cannot be used: ${mended}`;
  if (depthProblem(mended, deepestSchema) !== null) return tooDeep;
  const problem = mendedSchemaProblem(mended);
  if (problem !== null) return `its schema cannot be used: ${problem}`;
  // Only here is every referenced schema in a place for schemas.
  const schema = fieldsOf(cleanNotes(mended, cleanDescription));
  const hidden = findHidden(schema);
  if (hidden !== null) return `its schema holds invisible characters, in "${firstCharacters(hidden, 100)}"`;
  return { ...schema, type: "object" };
};

/** Returns a tool within our limits, or the sentence about why it is omitted; nothing in the input is certain. */
export const readListedTool = (tool: Json, reading: ToolReading): ListedTool | string => {
  const { redact } = reading;
  const name = nameOf(tool);
  if (name === "") return "a tool without a name";
  const shownName = firstCharacters(cleanDescription(redact(name)), 100);
  const described = readFields(tool);
  if (typeof described === "string") return `${shownName}: ${described}`;
  const schema = readSchema(described.inputSchema, reading);
  if (typeof schema === "string") return `${shownName}: ${cleanDescription(schema)}`;
  const { description, annotations, outputSchema } = described;
  // Absent properties of a tool are not part of its hash.
  const hashed = {
    ...described,
    annotations: annotations ?? undefined,
    outputSchema: outputSchema ?? undefined,
  };
  return {
    remote: name,
    description: cleanDescription(redact(description)) || `The tool ${shownName}.`,
    schema,
    hints: {
      readOnly: annotations?.["readOnlyHint"] === true,
      idempotent: annotations?.["idempotentHint"] === true,
    },
    hash: sha256Hex(canonicalJson(hashed)),
  };
};
