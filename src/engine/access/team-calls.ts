import { parseParams } from "../../session/command.ts";
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
import { createOnce } from "./once.ts";
import type { Once } from "./once.ts";
import { teamOperationScopes } from "./rpc.ts";
import type { TeamCall, TeamOperation, TeamReply } from "./rpc.ts";
import { listSessions, listSessionsSchema } from "./session-index.ts";

/** This table holds the operations of the TeamObject, each of which validates its parameters and checks its scope. */

type TeamCallHandler = (
  tables: Tables,
  call: TeamCall,
  now: number,
  once: Once,
) => TeamReply | Promise<TeamReply>;

const createReply = (status: 200 | 201 | 204, value: unknown, replayed = false): TeamReply => ({
  ok: true,
  status,
  json: status === 204 ? "" : JSON.stringify(value),
  replayed,
});

const teamCallHandlers: Record<TeamOperation, TeamCallHandler> = {
  list_sessions: (tables, { principal, params }) =>
    createReply(200, listSessions(tables, principal.tenant, parseParams(listSessionsSchema, params))),
  create_key: async (tables, { principal, params }, now, once) => {
    const body = parseParams(createKeySchema, params);
    const { info, credential } = await createKey(tables, { principal, body, now }, once);
    return createReply(201, { ...info, key: credential }, credential === null);
  },
  list_keys: (tables, { principal, params }) =>
    createReply(200, listKeys(tables, principal, parseParams(listKeysSchema, params))),
  get_key: (tables, { principal, params }) =>
    createReply(200, getKey(tables, principal, parseParams(keyReferenceSchema, params).key)),
  edit_key: (tables, { principal, params }, _now, once) => {
    const { value, replayed } = editKey(tables, principal, parseParams(editKeySchema, params), once);
    return createReply(200, value, replayed);
  },
  revoke_key: (tables, { principal, params }, _now, once) => {
    const { replayed } = revokeKey(tables, principal, parseParams(keyReferenceSchema, params).key, once);
    return createReply(204, null, replayed);
  },
  list_notes: (tables, { principal, params }) =>
    createReply(200, showNotes(tables, principal.tenant, parseParams(listNotesSchema, params))),
  forget_subject: (tables, { principal, params }, now) => {
    forgetSubject(tables, principal.tenant, parseParams(subjectSchema, params).subject, now);
    return createReply(204, null);
  },
  list_grants: (tables, { principal, params }, now) =>
    createReply(200, listGrants(tables, principal.tenant, parseParams(listGrantsSchema, params), now)),
  revoke_grant: (tables, { principal, params }, _now, once) => {
    const { replayed } = revokeGrant(
      tables,
      principal,
      parseParams(grantReferenceSchema, params).grant,
      once,
    );
    return createReply(204, null, replayed);
  },
  mint_token: async (tables, { principal, params }, now, once) => {
    const body = parseParams(mintTokenSchema, params);
    const { replayed, ...minted } = await mintToken(tables, principal, body, now, once);
    return createReply(201, minted, replayed);
  },
};

/** Answers one call; refusals are values, and anything thrown is a fault. */
export async function performTeamCall(tables: Tables, call: TeamCall, now: number): Promise<TeamReply> {
  const scope = teamOperationScopes[call.op];
  const { principal } = call;
  try {
    if (!principal.scopes.includes(scope)) refuse("scope_missing", `This needs the scope ${scope}.`);
    if (principal.session !== undefined && call.op !== "mint_token") {
      refuse("scope_missing", "A browser token opens its own session only.");
    }
    return await teamCallHandlers[call.op](tables, call, now, await createOnce(tables, call, now));
  } catch (fault) {
    if (fault instanceof ProblemError) return { ok: false, problem: fault.problem };
    throw fault;
  }
}
