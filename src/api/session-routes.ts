import * as z from "zod";
import { parseParams } from "../session/command.ts";
import { deriveSessionId, createSessionId } from "../engine/access/names.ts";
import { toResponse } from "./answers.ts";
import type { RequestFields } from "./body.ts";
import { callSession, callTeam, readIdempotencyKey, mergeFields } from "./calls.ts";
import type { AuthorizedContext, SessionRequestContext } from "./context.ts";
import { limits } from "./limits.ts";
import { readQuery } from "./query.ts";
import { readCommandBody, operationRoute, answerOperation } from "./route.ts";
import type { Route } from "./route.ts";
import { streamEvents, wantsStream } from "./streams/sse.ts";
import { upgradeAuthenticated, upgradeUnauthenticated } from "./streams/socket.ts";
import { sendAndWait } from "./streams/wait.ts";

/** This file defines the routes of sessions. */

const sessionPath = "/v1/sessions/:session";
const messageOptions = { body: { limit: limits.message_body_bytes } } as const;
const bodylessOptions = { body: { isOptional: true } } as const;
const askOptions = { scope: ["asks:answer", "approvals:decide"] } as const;
const pageParameters = { limit: "integer" } as const;

/** Returns the id of a session to create: from its `ref`, from the idempotency key, or random. */
async function newSessionId({ request, principal }: AuthorizedContext, body: RequestFields): Promise<string> {
  const { ref } = body;
  if (typeof ref === "string" && ref.length > 0 && ref.length <= 128) {
    return deriveSessionId("ref", principal.tenant, ref);
  }
  const key = readIdempotencyKey(request, {});
  return key === undefined ? createSessionId() : deriveSessionId("idem", principal.tenant, key);
}

async function createSession(context: AuthorizedContext): Promise<Response> {
  const body = await readCommandBody(context, { ...messageOptions.body, ...bodylessOptions.body });
  const session = await newSessionId(context, body);
  context.notes.session = session;
  const response = await answerOperation({ ...context, session }, "create", body);
  response.headers.set("Location", `/v1/sessions/${session}`);
  return response;
}

const respondBody = z.strictObject({ question_id: z.string().min(1), response: z.string() });

/** Answers an ask that `question_id` names, with a text. */
async function respondToQuestion(context: SessionRequestContext): Promise<Response> {
  const body = await readCommandBody(context);
  const { question_id: ask, response: text } = parseParams(respondBody, body);
  const key = readIdempotencyKey(context.request, {});
  return toResponse(
    await callSession(context, { op: "answer", params: { ask, decision: "answer", text }, key }),
  );
}

/** Answers with the context view as JSON or, for people, as text. */
async function answerContext(context: SessionRequestContext): Promise<Response> {
  const query = readQuery(context.url.searchParams, {});
  const response = await answerOperation(context, "context", query);
  if (query["format"] !== "text") return response;
  const { text } = z.object({ text: z.string() }).parse(await response.json());
  return new Response(text, { headers: { "Content-Type": "text/plain; charset=utf-8" } });
}

const eventsQuery = {
  after: "integer",
  before: "integer",
  limit: "integer",
  types: "list",
} as const;

async function listEvents(context: SessionRequestContext): Promise<Response> {
  const { request, url } = context;
  const query = readQuery(url.searchParams, eventsQuery);
  if (wantsStream(request, url.searchParams)) return streamEvents(context, query);
  const { types } = query;
  return answerOperation(
    context,
    "events",
    Array.isArray(types) ? { ...query, types: types.join(",") } : query,
  );
}

const createdSchema = z.object({ created_at: z.int() });

/** Mints a token for an existing session; an unknown one is 404, whoever owns it. */
async function mintSessionToken(context: SessionRequestContext): Promise<Response> {
  const { principal, router, session } = context;
  const body = await readCommandBody(context, bodylessOptions.body);
  const reader = { ...context, principal: { ...principal, scopes: ["sessions:read"] as const } };
  const { json } = await callSession(reader, { op: "get", params: {} });
  const { created_at: made } = createdSchema.parse(JSON.parse(json));
  const ttl = Math.floor(router.team.access.token_ttl / 1000);
  const key = readIdempotencyKey(context.request, {});
  return toResponse(
    await callTeam(context, "mint_token", { ttl, ...mergeFields(body, { session, made }) }, key),
  );
}

/** Lists a session's notes. Shared notes are with the team, and the session says whose notes it sees. */
async function listSessionNotes(context: SessionRequestContext): Promise<Response> {
  const params = readQuery(context.url.searchParams, {});
  const reply = await callSession(context, { op: "notes", params });
  const { agents } = JSON.parse(reply.json) as { readonly agents?: readonly string[] | null };
  if (agents === undefined) return toResponse(reply);
  const { session: _, ...principal } = context.principal;
  return toResponse(
    await callTeam({ ...context, principal }, "list_notes", { agents: agents && [...agents] }),
  );
}

export const sessionRoutes: readonly Route[] = [
  { method: "POST", path: "/v1/sessions", alias: true, scope: "sessions:write", handle: createSession },
  operationRoute("GET", sessionPath, "get"),
  operationRoute("PATCH", sessionPath, "patch", bodylessOptions),
  operationRoute("DELETE", sessionPath, "delete", { alias: true }),
  {
    on: "session",
    method: "POST",
    path: sessionPath,
    alias: true,
    scope: "sessions:write",
    handle: async (context) => sendAndWait(context, await readCommandBody(context, messageOptions.body), 60),
  },
  {
    on: "session",
    method: "POST",
    path: `${sessionPath}/messages`,
    scope: "sessions:write",
    handle: async (context) => sendAndWait(context, await readCommandBody(context, messageOptions.body), 0),
  },
  operationRoute("GET", `${sessionPath}/messages`, "messages", {
    query: { ...pageParameters, retired: "boolean" },
  }),
  operationRoute("PATCH", `${sessionPath}/messages/:message`, "pin"),
  operationRoute("GET", `${sessionPath}/inputs`, "inputs", { query: pageParameters }),
  operationRoute("GET", `${sessionPath}/inputs/:input`, "input"),
  operationRoute("PATCH", `${sessionPath}/inputs/:input`, "edit_input", messageOptions),
  operationRoute("DELETE", `${sessionPath}/inputs/:input`, "withdraw"),
  operationRoute("GET", `${sessionPath}/runs`, "runs", { query: pageParameters }),
  operationRoute("GET", `${sessionPath}/runs/:run`, "run"),
  {
    on: "session",
    method: "GET",
    path: `${sessionPath}/runs/:run/turns/:turn/context`,
    scope: "context:read",
    handle: answerContext,
  },
  operationRoute("GET", `${sessionPath}/threads`, "threads", { query: pageParameters }),
  operationRoute("POST", `${sessionPath}/cancel`, "cancel", bodylessOptions),
  operationRoute("GET", `${sessionPath}/asks`, "asks", { ...askOptions, query: pageParameters }),
  operationRoute("POST", `${sessionPath}/asks/:ask`, "answer", askOptions),
  {
    on: "session",
    method: "POST",
    path: `${sessionPath}/respond`,
    alias: true,
    scope: "asks:answer",
    handle: respondToQuestion,
  },
  {
    on: "session",
    method: "GET",
    path: `${sessionPath}/events`,
    alias: true,
    scope: "sessions:read",
    handle: listEvents,
  },
  {
    on: "session",
    method: "GET",
    path: `${sessionPath}/ws`,
    scope: "sessions:read",
    handle: upgradeAuthenticated,
    late: (context, admit) => upgradeUnauthenticated({ context, admit }),
  },
  operationRoute("GET", `${sessionPath}/snapshot`, "snapshot"),
  operationRoute("POST", `${sessionPath}/clear`, "clear", bodylessOptions),
  operationRoute("POST", `${sessionPath}/compact`, "compact", bodylessOptions),
  operationRoute("GET", `${sessionPath}/usage`, "usage"),
  operationRoute("GET", `${sessionPath}/state`, "state"),
  operationRoute("GET", `${sessionPath}/tasks`, "tasks", { query: pageParameters }),
  {
    on: "session",
    method: "GET",
    path: `${sessionPath}/notes`,
    scope: "sessions:read",
    handle: listSessionNotes,
  },
  {
    on: "session",
    method: "POST",
    path: `${sessionPath}/tokens`,
    scope: "tokens:mint",
    handle: mintSessionToken,
  },
];
