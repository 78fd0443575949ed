import { ProblemError } from "../session/problems.ts";
import type { SessionReply } from "../session/rpc.ts";
import type { DirectoryReply } from "../engine/access/rpc.ts";

/** Converts the replies of objects to HTTP answers. */

const jsonHeaders = { "Content-Type": "application/json" } as const;

export const jsonResponse = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), { status, headers: jsonHeaders });

type ObjectReply = SessionReply | DirectoryReply;
export type AcceptedReply<R extends ObjectReply> = Extract<R, { readonly ok: true }>;

/** Returns the reply of an accepted call; throws a refusal, which is answered at the edge of the API. */
export function requireAccepted<R extends ObjectReply>(reply: R): AcceptedReply<R> {
  if (!reply.ok) throw new ProblemError(reply.problem);
  return reply as AcceptedReply<R>;
}

/** Converts an accepted reply to an answer; its JSON is sent as it is. */
export function toResponse(reply: AcceptedReply<SessionReply> | AcceptedReply<DirectoryReply>): Response {
  const headers = new Headers(reply.status === 204 ? {} : jsonHeaders);
  if (reply.replayed) headers.set("Idempotent-Replayed", "true");
  return new Response(reply.status === 204 ? null : reply.json, { status: reply.status, headers });
}
