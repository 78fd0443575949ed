import type * as z from "zod";
import { ProblemError, refuse } from "../../agent/problem.ts";
import { mintToken, mintTokenSchema } from "./browser-tokens.ts";
import type { Tables } from "./database.ts";
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
import { teamOperationScopes } from "./rpc.ts";
import type { TeamCall, TeamOperation, TeamReply } from "./rpc.ts";
import { listSessions, listSessionsSchema } from "./session-index.ts";

/** The operations of the TeamObject: each validates its own parameters and checks its own scope. */

type Handler = (tables: Tables, call: TeamCall, now: number) => Promise<TeamReply>;

/** Parses with a schema; 400 with a pointer for each issue. */
function checked<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.flatMap((issue) => {
    const keys =
      issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    return keys.map((path) => ({
      pointer: path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""),
      code: issue.code,
      message: issue.message,
    }));
  });
  const [first] = errors;
  return refuse("invalid_request", `${first?.pointer ?? ""}: ${first?.message ?? "not valid"}`, { errors });
}

const reply = (status: 200 | 201 | 204, value: unknown, replayed = false): TeamReply => ({
  ok: true,
  status,
  json: status === 204 ? "" : JSON.stringify(value),
  replayed,
});

const handlers: Record<TeamOperation, Handler> = {
  list_sessions: async (tables, { principal, params }) =>
    reply(200, await listSessions(tables, principal.tenant, checked(listSessionsSchema, params))),
  create_key: async (tables, { principal, params, key }, now) => {
    const guard = key === undefined ? {} : { key };
    const body = checked(createKeySchema, params);
    const { info, credential } = await createKey(tables, { principal, body, now, ...guard });
    return reply(201, { ...info, key: credential }, credential === null);
  },
  list_keys: async (tables, { principal, params }) =>
    reply(200, await listKeys(tables, principal, checked(listKeysSchema, params))),
  get_key: async (tables, { principal, params }) =>
    reply(200, getKey(tables, principal, checked(keyReferenceSchema, params).key)),
  edit_key: async (tables, { principal, params }) =>
    reply(200, editKey(tables, principal, checked(editKeySchema, params))),
  revoke_key: async (tables, { principal, params }) => {
    revokeKey(tables, principal, checked(keyReferenceSchema, params).key);
    return reply(204, null);
  },
  mint_token: async (tables, { principal, params }, now) =>
    reply(201, await mintToken(tables, principal, checked(mintTokenSchema, params), now)),
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
    return await handlers[call.op](tables, call, now);
  } catch (fault) {
    if (fault instanceof ProblemError) return { ok: false, problem: fault.problem };
    throw fault;
  }
}
