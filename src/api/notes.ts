import { answer } from "./answers.ts";
import { callSession, callTeam } from "./calls.ts";
import type { SessionRequest } from "./context.ts";
import { readQuery } from "./query.ts";

/** Notes of a session. Those that sessions share live with the team, and the session says whose it sees (AG-47). */
export async function notes(context: SessionRequest): Promise<Response> {
  const params = readQuery(context.url.searchParams, {});
  const reply = await callSession(context, { op: "notes", params });
  const { agents } = JSON.parse(reply.json) as { readonly agents?: readonly string[] | null };
  if (agents === undefined) return answer(reply);
  const { session: _, ...principal } = context.principal;
  return answer(await callTeam({ ...context, principal }, "list_notes", { agents: agents && [...agents] }));
}
