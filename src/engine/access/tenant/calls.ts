import { parseParams } from "../../../session/define-operation.ts";
import type { Tables } from "../database.ts";
import { createReply, performDirectoryCall } from "../directory-calls.ts";
import type { DirectoryOperations } from "../directory-calls.ts";
import { listAudit, listAuditSchema, recordAction } from "./audit.ts";
import { listAsks, listAsksSchema } from "./asks.ts";
import { grantReferenceSchema, listGrants, listGrantsSchema, revokeGrant } from "./grants.ts";
import { forgetLogins } from "./logins.ts";
import { forgetSubject, subjectSchema } from "./memories.ts";
import { listNotesSchema, showNotes } from "./notes.ts";
import { tenantOperationScopes } from "../rpc.ts";
import type { DirectoryCall, DirectoryReply, TenantOperation } from "../rpc.ts";
import { listSessions, listSessionsSchema } from "./session-index.ts";
import {
  approveServer,
  approveServerSchema,
  listServers,
  listServersSchema,
  requireServer,
  serverReferenceSchema,
} from "./tool-pins.ts";
import { forgetUsageMetadata, listUsage, listUsageSchema } from "./usage.ts";

/** Operations of a TenantObject. */
const tenantOperations: DirectoryOperations<TenantOperation> = {
  scopes: tenantOperationScopes,
  subjects: {
    revoke_grant: "grant",
    approve_mcp_server: "name",
    forget_mcp_login: "name",
    // Whom nobody may find any more is not named.
    forget_subject: null,
  },
  audit: (all, _caller, action, at) => recordAction(all, action, at),
  handlers: {
    list_sessions: (tables, { principal, params }) =>
      createReply(200, listSessions(tables, principal.tenant, parseParams(listSessionsSchema, params))),
    list_usage: (tables, { principal, params }, now) =>
      createReply(200, listUsage(tables, principal.tenant, parseParams(listUsageSchema, params), now)),
    list_asks: (tables, { principal, params }, now) =>
      createReply(200, listAsks(tables, principal, parseParams(listAsksSchema, params), now)),
    list_audit: (tables, { principal, params }, now) =>
      createReply(200, listAudit(tables, principal.tenant, parseParams(listAuditSchema, params), now)),
    list_notes: (tables, { params }) =>
      createReply(200, showNotes(tables, parseParams(listNotesSchema, params))),
    forget_subject: (_tables, { params }, now, once) => {
      const { subject } = parseParams(subjectSchema, params);
      const { replayed } = once((all) => {
        forgetSubject(all, subject, now);
        forgetUsageMetadata(all, subject);
        return null;
      });
      return createReply(204, null, replayed);
    },
    list_grants: (tables, { principal, params }, now) =>
      createReply(200, listGrants(tables, principal.tenant, parseParams(listGrantsSchema, params), now)),
    list_mcp_servers: (tables, { params }) =>
      createReply(200, listServers(tables, parseParams(listServersSchema, params))),
    approve_mcp_server: (_tables, { params }, _now, once) => {
      const approval = parseParams(approveServerSchema, params);
      const { value, replayed } = once((all) => approveServer(all, approval));
      return createReply(200, value, replayed);
    },
    forget_mcp_login: (_tables, { params }, _now, once) => {
      const { name } = parseParams(serverReferenceSchema, params);
      const { replayed } = once((all) => {
        requireServer(all, name);
        forgetLogins(all, name);
        return null;
      });
      return createReply(204, null, replayed);
    },
    revoke_grant: (tables, { params }, _now, once) => {
      const { replayed } = revokeGrant(tables, parseParams(grantReferenceSchema, params).grant, once);
      return createReply(204, null, replayed);
    },
  },
};

export const performTenantCall = (
  tables: Tables,
  call: DirectoryCall<TenantOperation>,
  now: number,
): Promise<DirectoryReply> => performDirectoryCall(tenantOperations, tables, call, now);
