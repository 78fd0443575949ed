import { exports } from "cloudflare:workers";
import { getTenantObject, teamObjectName } from "../../../src/engine/access/names.ts";
import type { PlacedNamespace } from "../../../src/engine/access/names.ts";
import type { TeamDirectory, TenantDirectory } from "../../../src/engine/access/rpc.ts";
import type { TenantAddress } from "../../../src/sandbox/jurisdiction.ts";

/** The objects of the test Worker's team and tenants, called past the router. */

/** What tests call, apart from the types of RPC, which unfold without end over `unknown`. */
export type TeamStub = TeamDirectory & DurableObjectStub;
export type TenantStub = TenantDirectory & DurableObjectStub;

const objects = exports as unknown as {
  readonly TeamObject: { getByName(name: string): TeamStub };
  readonly TenantObject: PlacedNamespace<TenantStub>;
};

export const teamStub = (name = teamObjectName): TeamStub => objects.TeamObject.getByName(name);

export const tenantStub = (
  tenant = "default",
  jurisdiction: TenantAddress["jurisdiction"] = null,
): TenantStub => getTenantObject(objects.TenantObject, { tenant, jurisdiction });
