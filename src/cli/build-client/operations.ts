import * as z from "zod";
import { explainSchema } from "../../api/descriptions.ts";
import { mintTokenBody } from "../../engine/access/browser-tokens.ts";
import {
  createKeySchema,
  editKeySchema,
  keyReferenceSchema,
  listKeysSchema,
} from "../../engine/access/key-store.ts";
import { listAsksSchema } from "../../engine/access/tenant/asks.ts";
import { listAuditSchema } from "../../engine/access/tenant/audit.ts";
import { grantReferenceSchema, listGrantsSchema } from "../../engine/access/tenant/grants.ts";
import { subjectSchema } from "../../engine/access/tenant/memories.ts";
import { listSessionsSchema } from "../../engine/access/tenant/session-index.ts";
import {
  approveServerSchema,
  listServersSchema,
  serverReferenceSchema,
} from "../../engine/access/tenant/tool-pins.ts";
import { listUsageSchema } from "../../engine/access/tenant/usage.ts";
import { pageQueryFields } from "../../session/paging.ts";
import { operations } from "../../session/operations.ts";
import { contentSchema } from "../../session/operations/uploads.ts";
import { collectSchemas } from "../../api/documents/json-schema.ts";
import type { SchemaCollection, SchemaObject } from "../../api/documents/json-schema.ts";
import { readQuerySchema } from "../../api/files/workspace.ts";
import { describedRoutes } from "../../api/documents/routes.ts";
import { eventSchemas } from "../../api/documents/schemas/events.ts";
import { acceptedType, answeredType } from "./schema-type.ts";

/** Writes the operations for the client: their routes, and the types of their parameters and answers. */

interface ClientOperation {
  readonly name: string;
  readonly summary: string;
  /** Method and path. */
  readonly route: string;
  readonly params: z.ZodObject;
}

/** Operations that send or receive bytes, so that they are separate requests. */
const rawOperations: ReadonlySet<string> = new Set([
  "read_file",
  "write_file",
  "unpack",
  "upload",
  "read_upload",
]);

/** Fields that the router fills in. */
const ownFields: ReadonlySet<string> = new Set(["key", "sha256", "source"]);

const withoutOwnFields = (params: z.ZodObject): z.ZodObject =>
  z.strictObject(Object.fromEntries(Object.entries(params.shape).filter(([name]) => !ownFields.has(name))));

/** Returns a path without the patterns of its parameters. */
const plainPath = (path: string): string => path.replace(/\{.*?\}/g, "");

const { limit, cursor } = readQuerySchema.shape;
const pageFields = { limit, cursor };

const sessionOperations: readonly ClientOperation[] = operations
  .filter(({ name }) => !rawOperations.has(name))
  .map(({ name, summary, method, path, params }) => ({
    name,
    summary,
    route: `${method} ${plainPath(path)}`,
    // The router adds the pages of a folder.
    params: withoutOwnFields(name === "workspace" ? params.extend(pageFields) : params),
  }));

const nothing = z.strictObject({});
const page = z.strictObject(pageQueryFields);

const teamOperations: readonly ClientOperation[] = (
  [
    ["capabilities", "GET /v1/capabilities", nothing, "Shows limits, kinds and surfaces of the deployment."],
    ["agents", "GET /v1/agents", page, "Lists the agents of the team."],
    ["agent", "GET /v1/agents/:agent", nothing, "Shows an agent."],
    ["models", "GET /v1/models", page, "Lists the models, and which of them are available."],
    ["reset_cooldowns", "DELETE /v1/models/cooldowns", nothing, "Ends the cooldowns of all providers."],
    ["reset_cooldown", "DELETE /v1/models/cooldowns/:provider", nothing, "Ends the cooldowns of a provider."],
    ["list_sessions", "GET /v1/sessions", listSessionsSchema, "Lists the sessions of the tenant."],
    [
      "mint_token",
      "POST /v1/sessions/:session/tokens",
      mintTokenBody,
      "Creates a token with which a browser opens only this session.",
    ],
    ["list_usage", "GET /v1/usage", listUsageSchema, "Sums up the tenant's usage."],
    ["list_asks", "GET /v1/asks", listAsksSchema, "Lists the open asks of the tenant."],
    ["list_audit", "GET /v1/audit", listAuditSchema, "Lists the decisions about calls, and who made them."],
    ["list_grants", "GET /v1/grants", listGrantsSchema, "Lists the remembered approvals."],
    ["revoke_grant", "DELETE /v1/grants/:grant", grantReferenceSchema, "Revokes a remembered approval."],
    [
      "explain_permission",
      "POST /v1/permissions/explain",
      explainSchema,
      "Explains how a call would be decided.",
    ],
    ["forget_subject", "DELETE /v1/memory/:subject", subjectSchema, "Deletes the memories about a person."],
    ["list_mcp_servers", "GET /v1/mcp", listServersSchema, "Lists the states of the MCP servers."],
    ["connect_mcp_server", "POST /v1/mcp/:name/connect", nothing, "Begins the login at an MCP server."],
    [
      "approve_mcp_server",
      "POST /v1/mcp/:name/approve",
      approveServerSchema,
      "Approves the tools of an MCP server.",
    ],
    [
      "forget_mcp_login",
      "DELETE /v1/mcp/:name/login",
      serverReferenceSchema,
      "Deletes the login at an MCP server.",
    ],
    ["create_key", "POST /v1/keys", createKeySchema, "Creates an API key, which is shown once."],
    ["list_keys", "GET /v1/keys", listKeysSchema, "Lists the API keys."],
    ["get_key", "GET /v1/keys/:key", keyReferenceSchema, "Shows an API key without its secret."],
    ["edit_key", "PATCH /v1/keys/:key", editKeySchema, "Changes name, scopes or expiry of an API key."],
    ["revoke_key", "DELETE /v1/keys/:key", keyReferenceSchema, "Revokes an API key."],
  ] as const
).map(([name, route, params, summary]) => ({ name, route, params, summary }));

/** Adds the parameters of the path that the operation itself does not have. */
const paramsOf = ({ route, params }: ClientOperation): z.ZodObject => {
  const inPath = [...route.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  return z.strictObject({ ...Object.fromEntries(inPath.map((name) => [name, z.string()])), ...params.shape });
};

const clientOperations: readonly ClientOperation[] = [...sessionOperations, ...teamOperations];

/** Formats the type of an operation's answer, whatever its status; null is an answer without a body. */
const answerOf = ({ route }: ClientOperation, schemas: SchemaCollection): string => {
  const described = describedRoutes.find(
    ({ route: { method, path } }) => `${method} ${plainPath(path)}` === route,
  );
  if (described === undefined) throw new Error(`${route} has no description`);
  const types = Object.values(described.answers).map((schema) =>
    schema === null ? "null" : answeredType(schemas.place(schema, "output")),
  );
  return [...new Set(types)].join(" | ");
};

/** Fields in which event schemas differ. */
const ownEventFields: readonly string[] = ["type", "data"];

/** Returns the part of an event's schema with the fields of its own, or with those common to all events. */
const partOfEvent = ({ properties, required, ...schema }: SchemaObject, isOwn: boolean): SchemaObject => {
  const isWanted = (name: unknown): boolean => ownEventFields.includes(String(name)) === isOwn;
  const fields = Object.entries(properties ?? {}).filter(([name]) => isWanted(name));
  const needed = Array.isArray(required) ? required.filter(isWanted) : [];
  return { ...schema, properties: Object.fromEntries(fields), required: needed };
};

/** Formats the type of a named schema; events have their common fields from one place. */
const printNoun = ([name, { description, ...schema }]: readonly [string, SchemaObject]): string => {
  const isEvent = eventNames.has(name);
  const type = isEvent ? `EventEnvelope & ${answeredType(partOfEvent(schema, true))}` : answeredType(schema);
  return `/** ${String(description)} */\nreadonly ${name}: ${type};`;
};

const eventNames: ReadonlySet<string> = new Set(
  [...eventSchemas.values()].map((schema) => String(schema.meta()?.id)),
);

/** Formats the types of all answers: of each operation, and of each named schema. */
const printAnswers = (): readonly string[] => {
  const schemas = collectSchemas();
  const answers = clientOperations.map(
    (operation) => `readonly ${operation.name}: ${answerOf(operation, schemas)};`,
  );
  const nouns = Object.entries(schemas.all());
  const [, anyEvent = {}] = nouns.find(([name]) => eventNames.has(name)) ?? [];
  return [
    'import type { Json } from "../../chat/message.ts";',
    "",
    notice,
    "",
    "/** Fields of all events. */",
    `interface EventEnvelope ${answeredType(partOfEvent(anyEvent, false))}`,
    "",
    "/** Parts of answers, by their names in `GET /v1/openapi.json`. */",
    "export interface AnswerSchemas {",
    ...nouns.map(printNoun),
    "}",
    "",
    "/** The answer of each operation; null has no body. */",
    "export interface OperationAnswers {",
    ...answers,
    "}",
    "",
  ];
};

const notice = "/** This file is written by `npm run build` from the operation table; do not edit it. */";

const content = acceptedType(contentSchema);

/** Indents the lines of nested types. */
const indentLines = (text: string): string => {
  let depth = 0;
  return text
    .split("\n")
    .map((line) => {
      const closes = line.split("}").length - 1;
      const opens = line.split("{").length - 1;
      const at = line.startsWith("}") ? depth - 1 : depth;
      depth += opens - closes;
      return `${"  ".repeat(Math.max(0, at))}${line}`;
    })
    .join("\n");
};

/** Returns the files of the client that follow from the operations. */
export const printOperations = (): Readonly<Record<"routes.ts" | "params.ts" | "answers.ts", string>> => {
  const routes = clientOperations.map(({ name, route }) => `${name}: ${JSON.stringify(route)},`);
  const params = clientOperations.map(
    (operation) =>
      `/** ${operation.summary} */\nreadonly ${operation.name}: ${acceptedType(paramsOf(operation))};`,
  );
  const routesFile = [
    notice,
    "",
    "/** Every route that answers with JSON. */",
    "export const routes = {",
    ...routes,
    "} as const;",
    "",
  ];
  const paramsFile = [
    'import type { Json } from "../../chat/message.ts";',
    "",
    notice,
    "",
    "/** Input of a person: a text, or parts. */",
    `export type InputContent = ${content};`,
    "",
    "/** The parameters of each operation: those of its path, query and body together. */",
    "export interface OperationParams {",
    params.join("\n").replaceAll(content, "InputContent"),
    "}",
    "",
  ];
  return {
    "routes.ts": indentLines(routesFile.join("\n")),
    "params.ts": indentLines(paramsFile.join("\n")),
    "answers.ts": indentLines(printAnswers().join("\n")),
  };
};
