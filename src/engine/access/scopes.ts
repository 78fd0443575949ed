import * as z from "zod";
import { allScopes } from "../../session/rpc.ts";
import type { Scope } from "../../session/rpc.ts";

export const scopeSchema = z.enum(allScopes);

/** Lists what a browser token may do when its minter names no scopes. */
export const browserScopes: readonly Scope[] = ["sessions:read", "sessions:write", "asks:answer"];
