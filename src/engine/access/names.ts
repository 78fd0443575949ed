import { digestFields } from "../../sandbox/id.ts";
import { getPlacedObject } from "../../sandbox/jurisdiction.ts";
import type { PlacedNamespace, TenantAddress } from "../../sandbox/jurisdiction.ts";
import { base32, hexOf } from "../../sandbox/sha256.ts";
import { digestOf, randomBytes } from "./encoding.ts";

/** Computes session ids and object names, which are the same in the Worker and in every object. */

export const sessionIdPattern = /^s_[a-z2-7]{26}$/;

const idOf = (bytes: Uint8Array): string => `s_${base32(bytes.slice(0, 16))}`;

export const createSessionId = (): string => idOf(randomBytes(16));

/** Returns 128 random bits in base32, for ids that must not be guessed. */
export const randomBits = (): string => base32(randomBytes(16));

/** Returns the id of a session that its caller named (`ref`), or created or forked under an `Idempotency-Key`. */
export const deriveSessionId = async (
  kind: "ref" | "idem" | "fork",
  tenant: string,
  name: string,
): Promise<string> => idOf(await digestOf(kind, tenant, name));

/** Returns the name of a session's object. It includes the tenant, because an id is unique only within a tenant. */
export const sessionObjectName = ({ tenant, jurisdiction }: TenantAddress, session: string): string =>
  hexOf(digestFields(jurisdiction ?? "", tenant, session));

/** Returns the name of a tenant's object. */
export const tenantObjectName = ({ tenant, jurisdiction }: TenantAddress): string =>
  hexOf(digestFields(jurisdiction ?? "", tenant));

/** Name of the one TeamObject of a deployment. */
export const teamObjectName = "team";

/** Returns a session's object in the jurisdiction of its tenant. */
export const getSessionObject = <Stub>(
  namespace: PlacedNamespace<Stub>,
  address: TenantAddress,
  session: string,
): Stub => getPlacedObject(namespace, address.jurisdiction, sessionObjectName(address, session));

/** Returns a tenant's object in its jurisdiction. */
export const getTenantObject = <Stub>(namespace: PlacedNamespace<Stub>, address: TenantAddress): Stub =>
  getPlacedObject(namespace, address.jurisdiction, tenantObjectName(address));
