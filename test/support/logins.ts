import type { Tables } from "../../src/engine/access/database.ts";
import type { LoginEnd, TenantLogins } from "../../src/engine/access/tenant/logins.ts";
import type { LoginSessions } from "../../src/engine/access/tenant/logins.ts";
import { createTenantLogins, readState } from "../../src/engine/access/tenant/logins.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { sealerOf } from "../../src/engine/secrets/seal.ts";
import type { Bindings } from "../../src/engine/secrets/secrets.ts";

/** The logins of a bench's tenant, ended by the query of the address that a person was sent back to. */
export const createLogins = (
  { servers, redactor, team }: Engine,
  env: Bindings,
  tables: Tables,
  now: () => number,
  sessions: LoginSessions,
): Pick<TenantLogins, "authorize"> & { readonly finish: (query: string) => Promise<LoginEnd> } => {
  const sealer = sealerOf(env);
  const logins = createTenantLogins({
    tables,
    sealer,
    logins: servers.logins,
    redactor,
    now,
    sessions,
    askMs: team.limits.asks.timeout,
  });
  return {
    authorize: logins.authorize,
    finish: async (query) => {
      const state = new URLSearchParams(query).get("state") ?? "";
      const address = await readState(sealer, state);
      return address === null ? "unknown" : logins.finish({ address, state, query });
    },
  };
};
