import * as z from "zod";
import { jurisdictions } from "../../sandbox/jurisdiction.ts";
import { allScopes } from "../../session/rpc.ts";
import type { Scope } from "../../session/rpc.ts";

export const scopeSchema = z.enum(allScopes);

/** Where a tenant's data is kept; null means anywhere. */
export const jurisdictionSchema = z.enum(jurisdictions).nullable();

/** Lists what a browser token may do when its minter names no scopes. */
export const browserScopes: readonly Scope[] = ["sessions:read", "sessions:write", "asks:answer"];
