import { DurableObject } from "cloudflare:workers";
import { authenticate } from "../src/engine/access/authenticate.ts";
import { openTables } from "../src/engine/access/database.ts";
import { pinDefinition, readDefinition, unpinDefinition } from "../src/engine/access/definitions.ts";
import { deliverActions, hasQueuedActions } from "../src/engine/access/audit-outbox.ts";
import { getTenantObject } from "../src/engine/access/names.ts";
import type {
  DirectoryCall,
  DirectoryReply,
  TeamDirectory,
  TeamOperation,
  TenantDirectory,
} from "../src/engine/access/rpc.ts";
import type { PlacedNamespace, TenantAddress } from "../src/sandbox/jurisdiction.ts";
import { performTeamCall } from "../src/engine/access/team-calls.ts";
import { teamMigrations } from "../src/engine/access/team-tables.ts";
import { databaseOf } from "./table-database.ts";
import { shareInFlight } from "./waits.ts";

/** Environment with the secret that is the first admin key. */
export interface TeamEnv {
  readonly LIMPET_ADMIN_KEY?: string;
}

interface Exports {
  readonly TenantObject: PlacedNamespace<TenantDirectory>;
}

/** Milliseconds until tenants are told again what one of them has not confirmed. */
const redeliveryMs = 60_000;

/** Holds a deployment's keys, signing keys and pinned definitions; there is one of it. */
export class TeamObject extends DurableObject<TeamEnv> implements TeamDirectory {
  readonly #tables = openTables(databaseOf(this.ctx.storage), teamMigrations);

  authenticate(credential: string): ReturnType<TeamDirectory["authenticate"]> {
    return authenticate(this.#tables, credential, { adminKey: this.env.LIMPET_ADMIN_KEY, now: Date.now() });
  }

  async perform(call: DirectoryCall<TeamOperation>): Promise<DirectoryReply> {
    const reply = await performTeamCall(this.#tables, call, Date.now());
    if (hasQueuedActions(this.#tables)) {
      // The alarm is stored with the action, since nothing is awaited in between.
      void this.ctx.storage.setAlarm(Date.now() + redeliveryMs);
      this.ctx.waitUntil(this.#deliver());
    }
    return reply;
  }

  override alarm(): Promise<void> {
    return this.#deliver();
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

  /** Tells tenants what was done with keys and tokens. */
  readonly #deliver = shareInFlight(async () => {
    const { TenantObject } = this.ctx.exports as unknown as Exports;
    const auditOf = (address: TenantAddress): TenantDirectory => getTenantObject(TenantObject, address);
    await deliverActions(this.#tables, auditOf, Date.now());
    if (hasQueuedActions(this.#tables)) void this.ctx.storage.setAlarm(Date.now() + redeliveryMs);
    else void this.ctx.storage.deleteAlarm();
  });
}
