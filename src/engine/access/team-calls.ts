import { checked } from "../../session/command.ts";
import { ProblemError, refuse } from "../../session/problems.ts";
import { mintToken, mintTokenSchema } from "./browser-tokens.ts";
import type { Tables } from "./database.ts";
import { grantReferenceSchema, listGrants, listGrantsSchema, revokeGrant } from "./grants.ts";
import {
  createKey,
  createKeySchema,
  editKey,
  editKeySchema,
  getKey,
  keyReferenceSchema,
  listKeys,
  listKeysSchema,
  revokeKey,
} from "./key-store.ts";
import { forgetSubject, subjectSchema } from "./memories.ts";
import { listNotesSchema, showNotes } from "./notes.ts";
import { onceFor } from "./once.ts";
import type { Once } from "./once.ts";
import { teamOperationScopes } from "./rpc.ts";
import type { TeamCall, TeamOperation, TeamReply } from "./rpc.ts";
import { listSessions, listSessionsSchema } from "./session-index.ts";

/** The operations of the TeamObject: each validates its own parameters and checks its own scope. */

type Handler = (tables: Tables, call: TeamCall, now: number, once: Once) => TeamReply | Promise<TeamReply>;

const reply = (status: 200 | 201 | 204, value: unknown, replayed = false): TeamReply => ({
  ok: true,
  status,
  json: status === 204 ? "" : JSON.stringify(value),
  replayed,
});

const handlers: Record<TeamOperation, Handler> = {
  list_sessions: (tables, { principal, params }) =>
    reply(200, listSessions(tables, principal.tenant, checked(listSessionsSchema, params))),
  create_key: async (tables, { principal, params }, now, once) => {
    const body = checked(createKeySchema, params);
    const { info, credential } = await createKey(tables, { principal, body, now }, once);
    return reply(201, { ...info, key: credential }, credential === null);
  },
  list_keys: (tables, { principal, params }) =>
    reply(200, listKeys(tables, principal, checked(listKeysSchema, params))),
  get_key: (tables, { principal, params }) =>
    reply(200, getKey(tables, principal, checked(keyReferenceSchema, params).key)),
  edit_key: (tables, { principal, params }, _now, once) => {
    const { value, replayed } = editKey(tables, principal, checked(editKeySchema, params), once);
    return reply(200, value, replayed);
  },
  revoke_key: (tables, { principal, params }, _now, once) => {
    const { replayed } = revokeKey(tables, principal, checked(keyReferenceSchema, params).key, once);
    return reply(204, null, replayed);
  },
  list_notes: (tables, { principal, params }) =>
    reply(200, showNotes(tables, principal.tenant, checked(listNotesSchema, params))),
  forget_subject: (tables, { principal, params }, now) => {
    forgetSubject(tables, principal.tenant, checked(subjectSchema, params).subject, now);
    return reply(204, null);
  },
  list_grants: (tables, { principal, params }, now) =>
    reply(200, listGrants(tables, principal.tenant, checked(listGrantsSchema, params), now)),
  revoke_grant: (tables, { principal, params }, _now, once) => {
    const { replayed } = revokeGrant(tables, principal, checked(grantReferenceSchema, params).grant, once);
    return reply(204, null, replayed);
  },
  mint_token: async (tables, { principal, params }, now, once) => {
    const body = checked(mintTokenSchema, params);
    const { replayed, ...minted } = await mintToken(tables, principal, body, now, once);
    return reply(201, minted, replayed);
  },
};

/** Answers one call; refusals are values, anything else thrown is a fault. */
export async function performTeamCall(tables: Tables, call: TeamCall, now: number): Promise<TeamReply> {
  const scope = teamOperationScopes[call.op];
  const { principal } = call;
  try {
    if (!principal.scopes.includes(scope)) refuse("scope_missing", `This needs the scope ${scope}.`);
    if (principal.session !== undefined && call.op !== "mint_token") {
      refuse("scope_missing", "A browser token opens its own session only.");
    }
    return await handlers[call.op](tables, call, now, await onceFor(tables, call, now));
  } catch (fault) {
    if (fault instanceof ProblemError) return { ok: false, problem: fault.problem };
    throw fault;
  }
}
