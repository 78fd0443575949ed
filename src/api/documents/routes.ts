import * as z from "zod";
import { mintTokenBody } from "../../engine/access/browser-tokens.ts";
import { createKeySchema, editKeySchema, listKeysSchema } from "../../engine/access/key-store.ts";
import { listAsksSchema } from "../../engine/access/tenant/asks.ts";
import { listAuditSchema } from "../../engine/access/tenant/audit.ts";
import { listGrantsSchema } from "../../engine/access/tenant/grants.ts";
import { listSessionsSchema } from "../../engine/access/tenant/session-index.ts";
import { approveServerSchema, listServersSchema } from "../../engine/access/tenant/tool-pins.ts";
import { listUsageSchema } from "../../engine/access/tenant/usage.ts";
import { pathParametersOf } from "../../session/define-operation.ts";
import { operations } from "../../session/operations.ts";
import type { OperationName, SessionOperation } from "../../session/operations.ts";
import { sendOperation } from "../../session/operations/send.ts";
import { explainSchema } from "../descriptions.ts";
import { fieldsSchema } from "../files/uploads.ts";
import { deleteQuery, readQuerySchema } from "../files/workspace.ts";
import type { Route } from "../route.ts";
import { listQuery, routes } from "../routes.ts";
import { respondBody } from "../session-routes.ts";
import { streamSchema } from "../streams/sse.ts";
import { askSchema } from "./schemas/asks.ts";
import { pageOf, receiptSchema, sessionAnswers, summarySchema } from "./schemas/session-answers.ts";
import type { Answers } from "./schemas/session-answers.ts";
import {
  agentSchema,
  approvedSchema,
  capabilitiesSchema,
  connectedSchema,
  createdKeySchema,
  decisionRowSchema,
  grantSchema,
  healthSchema,
  keySchema,
  listedAskSchema,
  modelSchema,
  readySchema,
  serverSchema,
  tokenSchema,
  usagePageSchema,
  verdictSchema,
} from "./schemas/team-answers.ts";
import { runSchema } from "./schemas/values.ts";

/** Describes each route: its purpose, its parameters and its answers. */

export interface Body {
  readonly schema: z.ZodType;
  readonly isOptional: boolean;
}

export interface RouteEntry {
  /** Name of the route in documents and generated clients. */
  readonly id: string;
  readonly says: string;
  readonly query: z.ZodObject | null;
  readonly body: Body | null;
  /** Maps media types of the body other than JSON to their descriptions. */
  readonly bodies: Readonly<Record<string, string>>;
  readonly answers: Answers;
  /** Maps media types of the answer besides JSON to their descriptions. */
  readonly media: Readonly<Record<string, string>>;
  /** Maps other statuses, whose answers are not JSON, to their media types. */
  readonly others: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Meaning of the answer's `ETag`; null if it has none. */
  readonly tag: string | null;
  /** Maps the headers that the route accepts, besides those of all routes, to their descriptions. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface DescribedRoute extends RouteEntry {
  readonly route: Route;
}

const plain: Omit<RouteEntry, "id" | "says" | "answers"> = {
  query: null,
  body: null,
  bodies: {},
  media: {},
  others: {},
  tag: null,
  headers: {},
};

const entry = (
  id: string,
  says: string,
  answers: Answers,
  more: Partial<Pick<RouteEntry, "query" | "body" | "bodies" | "media" | "others">> = {},
): RouteEntry => ({ ...plain, id, says, answers, ...more });

const takes = (schema: z.ZodType, isOptional = false): { readonly body: Body } => ({
  body: { schema, isOptional },
});

/** Routes other than operations of a session, by method and path. */
const entries: Readonly<Record<string, RouteEntry>> = {
  "GET /healthz": entry("health", "Reports that the Worker runs.", { 200: healthSchema }),
  "GET /readyz": entry("readiness", "Reports whether every secret that the team needs is set; 503 if not.", {
    200: readySchema,
    503: readySchema,
  }),
  "GET /llms.txt": entry(
    "llms",
    "Returns the README and the references as one text, for coding agents.",
    {},
    {
      media: { "text/plain": "The text." },
    },
  ),
  "GET /v1/openapi.json": entry("openapi", "Describes the HTTP API as OpenAPI 3.1.", {
    200: z.looseObject({ openapi: z.string() }),
  }),
  "GET /v1/asyncapi.json": entry(
    "asyncapi",
    "Describes the event stream and the WebSocket as AsyncAPI 3.0.",
    {
      200: z.looseObject({ asyncapi: z.string() }),
    },
  ),
  "GET /v1/capabilities": entry("capabilities", "Describes this deployment, its limits and surfaces.", {
    200: capabilitiesSchema,
  }),
  "GET /v1/agents": entry(
    "agents",
    "Lists the agents with their tools.",
    { 200: pageOf(agentSchema) },
    {
      query: listQuery,
    },
  ),
  "GET /v1/agents/:agent": entry("agent", "Shows an agent with its tools.", { 200: agentSchema }),
  "GET /v1/models": entry(
    "models",
    "Lists the models that turns may go to, with their health.",
    { 200: pageOf(modelSchema) },
    {
      query: listQuery,
    },
  ),
  "DELETE /v1/models/cooldowns": entry(
    "reset_cooldowns",
    "Ends the cooldowns of all models that failed recently.",
    {
      204: null,
    },
  ),
  "DELETE /v1/models/cooldowns/:provider": entry(
    "reset_cooldown",
    "Ends the cooldowns of a provider's models that failed recently.",
    { 204: null },
  ),
  "GET /v1/sessions": entry(
    "list_sessions",
    "Lists the tenant's sessions, up to 5 s late.",
    { 200: pageOf(summarySchema) },
    { query: listSessionsSchema },
  ),
  "GET /v1/usage": entry(
    "list_usage",
    "Sums up the tenant's usage by day, session, agent, model or metadata.",
    { 200: usagePageSchema },
    { query: listUsageSchema },
  ),
  "GET /v1/asks": entry(
    "list_asks",
    "Lists the open asks of all sessions, the oldest first.",
    { 200: pageOf(listedAskSchema) },
    { query: listAsksSchema },
  ),
  "GET /v1/audit": entry(
    "list_audit",
    "Lists the decisions about calls, with the person or the rule that made them, the newest first; where a filter matches little, a page may be short or empty, and its `next_cursor` leads on.",
    { 200: pageOf(decisionRowSchema) },
    { query: listAuditSchema },
  ),
  "GET /v1/grants": entry(
    "list_grants",
    "Lists the permissions that approvals left behind, the newest first.",
    { 200: pageOf(grantSchema) },
    { query: listGrantsSchema },
  ),
  "DELETE /v1/grants/:grant": entry("revoke_grant", "Revokes such a permission.", { 204: null }),
  "POST /v1/permissions/explain": entry(
    "explain_permission",
    "Explains how the permissions would decide on a call, without running it.",
    { 200: verdictSchema },
    takes(explainSchema),
  ),
  "DELETE /v1/memory/:subject": entry(
    "forget_subject",
    "Deletes what agents remember of a person, and the metadata of the person's deleted sessions in `GET /v1/usage`.",
    {
      204: null,
    },
  ),
  "GET /v1/mcp": entry(
    "list_mcp_servers",
    "Lists the MCP servers as sessions found them.",
    { 200: pageOf(serverSchema) },
    { query: listServersSchema },
  ),
  "POST /v1/mcp/:name/connect": entry(
    "connect_mcp_server",
    "Asks an MCP server for its tools now; also the same request under the same key asks anew.",
    { 200: connectedSchema },
    takes(z.strictObject({}), true),
  ),
  "POST /v1/mcp/:name/approve": entry(
    "approve_mcp_server",
    "Approves the current tools of an MCP server.",
    { 200: approvedSchema },
    takes(approveServerSchema.omit({ name: true }), true),
  ),
  "DELETE /v1/mcp/:name/login": entry(
    "forget_mcp_login",
    "Deletes the login at an MCP server; the next call asks somebody to sign in again.",
    { 204: null },
  ),
  "GET /v1/oauth/callback": entry(
    "oauth_callback",
    "Ends a login at an MCP server: the person's browser returns here, and the waiting calls go on.",
    {},
    {
      media: { "text/html": "A page with the result of the login." },
      others: {
        400: { "text/html": "A page that says why the address cannot be used." },
        502: { "text/html": "A page that says that the login failed." },
        503: { "text/html": "A page that is to be loaded again: the login is not finished." },
      },
    },
  ),
  "GET /client-metadata.json": entry(
    "oauth_client",
    "Describes this deployment to authorization servers, whose client it is.",
    { 200: z.looseObject({ client_id: z.string() }) },
  ),
  "POST /v1/keys": entry(
    "create_key",
    "Creates an API key and shows it once.",
    { 201: createdKeySchema },
    takes(createKeySchema),
  ),
  "GET /v1/keys": entry(
    "list_keys",
    "Lists the keys.",
    { 200: pageOf(keySchema) },
    { query: listKeysSchema },
  ),
  "GET /v1/keys/:key": entry("get_key", "Shows a key.", { 200: keySchema }),
  "PATCH /v1/keys/:key": entry(
    "edit_key",
    "Changes the name, the scopes or the expiry of a key.",
    { 200: keySchema },
    takes(editKeySchema.omit({ key: true }), true),
  ),
  "DELETE /v1/keys/:key": entry(
    "revoke_key",
    "Revokes a key and the tokens that it minted; if they were used just before, they may work for 30 s more.",
    { 204: null },
  ),
  "POST /v1/sessions/:session": entry(
    "send_and_wait",
    "Sends the session a message and waits up to 60 s for the run's end.",
    { 200: runSchema, 202: receiptSchema },
    takes(sendOperation.params),
  ),
  "POST /v1/sessions/:session/respond": entry(
    "respond",
    "Answers a question by its id, with a text.",
    { 200: askSchema },
    takes(respondBody),
  ),
  "GET /v1/sessions/:session/ws": entry(
    "connect",
    "Opens the WebSocket, which asyncapi.json describes; 101 with the subprotocol limpet.v1.",
    {},
  ),
  "POST /v1/sessions/:session/tokens": entry(
    "mint_token",
    "Mints a browser token for the session.",
    { 201: tokenSchema },
    takes(mintTokenBody, true),
  ),
};

const folderMedia = {
  "application/octet-stream": "The bytes of a file.",
  "application/x-tar": "A folder, if the query has `format=tar`.",
};

const fileTag = "The SHA-256 of the file.";

const unchanged = "The ETag that was read: the change is refused if the file has changed since.";

const matchesSession = {
  headers: {
    "If-Match": "The head_seq that was read: the change is refused if anything has happened since.",
  },
};

const matchesInput = {
  headers: { "If-Match": "The version that was read: the change is refused if the input has changed since." },
};

/** Differences between a route and its operation: bytes, streams and texts of HTTP. */
const overHttp: Partial<Record<OperationName, Partial<RouteEntry>>> = {
  events: {
    media: {
      "text/event-stream": "The events as they happen, with `Accept: text/event-stream` or `live=sse`.",
    },
    headers: { "Last-Event-ID": "For a stream: the last event seen; it takes precedence over `after`." },
  },
  patch: matchesSession,
  clear: matchesSession,
  rewind: matchesSession,
  delete: matchesSession,
  edit_input: matchesInput,
  withdraw: matchesInput,
  context: {
    media: {
      "application/json": "The body of the request as its provider received it, with `format=provider`.",
      "text/plain": "The same for people, with `format=text`.",
    },
  },
  workspace: { query: readQuerySchema, media: { "application/x-tar": folderMedia["application/x-tar"] } },
  read_file: {
    query: readQuerySchema,
    media: folderMedia,
    others: { 206: { "application/octet-stream": "The bytes that `Range` names." } },
    tag: fileTag,
    headers: { Range: "The requested bytes, such as bytes=0-99." },
  },
  write_file: {
    body: null,
    bodies: { "application/octet-stream": "The whole file, at most 32 MiB." },
    headers: { "If-Match": unchanged, "If-None-Match": "With *: the write is refused if the file exists." },
  },
  delete_file: { query: deleteQuery, headers: { "If-Match": unchanged } },
  unpack: {
    query: z.strictObject({ format: z.literal("tar").describe("The body is an archive.") }),
    body: null,
    bodies: { "application/x-tar": "The archive, at most 32 MiB unpacked." },
  },
  upload: {
    query: fieldsSchema,
    body: null,
    bodies: {
      "multipart/form-data": "A form with one `file`, and `name` and `path` if they are given.",
      "application/octet-stream": "The bytes; `name` is then in the query.",
    },
  },
  read_upload: {
    media: {
      "application/octet-stream": "The bytes, with `format=bytes`.",
      "*/*": "The bytes of a known type, with `format=bytes`.",
    },
    tag: fileTag,
  },
};

const omitNames = (schema: z.ZodObject, names: readonly string[]): z.ZodObject =>
  z.strictObject(Object.fromEntries(Object.entries(schema.shape).filter(([name]) => !names.includes(name))));

const operationEntry = (operation: SessionOperation): RouteEntry => {
  const { name, summary, kind, method } = operation;
  // The source of a fork is the session in its path.
  const own = omitNames(operation.params, [...pathParametersOf(operation), "source"]);
  const fields = name === "events" ? own.extend(streamSchema.shape) : own;
  const isEmpty = Object.keys(fields.shape).length === 0;
  const hasBody = kind === "write" && method !== "DELETE" && !isEmpty;
  return {
    ...entry(name, summary, sessionAnswers[name]),
    tag: operation.isTagged === true ? "The session's head_seq, for the `If-Match` of a PATCH." : null,
    query: kind === "read" && !isEmpty ? fields : null,
    body: hasBody ? { schema: fields, isOptional: fields.safeParse({}).success } : null,
    ...overHttp[name],
  };
};

const entryOf = (route: Route): RouteEntry | undefined => {
  const operation = operations.find(({ method, path }) => method === route.method && path === route.path);
  return operation === undefined ? entries[`${route.method} ${route.path}`] : operationEntry(operation);
};

/** Returns whether a route is a page of the console, which is for people and not for programs. */
const isPage = ({ path }: Route): boolean => path === "/" || path.startsWith("/console");

/** Every route of the API; throws if one has no description. */
export const describedRoutes: readonly DescribedRoute[] = routes
  .filter((route) => !isPage(route))
  .map((route) => {
    const found = entryOf(route);
    if (found === undefined) throw new Error(`${route.method} ${route.path} has no entry in routes.ts`);
    return { route, ...found };
  });
