import * as z from "zod";
import { checked } from "../session/command.ts";
import { derivedSessionId, randomSessionId } from "../engine/access/names.ts";
import { answer } from "./answers.ts";
import type { Fields } from "./body.ts";
import { callSession, callTeam, idempotencyKey, merged } from "./calls.ts";
import type { Authorized, SessionRequest } from "./context.ts";
import { limits } from "./limits.ts";
import { readQuery } from "./query.ts";
import { commandBody, operation, performed } from "./route.ts";
import type { Route } from "./route.ts";
import { streamEvents, wantsStream } from "./streams/sse.ts";
import { upgradeKnown, upgradeUnknown } from "./streams/socket.ts";
import { send } from "./streams/wait.ts";

/** Routes of sessions. */

const S = "/v1/sessions/:session";
const message = { body: { limit: limits.message_body_bytes } } as const;
const bodyless = { body: { isOptional: true } } as const;
const asks = { scope: ["asks:answer", "approvals:decide"] } as const;
const page = { limit: "integer" } as const;

/** The id of a session to create: from its `ref`, from the idempotency key, or random. */
async function newSessionId({ request, principal }: Authorized, body: Fields): Promise<string> {
  const { ref } = body;
  if (typeof ref === "string" && ref.length > 0 && ref.length <= 128) {
    return derivedSessionId("ref", principal.tenant, ref);
  }
  const key = idempotencyKey(request, {});
  return key === undefined ? randomSessionId() : derivedSessionId("idem", principal.tenant, key);
}

async function createSession(context: Authorized): Promise<Response> {
  const body = await commandBody(context, { ...message.body, ...bodyless.body });
  const session = await newSessionId(context, body);
  context.notes.session = session;
  const response = await performed({ ...context, session }, "create", body);
  response.headers.set("Location", `/v1/sessions/${session}`);
  return response;
}

const respondBody = z.strictObject({ question_id: z.string().min(1), response: z.string() });

/** S3's form of an answer. */
async function respond(context: SessionRequest): Promise<Response> {
  const body = await commandBody(context);
  const { question_id: ask, response: text } = checked(respondBody, body);
  const key = idempotencyKey(context.request, {});
  return answer(await callSession(context, { op: "answer", params: { ask, decision: "answer", text }, key }));
}

/** The context view as JSON or, for people, as text. */
async function sight(context: SessionRequest): Promise<Response> {
  const query = readQuery(context.url.searchParams, {});
  const response = await performed(context, "context", query);
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

async function events(context: SessionRequest): Promise<Response> {
  const { request, url } = context;
  const query = readQuery(url.searchParams, eventsQuery);
  if (wantsStream(request, url.searchParams)) return streamEvents(context, query);
  const { types } = query;
  return performed(context, "events", Array.isArray(types) ? { ...query, types: types.join(",") } : query);
}

const sessionShown = z.object({ created_at: z.int() });

/** Mints a token for a session that is there: an unknown one is 404, whoever's it may be. */
async function mint(context: SessionRequest): Promise<Response> {
  const { principal, router, session } = context;
  const body = await commandBody(context, bodyless.body);
  const reader = { ...context, principal: { ...principal, scopes: ["sessions:read"] as const } };
  const { json } = await callSession(reader, { op: "get", params: {} });
  const { created_at: made } = sessionShown.parse(JSON.parse(json));
  const ttl = Math.floor(router.team.access.token_ttl / 1000);
  const key = idempotencyKey(context.request, {});
  return answer(await callTeam(context, "mint_token", { ttl, ...merged(body, { session, made }) }, key));
}

/** Notes of a session. Those that sessions share live with the team, and the session says whose it sees. */
async function notes(context: SessionRequest): Promise<Response> {
  const params = readQuery(context.url.searchParams, {});
  const reply = await callSession(context, { op: "notes", params });
  const { agents } = JSON.parse(reply.json) as { readonly agents?: readonly string[] | null };
  if (agents === undefined) return answer(reply);
  const { session: _, ...principal } = context.principal;
  return answer(await callTeam({ ...context, principal }, "list_notes", { agents: agents && [...agents] }));
}

export const sessionRoutes: readonly Route[] = [
  { method: "POST", path: "/v1/sessions", alias: true, scope: "sessions:write", handle: createSession },
  operation("GET", S, "get"),
  operation("PATCH", S, "patch", bodyless),
  operation("DELETE", S, "delete", { alias: true }),
  {
    on: "session",
    method: "POST",
    path: S,
    alias: true,
    scope: "sessions:write",
    handle: async (context) => send(context, await commandBody(context, message.body), 60),
  },
  {
    on: "session",
    method: "POST",
    path: `${S}/messages`,
    scope: "sessions:write",
    handle: async (context) => send(context, await commandBody(context, message.body), 0),
  },
  operation("GET", `${S}/messages`, "messages", { query: { ...page, retired: "boolean" } }),
  operation("PATCH", `${S}/messages/:message`, "pin"),
  operation("GET", `${S}/inputs`, "inputs", { query: page }),
  operation("GET", `${S}/inputs/:input`, "input"),
  operation("PATCH", `${S}/inputs/:input`, "edit_input", message),
  operation("DELETE", `${S}/inputs/:input`, "withdraw"),
  operation("GET", `${S}/runs`, "runs", { query: page }),
  operation("GET", `${S}/runs/:run`, "run"),
  {
    on: "session",
    method: "GET",
    path: `${S}/runs/:run/turns/:turn/context`,
    scope: "context:read",
    handle: sight,
  },
  operation("GET", `${S}/threads`, "threads", { query: page }),
  operation("POST", `${S}/cancel`, "cancel", bodyless),
  operation("GET", `${S}/asks`, "asks", { ...asks, query: page }),
  operation("POST", `${S}/asks/:ask`, "answer", asks),
  { on: "session", method: "POST", path: `${S}/respond`, alias: true, scope: "asks:answer", handle: respond },
  {
    on: "session",
    method: "GET",
    path: `${S}/events`,
    alias: true,
    scope: "sessions:read",
    handle: events,
  },
  {
    on: "session",
    method: "GET",
    path: `${S}/ws`,
    scope: "sessions:read",
    handle: upgradeKnown,
    late: (context, admit) => upgradeUnknown({ context, admit }),
  },
  operation("GET", `${S}/snapshot`, "snapshot"),
  operation("POST", `${S}/clear`, "clear", bodyless),
  operation("POST", `${S}/compact`, "compact", bodyless),
  operation("GET", `${S}/usage`, "usage"),
  operation("GET", `${S}/state`, "state"),
  operation("GET", `${S}/tasks`, "tasks", { query: page }),
  { on: "session", method: "GET", path: `${S}/notes`, scope: "sessions:read", handle: notes },
  { on: "session", method: "POST", path: `${S}/tokens`, scope: "tokens:mint", handle: mint },
];
