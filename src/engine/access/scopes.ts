import * as z from "zod";
import { jurisdictions } from "../../sandbox/jurisdiction.ts";
import { allScopes } from "../../session/rpc.ts";
import type { Scope } from "../../session/rpc.ts";

export const scopeSchema = z.enum(allScopes);

/** Where a tenant's data is stored; null means anywhere. */
export const jurisdictionSchema = z.enum(jurisdictions).nullable();

/** Scopes of a browser token whose minter names none. */
export const browserScopes: readonly Scope[] = ["sessions:read", "sessions:write", "asks:answer"];
