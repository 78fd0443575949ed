import type { Json } from "../../chat/message.ts";
import { fieldsOf, isJsonObject, isShallow } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import { sha256Hex } from "../../sandbox/sha256.ts";
import { firstCharacters } from "../../chat/text.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { canonicalJson } from "../../tools/canonical.ts";
import { cleanNotes } from "../../tools/schema/clean-notes.ts";
import { depthProblem, mendedSchemaProblem } from "../../tools/schema/json-schema-check.ts";
import { mendSchema } from "../../tools/schema/mend-schema.ts";
import { findHidden, removeHidden } from "./hidden-text.ts";
import { headerProblem } from "./header-names.ts";
import type { ListedTool, McpEndpoint } from "./port.ts";
import { nameOf } from "./tool-pages.ts";

/** This file reads what a server says of a tool, and says why a tool cannot be offered. */

/** The fields of a tool that are read. */
interface DescribedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema: Json;
  readonly annotations: JsonObject | null;
}

/** How the tools of a server are read. */
interface ToolReading {
  readonly redact: McpEndpoint["redact"];
  /** The server is of a revision in which schemas name headers for arguments. */
  readonly namesHeaders: boolean;
}

const longestDescription = 1_024;

const longestSchema = 32_768;

/** Schemas of a tool nest in each other at most so deep; a reference counts nothing. */
const deepestSchema = 8;

/** Beyond so many levels of JSON, which no schema within the limit needs, a schema is not read. */
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

/** Returns the fields of a tool, or says what of them cannot be used. */
const readFields = (tool: Json): DescribedTool | string => {
  const { description: told, inputSchema, outputSchema, annotations, execution } = fieldsOf(tool);
  const description = told ?? "";
  if (fieldsOf(execution)["taskSupport"] === "required") return "it runs as a task only";
  if (typeof description !== "string") return "its description is no text";
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

/** Returns a tool's schema as models get it and calls are checked by it, or says why it cannot be used. */
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
  // Only here does every schema that references mean stand at a place for schemas.
  const schema = fieldsOf(cleanNotes(mended, cleanDescription));
  const hidden = findHidden(schema);
  if (hidden !== null)
    return `its schema holds characters that nobody sees, in "${firstCharacters(hidden, 100)}"`;
  return { ...schema, type: "object" };
};

/** Returns a tool within our limits, or the sentence about why it is left out; nothing of what is given is certain. */
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
  // What a tool does not have does not count in its hash.
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
