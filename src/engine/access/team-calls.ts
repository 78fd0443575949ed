import { parseParams } from "../../session/define-operation.ts";
import { queueAction } from "./audit-outbox.ts";
import { mintToken, mintTokenSchema } from "./browser-tokens.ts";
import type { Tables } from "./database.ts";
import { createReply, performDirectoryCall } from "./directory-calls.ts";
import type { DirectoryOperations } from "./directory-calls.ts";
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
import type { DirectoryCall, DirectoryReply, TeamOperation } from "./rpc.ts";

/** Operations of the TeamObject. */
const teamOperations: DirectoryOperations<TeamOperation> = {
  scopes: teamOperationScopes,
  subjects: { create_key: "id", edit_key: "key", revoke_key: "key", mint_token: "session" },
  audit: queueAction,
  handlers: {
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
    mint_token: async (tables, { principal, params }, now, once) => {
      const body = parseParams(mintTokenSchema, params);
      const { replayed, ...minted } = await mintToken(tables, principal, body, now, once);
      return createReply(201, minted, replayed);
    },
  },
};

export const performTeamCall = (
  tables: Tables,
  call: DirectoryCall<TeamOperation>,
  now: number,
): Promise<DirectoryReply> => performDirectoryCall(teamOperations, tables, call, now);
