import * as z from "zod";
import { parseParams } from "../session/define-operation.ts";
import { operations } from "../session/operations.ts";
import type { OperationName } from "../session/operations.ts";
import { contextOperation } from "../session/operations/context.ts";
import { eventsOperation } from "../session/operations/queries.ts";
import { forkOperation } from "../session/operations/fork.ts";
import { sendOperation } from "../session/operations/send.ts";
import { createOperation } from "../session/operations/session.ts";
import { deriveSessionId, createSessionId } from "../engine/access/names.ts";
import { mayCall } from "./access/origins.ts";
import { toResponse } from "./answers.ts";
import type { RequestFields } from "./body.ts";
import { callSession, callDirectory, readIdempotencyKey, mergeFields } from "./calls.ts";
import type { AuthorizedContext, SessionRequestContext } from "./context.ts";
import { readQuery } from "./query.ts";
import {
  answerOperation,
  operationAddress,
  operationRoute,
  readCommandBody,
  readParameters,
} from "./route.ts";
import type { Route, SessionRoute } from "./route.ts";
import { deleteFile, readWorkspace, unpackArchive, writeFile } from "./files/workspace.ts";
import { readUpload, uploadFile } from "./files/uploads.ts";
import { streamEvents, wantsStream } from "./streams/sse.ts";
import { upgradeAuthenticated, upgradeUnauthenticated } from "./streams/socket.ts";
import { sendAndWait } from "./streams/wait.ts";

/** Defines the routes of sessions: one for each operation, and those that do more than an operation. */

const sessionPath = "/v1/sessions/:session";

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
  const body = await readParameters(context, createOperation);
  const session = await newSessionId(context, body);
  context.notes.session = session;
  const response = await answerOperation({ ...context, session }, createOperation, body);
  response.headers.set("Location", `/v1/sessions/${session}`);
  return response;
}

/** Forks a session; a browser token must be valid for the source, although the new session is another one. */
async function forkSession(context: SessionRequestContext): Promise<Response> {
  const body = await readParameters(context, forkOperation);
  const { principal, session: source } = context;
  const { session: bound, made: _, ...caller } = principal;
  if (bound !== undefined) await readSession(context);
  const key = readIdempotencyKey(context.request, {});
  const session =
    key === undefined
      ? createSessionId()
      : await deriveSessionId("fork", principal.tenant, `${source} ${key}`);
  const fields = mergeFields(body, { source });
  const response = await answerOperation({ ...context, principal: caller, session }, forkOperation, fields);
  response.headers.set("Location", `/v1/sessions/${session}`);
  return response;
}

export const respondBody = z.strictObject({ question_id: z.string().min(1), response: z.string() });

/** Answers with a text the ask that `question_id` names. */
async function respondToQuestion(context: SessionRequestContext): Promise<Response> {
  const body = await readCommandBody(context, () => false);
  const { question_id: ask, response: text } = parseParams(respondBody, body);
  const key = readIdempotencyKey(context.request, {});
  return toResponse(
    await callSession(context, { op: "answer", params: { ask, decision: "answer", text }, key }),
  );
}

/** Answers with the context view as JSON or, for people, as text. */
async function answerContext(context: SessionRequestContext): Promise<Response> {
  const query = readQuery(context.url.searchParams, {});
  const response = await answerOperation(context, contextOperation, query);
  if (query["format"] !== "text") return response;
  const { text } = z.object({ text: z.string() }).parse(await response.json());
  return new Response(text, { headers: { "Content-Type": "text/plain; charset=utf-8" } });
}

/** Lists events, or streams them. `types` may be given more than once. */
async function listEvents(context: SessionRequestContext): Promise<Response> {
  const { request, url } = context;
  const query = readQuery(url.searchParams, { types: "list" });
  if (wantsStream(request, url.searchParams)) return streamEvents(context, query);
  const { types } = query;
  const fields = Array.isArray(types) ? { ...query, types: types.join(",") } : query;
  return answerOperation(context, eventsOperation, fields);
}

const createdSchema = z.object({ created_at: z.int() });

/** Returns a session for a route that the caller may use; an unknown one is 404, whoever owns it. */
async function readSession(context: SessionRequestContext): Promise<string> {
  const principal = { ...context.principal, scopes: ["sessions:read"] as const };
  const { json } = await callSession({ ...context, principal }, { op: "get", params: {} });
  return json;
}

async function mintSessionToken(context: SessionRequestContext): Promise<Response> {
  const { router, session } = context;
  const body = await readCommandBody(context, () => true);
  const json = await readSession(context);
  const { created_at: made } = createdSchema.parse(JSON.parse(json));
  const ttl = Math.floor(router.team.access.token_ttl / 1000);
  const { origin } = body;
  const admitted = typeof origin !== "string" || mayCall(context, origin);
  const params = { ttl, ...mergeFields(body, { session, made, admitted }) };
  const key = readIdempotencyKey(context.request, {});
  return toResponse(
    await callDirectory(context, "mint_token", params, { key, sent: { ...body, session, made } }),
  );
}

/** Lists a session's notes. The tenant stores shared notes, and the session names the owners whose notes it sees. */
async function listSessionNotes(context: SessionRequestContext): Promise<Response> {
  const params = readQuery(context.url.searchParams, {});
  const reply = await callSession(context, { op: "notes", params });
  const { agents } = JSON.parse(reply.json) as { readonly agents?: readonly string[] | null };
  if (agents === undefined) return toResponse(reply);
  const { session: _, ...principal } = context.principal;
  return toResponse(
    await callDirectory({ ...context, principal }, "list_notes", {
      ...params,
      agents: agents && [...agents],
    }),
  );
}

const sendRoute = (defaultWait: number): SessionRoute =>
  operationRoute(sendOperation, async (context) =>
    sendAndWait(context, await readParameters(context, sendOperation), defaultWait),
  );

/** Maps the operations whose answer is more than the session's to their handlers. */
const sessionHandlers: Partial<Record<OperationName, SessionRoute["handle"]>> = {
  send: sendRoute(0).handle,
  context: answerContext,
  events: listEvents,
  fork: forkSession,
  notes: listSessionNotes,
  workspace: readWorkspace("workspace"),
  read_file: readWorkspace("read_file"),
  write_file: writeFile,
  delete_file: deleteFile,
  unpack: unpackArchive,
  upload: uploadFile,
  read_upload: readUpload,
};

export const sessionRoutes: readonly Route[] = [
  { ...operationAddress(createOperation), handle: createSession },
  ...operations
    .filter(({ path }) => path.includes("/:session"))
    .map((operation) => operationRoute(operation, sessionHandlers[operation.name])),
  { ...sendRoute(60), path: sessionPath, alias: true },
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
    path: `${sessionPath}/ws`,
    scope: "sessions:read",
    handle: upgradeAuthenticated,
    late: (context, admit) => upgradeUnauthenticated({ context, admit }),
  },
  {
    on: "session",
    method: "POST",
    path: `${sessionPath}/tokens`,
    scope: "tokens:mint",
    handle: mintSessionToken,
  },
];
