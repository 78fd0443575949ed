import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { getTenantObject, teamObjectName } from "../../../src/engine/access/names.ts";
import type { PlacedNamespace } from "../../../src/sandbox/jurisdiction.ts";
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

type Work = (...args: unknown[]) => unknown;

/** Has one object do one of its methods otherwise while it is in memory; RPC finds methods on the class alone. */
export const replaceMethod = (
  stub: DurableObjectStub,
  method: string,
  otherwise: (there: Work) => Work,
): Promise<void> =>
  runInDurableObject(stub, (instance) => {
    const shared = Object.getPrototypeOf(instance) as Record<string, Work>;
    const there = shared[method];
    if (there === undefined) throw new Error(`the object has no method ${method}`);
    const replaced = otherwise((...args) => there.apply(instance, args));
    shared[method] = function (this: unknown, ...args) {
      return this === instance ? replaced(...args) : there.apply(this, args);
    };
  });
