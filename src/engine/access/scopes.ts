import * as z from "zod";
import type { Scope } from "../../agent/rpc.ts";

/** Every scope there is (AP-13). */
export const allScopes = [
  "sessions:read",
  "sessions:write",
  "asks:answer",
  "approvals:decide",
  "context:read",
  "usage:read",
  "tokens:mint",
  "debug:read",
  "admin",
] as const satisfies readonly Scope[];

export const scopeSchema = z.enum(allScopes);

/** What a browser token may do when its minter names no scopes. */
export const browserScopes: readonly Scope[] = ["sessions:read", "sessions:write", "asks:answer"];
