import { DurableObject } from "cloudflare:workers";
import { authenticate } from "../src/engine/access/authenticate.ts";
import { openTables } from "../src/engine/access/database.ts";
import { pinDefinition, readDefinition, unpinDefinition } from "../src/engine/access/definitions.ts";
import type {
  DirectoryCall,
  DirectoryReply,
  TeamDirectory,
  TeamOperation,
} from "../src/engine/access/rpc.ts";
import { performTeamCall } from "../src/engine/access/team-calls.ts";
import { teamMigrations } from "../src/engine/access/team-tables.ts";
import { databaseOf } from "./table-database.ts";

/** Environment with the secret that is the first admin key. */
export interface TeamEnv {
  readonly LIMPET_ADMIN_KEY?: string;
}

/** Holds a deployment's keys, signing keys and pinned definitions; there is one of it. */
export class TeamObject extends DurableObject<TeamEnv> implements TeamDirectory {
  readonly #tables = openTables(databaseOf(this.ctx.storage), teamMigrations);

  authenticate(credential: string): ReturnType<TeamDirectory["authenticate"]> {
    return authenticate(this.#tables, credential, { adminKey: this.env.LIMPET_ADMIN_KEY, now: Date.now() });
  }

  perform(call: DirectoryCall<TeamOperation>): Promise<DirectoryReply> {
    return performTeamCall(this.#tables, call, Date.now());
  }

  async pinDefinition(tenant: string, revision: string, json: string): Promise<void> {
    pinDefinition(this.#tables, tenant, revision, json);
  }

  async unpinDefinition(tenant: string, revision: string): Promise<void> {
    unpinDefinition(this.#tables, tenant, revision);
  }

  async definition(revision: string): Promise<string | null> {
    return readDefinition(this.#tables, revision);
  }
}
